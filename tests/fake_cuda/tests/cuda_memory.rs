//! The allocator over memory of the cuda driver: with plain allocations and with virtual memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../../rust/accelerator/tests/allocator/mod.rs"]
mod allocator;
#[path = "../../../rust/accelerator/tests/rig/mod.rs"]
mod rig;
mod stand_in;

use allocator::careless;
use allocator::devices::Devices;
use allocator::run::Run;
use allocator::steps::{CAPACITY, Step, program};
use interlock_accelerator::memory::{self, AllocatorConfig, DeviceBuffer, PinnedMemory};
use interlock_accelerator::{HostFn, Stream, use_driver};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use stand_in::{calls, device, fail_allocation, live};

/// Devices with as much memory as programs expect.
fn devices() -> Devices {
    stand_in::set(&[("FAKE_CUDA_MEMORY", &CAPACITY.to_string())]);
    use_driver(stand_in::driver()).unwrap();
    Devices { fail_allocation: Box::new(fail_allocation), live_bytes: Box::new(|| live("bytes")) }
}

/// Runs drawn programs, the same each time. No step blocks a stream: `cuMemFree` waits for the whole device.
fn run_programs(devices: &Devices) {
    // What the driver needs for functions it asks for once, and no program is to fail for it.
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    let other = Stream::dedicated(Some(device(1)), 0).unwrap();
    for stream in [stream, other] {
        stream.launch(HostFn::new("first", || Ok(()))).unwrap();
        stream.synchronize().unwrap();
    }
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let told = runner.run(&program(), |program| {
        let mut run = Run::new(devices);
        program.iter().filter(|step| !matches!(step, Step::Block { .. })).for_each(|step| run.step(*step));
        run.end();
        Ok(())
    });
    if let Err(told) = told {
        panic!("{told}");
    }
}

#[test]
fn the_allocator_does_what_its_model_says() {
    let devices = devices();
    run_programs(&devices);
    assert!(calls("cuMemAlloc_v2") > 0);
}

/// Whichever allocation fails first, the program goes on, and everything goes back to the system.
fn is_whole_whichever_allocation_fails(devices: &Devices) {
    let mut shortages = 0;
    for number in 1..=40 {
        let streams = careless::streams();
        fail_allocation(number);
        let (left, failures) = careless::program(&streams);
        fail_allocation(0);
        shortages += failures;
        careless::end(streams, left, devices);
        memory::empty_cache().unwrap();
        assert_eq!(live("bytes"), 0, "allocation {number}");
    }
    assert!(shortages > 0);
}

#[test]
fn a_shortage_leaves_everything_whole() {
    is_whole_whichever_allocation_fails(&devices());
}

#[test]
fn a_shortage_leaves_segments_that_grow_whole() {
    let devices = devices();
    memory::set_config(AllocatorConfig { expandable_segments: true, ..AllocatorConfig::default() }).unwrap();
    is_whole_whichever_allocation_fails(&devices);
    // What was made is mapped once, and unmapped once.
    let mapped = calls("cuMemMap");
    assert!(mapped > 0 && mapped < calls("cuMemCreate"));
    assert_eq!([calls("cuMemRelease"), calls("cuMemUnmap")], [mapped; 2]);
}

#[test]
fn what_was_freed_goes_back_to_the_system_with_the_cache() {
    let devices = devices();
    let stream = Stream::dedicated(Some(device(1)), 0).unwrap();
    let sizes = [100, 3 << 20, 30 << 20];
    let live_memory = sizes.map(|bytes| DeviceBuffer::on(&stream, bytes).unwrap());
    let reserved = memory::statistics(Some(device(1))).unwrap().reserved_bytes.all.current;
    assert_eq!((devices.live_bytes)(), reserved);
    drop(live_memory);
    assert_eq!(live("bytes"), reserved);
    memory::empty_cache().unwrap();
    assert_eq!(live("bytes"), 0);
    let pinned = PinnedMemory::new(5000).unwrap();
    assert!(live("pinned") >= 5000);
    drop(pinned);
    memory::empty_host_cache();
    assert_eq!(live("pinned"), 0);
}

//! The caching allocator on the CUDA driver, with plain allocations and with virtual memory.

use crate::allocator::careless;
use crate::allocator::devices::Devices;
use crate::allocator::run::Run;
use crate::allocator::steps::{CAPACITY, Step, program};
use crate::fake_library;
use crate::fake_library::{calls, device, fail_allocation, live};
use interlock_accelerator::memory::{self, AllocatorConfig, DeviceBuffer, PinnedMemory};
use interlock_accelerator::{HostFn, Stream, use_driver};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Returns devices with the capacity that the generated programs expect.
fn devices() -> Devices {
    fake_library::set(&[("FAKE_CUDA_MEMORY", &CAPACITY.to_string())]);
    use_driver(fake_library::driver()).unwrap();
    Devices { fail_allocation: Box::new(fail_allocation), live_bytes: Box::new(|| live("bytes")) }
}

/// Runs random programs from a fixed seed, without steps that block a stream: `cuMemFree` waits for the whole device.
fn run_programs(devices: &Devices) {
    // The driver allocates its semaphores here, so that no program runs out of memory because of them.
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    let other = Stream::dedicated(Some(device(1)), 0).unwrap();
    for stream in [stream, other] {
        stream.launch(HostFn::new("first", || Ok(()))).unwrap();
        stream.synchronize().unwrap();
    }
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let result = runner.run(&program(), |program| {
        let mut run = Run::new(devices);
        program.iter().filter(|step| !matches!(step, Step::Block { .. })).for_each(|step| run.step(*step));
        run.end();
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

#[test]
fn allocator_behaves_like_its_model() {
    let devices = devices();
    run_programs(&devices);
    assert!(calls("cuMemAlloc_v2") > 0);
}

/// Checks for each allocation that the program continues after it fails, and that all memory is freed at the end.
fn check_every_failed_allocation(devices: &Devices) {
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
fn allocator_survives_every_failed_allocation() {
    check_every_failed_allocation(&devices());
}

#[test]
fn expandable_segments_survive_every_failed_allocation() {
    let devices = devices();
    memory::set_config(AllocatorConfig { expandable_segments: true, ..AllocatorConfig::default() }).unwrap();
    check_every_failed_allocation(&devices);
    // Each successfully created mapping is mapped once and unmapped once.
    let mapped = calls("cuMemMap");
    assert!(mapped > 0 && mapped < calls("cuMemCreate"));
    assert_eq!([calls("cuMemRelease"), calls("cuMemUnmap")], [mapped; 2]);
}

#[test]
fn empty_cache_returns_freed_memory_to_the_driver() {
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

//! Memory of sessions from interlock's allocator. A program of its own, because an environment has one allocator.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

mod common;

use common::{SIZE, environment, product, run, serial};
use interlock::accelerator;
use interlock::accelerator::host::{FaultInjector, HostDriver, HostOptions};
use interlock::accelerator::memory::{empty_host_cache, host_memory_stats};
use interlock_ort::{SessionBuilder, register_allocator};

#[test]
fn sessions_with_env_allocators_use_pinned_memory_of_interlock() {
    let _serial = serial();
    let faults = FaultInjector::new();
    let options = HostOptions { devices: 1, memory: 1 << 20, faults: faults.clone() };
    accelerator::use_driver(HostDriver::new(options).unwrap()).unwrap();
    let environment = environment();
    // A later registration replaces an earlier one.
    let replaced = register_allocator(environment).unwrap();
    let allocator = register_allocator(environment).unwrap();
    assert_eq!((allocator.blocks(), allocator.bytes()), (0, 0));

    // Without the option a session has memory of its own.
    let mut plain = SessionBuilder::new(environment).unwrap().commit_from_memory(&product()).unwrap();
    assert_eq!(run(&mut plain).unwrap(), vec![2.0 * SIZE as f32; SIZE * SIZE]);
    assert_eq!(allocator.blocks(), 0);

    let bytes = SIZE * SIZE * size_of::<f32>();
    let builder = SessionBuilder::new(environment).unwrap();
    let builder = builder.configure(|builder| builder.with_env_allocators()).unwrap();
    let mut session = builder.commit_from_memory(&product()).unwrap();
    // At least the weight.
    assert!(allocator.bytes() >= bytes, "{allocator:?}");
    let loaded = allocator.bytes();
    assert_eq!(host_memory_stats().active_bytes.current as usize, allocator.bytes());
    {
        let x = ort::value::Tensor::from_array(([SIZE, SIZE], vec![1.0_f32; SIZE * SIZE])).unwrap();
        let outputs = session.run(ort::inputs![x]).unwrap();
        let (_, values) = outputs["y"].try_extract_tensor::<f32>().unwrap();
        assert_eq!(values, vec![2.0 * SIZE as f32; SIZE * SIZE]);
        assert!(accelerator::memory::PinnedMemory::is_pinned(values.as_ptr().cast()));
    }
    assert_eq!(allocator.bytes(), loaded);
    assert_eq!(replaced.blocks(), 0);

    // Without pinned memory blocks are ordinary memory.
    empty_host_cache();
    faults.fail_pinned_allocations(1, 1000).unwrap();
    {
        let x = ort::value::Tensor::from_array(([SIZE, SIZE], vec![1.0_f32; SIZE * SIZE])).unwrap();
        let outputs = session.run(ort::inputs![x]).unwrap();
        let (_, values) = outputs["y"].try_extract_tensor::<f32>().unwrap();
        assert_eq!(values, vec![2.0 * SIZE as f32; SIZE * SIZE]);
        assert!(allocator.ordinary_blocks() > 0);
    }
    assert_eq!((allocator.ordinary_blocks(), allocator.bytes()), (0, loaded));
    faults.clear().unwrap();
    assert_eq!(run(&mut session).unwrap(), vec![2.0 * SIZE as f32; SIZE * SIZE]);
    drop(session);
    assert_eq!((allocator.blocks(), allocator.bytes()), (0, 0));
    assert_eq!(host_memory_stats().active_bytes.current, 0);
}

//! Tests that objects of the library are not counted as those of the program.

use interlock_accelerator::host::{FaultInjector, HostDriver, HostOptions};
use interlock_accelerator::memory::{self, AllocatorConfig, DeviceBuffer, PinnedMemory};
use interlock_accelerator::{Event, HeldObjects, HostFn, Stream, held_objects, use_driver};

use crate::rig::Latch;

const MIB: usize = 1 << 20;

fn host_driver() -> FaultInjector {
    let faults = FaultInjector::new();
    let options = HostOptions { devices: 2, faults: faults.clone(), ..HostOptions::default() };
    use_driver(HostDriver::new(options).unwrap()).unwrap();
    faults
}

#[test]
fn held_objects_are_zero_before_the_driver_starts_and_after_a_program() {
    let faults = host_driver();
    assert_eq!(held_objects(&faults), Ok(HeldObjects::default()));
    assert!(held_objects(&FaultInjector::new()).is_err());

    let (own, other) = (Stream::new(None, 0).unwrap(), Stream::new(None, -1).unwrap());
    let buffer = DeviceBuffer::new(None, 3 * MIB).unwrap();
    let pinned = PinnedMemory::new(3000).unwrap();
    let second = DeviceBuffer::new(Some("host:1".parse().unwrap()), 100).unwrap();
    let expected = HeldObjects { bytes: 3 * MIB as u64 + 512, pinned_bytes: 4096, ..HeldObjects::default() };
    assert_eq!(held_objects(&faults), Ok(expected));

    // The allocators record events, because other streams use the memory.
    buffer.record_stream(&other).unwrap();
    pinned.record_stream(&own).unwrap();
    drop((buffer, pinned, second));
    own.synchronize().unwrap();
    other.synchronize().unwrap();
    assert_eq!(held_objects(&faults), Ok(HeldObjects::default()));
    let live = faults.live_objects().unwrap();
    assert_eq!((live.streams, live.events, live.pinned_bytes), (2, 2, 4096));
    assert!(live.bytes > 0);
    memory::empty_cache().unwrap();
    assert_eq!(held_objects(&faults), Ok(HeldObjects::default()));
}

#[test]
fn held_objects_are_those_of_the_program() {
    let faults = host_driver();
    let (stream, latch) = (Stream::dedicated(None, 0).unwrap(), Latch::default());
    let event = Event::new(None, Default::default()).unwrap();
    assert_eq!(held_objects(&faults).unwrap(), HeldObjects { streams: 1, ..HeldObjects::default() });
    let opened = latch.clone();
    stream
        .launch(HostFn::new("wait", move || {
            opened.wait();
            Ok(())
        }))
        .unwrap();
    event.record(&stream).unwrap();
    let held = held_objects(&faults).unwrap();
    assert_eq!((held.streams, held.events, held.commands), (1, 1, 2));
    latch.open();
    stream.synchronize().unwrap();
    drop((stream, event));
    assert_eq!(held_objects(&faults), Ok(HeldObjects::default()));
}

#[test]
fn unused_part_of_a_pinned_segment_is_not_held() {
    let faults = host_driver();
    let config = AllocatorConfig { pinned_reserve_segment_size_mb: 1, ..AllocatorConfig::default() };
    memory::set_config(config).unwrap();
    let pinned = PinnedMemory::new(4096).unwrap();
    assert_eq!(faults.live_objects().unwrap().pinned_bytes, MIB as u64);
    assert_eq!(held_objects(&faults).unwrap().pinned_bytes, 4096);
    drop(pinned);
    assert_eq!(held_objects(&faults), Ok(HeldObjects::default()));
}

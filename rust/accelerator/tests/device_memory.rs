//! Tests of device buffers and their streams, and of queries that start no driver. The driver is global, so its use is
//! one test.

use std::sync::mpsc;
use std::time::Duration;

use interlock_accelerator::Error;
use interlock_accelerator::memory::{self, DeviceBuffer, Limit, MemoryTracker};
use interlock_accelerator::{self as accelerator, CaptureMode, Device, Graph, HostFn, Stream};
use interlock_host::{HostDriver, HostOptions};

/// Creates a host function that blocks until the sender is dropped.
fn blocking() -> (HostFn, mpsc::Sender<()>) {
    let (sender, receiver) = mpsc::channel();
    let receiver = std::sync::Mutex::new(receiver);
    let work = HostFn::new("blocking", move || {
        let _ = receiver.lock().unwrap().recv();
        Ok(())
    });
    (work, sender)
}

fn is_ready(memory: &DeviceBuffer) -> bool {
    memory.begin_wait().unwrap().iter().all(|waiting| waiting.wait_timeout(Duration::ZERO) == Ok(true))
}

#[test]
fn device_buffer_knows_its_streams_and_queries_start_no_driver() {
    let host = HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap();
    accelerator::register_driver(host).unwrap();
    let ninth: Device = "host:9".parse().unwrap();
    assert_eq!((memory::limit(None), memory::cache_limit(None)), (Ok(None), Ok(None)));
    for refused in [memory::limit(Some(ninth)), memory::cache_limit(Some(Device::CPU))] {
        assert!(matches!(refused, Err(Error::DeviceUnavailable { .. })));
    }
    let again = HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap();
    accelerator::use_driver(again).unwrap();

    let [own, recorded, other] = [(); 3].map(|()| Stream::dedicated(None, 0).unwrap());
    let memory = DeviceBuffer::on(&own, 100).unwrap();
    let default = accelerator::current_stream(None).unwrap();
    assert!(memory.is_host_accessible());
    assert_eq!(memory.stream(), Ok(Some(own.clone())));
    memory.record_stream(&recorded).unwrap();
    memory.record_stream(&own).unwrap();
    let slice = memory.slice(10..20).unwrap();
    assert_eq!(slice.streams(), Ok(vec![recorded.clone(), own.clone(), default]));

    let (work, unrelated) = blocking();
    other.launch(work).unwrap();
    slice
        .begin_wait()
        .unwrap()
        .iter()
        .for_each(|waiting| assert_eq!(waiting.wait_timeout(Duration::MAX), Ok(true)));
    let (work, latch) = blocking();
    recorded.launch(work).unwrap();
    assert!(!is_ready(&slice));
    drop(latch);
    recorded.synchronize().unwrap();
    assert!(is_ready(&slice));

    drop(own);
    assert_eq!(memory.stream(), Ok(None));
    assert!(!is_ready(&memory), "without its stream all that the device has is awaited");
    drop(unrelated);
    accelerator::synchronize(None).unwrap();
    assert!(is_ready(&memory));
    let elsewhere = Stream::dedicated(Some("host:1".parse().unwrap()), 0).unwrap();
    let (work, latch) = blocking();
    elsewhere.launch(work).unwrap();
    memory.record_stream(&elsewhere).unwrap();
    assert!(!is_ready(&memory), "and all that others have which were recorded");
    drop(latch);
    elsewhere.synchronize().unwrap();
    assert!(is_ready(&memory));

    assert_eq!(memory::set_limit(Some(Limit::Bytes(1 << 20)), None), Ok(None));
    assert_eq!(memory::limit(None), Ok(Some(1 << 20)));
    assert!(matches!(MemoryTracker::open(Some(ninth)), Err(Error::DeviceUnavailable { .. })));
    let error = DeviceBuffer::new(None, 30 << 20).unwrap_err();
    assert!(error.to_string().contains("set_limit"), "{error}");
}

#[test]
fn graph_keeps_memory_of_an_earlier_capture_with_the_same_pool_id() {
    // The other test may have selected such a driver in the same process.
    let _ = accelerator::use_driver(
        HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap(),
    );
    let stream = Stream::dedicated(None, 0).unwrap();
    let _current = stream.guard().unwrap();
    let graph = Graph::new(false).unwrap();
    graph.capture_begin(None, CaptureMode::ThreadLocal).unwrap();
    let memory = DeviceBuffer::on(&stream, 1000).unwrap();
    graph.capture_end().unwrap();
    graph.reset().unwrap();
    graph.capture_begin(None, CaptureMode::ThreadLocal).unwrap();
    memory.fill(7, Some(&stream)).unwrap();
    graph.capture_end().unwrap();
    let device = memory.device();
    let in_use = || memory::statistics(Some(device)).unwrap().allocation.all.current;
    let before = in_use();
    drop(memory);
    assert_eq!(in_use(), before);
    graph.replay().unwrap();
    stream.synchronize().unwrap();
    graph.reset().unwrap();
    assert_eq!(in_use(), before - 1);
}

//! Graphs and copies after a call of the driver has failed: a call that returns an error has had no effect.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::rig::failing::Failing;
use crate::rig::{Counter, Latch};
use interlock_accelerator::memory::{self, CopyOperand, DeviceBuffer};
use interlock_accelerator::{CaptureMode, Device, Error, Graph, Stream, use_driver};
use interlock_host::{HostDriver, HostOptions};

/// Returns the driver of the process. One test uses it at a time.
fn failing_driver() -> MutexGuard<'static, Arc<Failing>> {
    static DRIVER: LazyLock<Mutex<Arc<Failing>>> = LazyLock::new(|| {
        let host = HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap();
        let driver = Failing::over(host);
        use_driver(driver.clone()).unwrap();
        Mutex::new(driver)
    });
    DRIVER.lock().unwrap()
}

fn is_device_error<T>(result: interlock_accelerator::Result<T>) -> bool {
    matches!(result, Err(Error::Device { .. }))
}

fn reserved_bytes() -> u64 {
    memory::empty_cache().unwrap();
    memory::statistics(None).unwrap().reserved_bytes.all.current
}

/// Begins a capture that allocates memory and counts its replays.
fn begin(graph: &Graph, stream: &Stream, counter: &Counter) {
    graph.capture_begin(None, CaptureMode::Global).unwrap();
    drop(DeviceBuffer::on(stream, 1 << 20).unwrap());
    stream.launch(counter.work()).unwrap();
}

#[test]
fn capture_begin_that_fails_begins_no_capture() {
    let driver = failing_driver();
    let stream = Stream::dedicated(None, 0).unwrap();
    let _current = stream.guard().unwrap();
    let (graph, counter) = (Graph::new(false).unwrap(), Counter::default());
    driver.fail_call("begin_capture", 1);
    assert!(is_device_error(graph.capture_begin(None, CaptureMode::Global)));
    assert!(matches!(graph.capture_end(), Err(Error::Graph { .. })));
    drop(DeviceBuffer::on(&stream, 1 << 20).unwrap());
    stream.launch(counter.work()).unwrap();
    stream.synchronize().unwrap();
    assert_eq!((counter.get(), reserved_bytes()), (1, 0));
}

#[test]
fn capture_end_that_fails_leaves_a_graph_without_work() {
    let driver = failing_driver();
    let stream = Stream::dedicated(None, 0).unwrap();
    let _current = stream.guard().unwrap();
    // The first description of a graph decides whether it is empty.
    for (method, number) in [("end_capture", 1), ("describe_graph", 2), ("instantiate", 1)] {
        let (graph, counter) = (Graph::new(false).unwrap(), Counter::default());
        graph.enable_debug_mode().unwrap();
        begin(&graph, &stream, &counter);
        driver.fail_call(method, number);
        assert!(is_device_error(graph.capture_end()), "{method}");
        assert!(!stream.is_capturing().unwrap(), "{method}");
        for call in [Graph::replay, Graph::capture_end] {
            assert!(matches!(call(&graph), Err(Error::Graph { .. })), "{method}");
        }
        assert!(matches!(graph.dot(), Err(Error::Graph { .. })), "{method}");
        assert_eq!(reserved_bytes(), 0, "{method}");
        begin(&graph, &stream, &counter);
        graph.capture_end().unwrap();
        graph.replay().unwrap();
        stream.synchronize().unwrap();
        assert_eq!(counter.get(), 1, "{method}");
    }
}

#[test]
fn instantiate_that_fails_keeps_the_earlier_instance() {
    let driver = failing_driver();
    let stream = Stream::dedicated(None, 0).unwrap();
    let _current = stream.guard().unwrap();
    let (graph, counter) = (Graph::new(true).unwrap(), Counter::default());
    begin(&graph, &stream, &counter);
    graph.capture_end().unwrap();
    // Without an instance, a replay instantiates.
    for call in [Graph::instantiate, Graph::replay] {
        driver.fail_call("instantiate", 1);
        assert!(is_device_error(call(&graph)));
    }
    graph.instantiate().unwrap();
    driver.fail_call("instantiate", 1);
    assert!(is_device_error(graph.instantiate()));
    // A replay without an instance would fail here.
    driver.fail_call("instantiate", 1);
    graph.replay().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(counter.get(), 1);
}

#[test]
fn replay_that_fails_does_not_run_and_uses_no_memory() {
    let driver = failing_driver();
    let (stream, other) = (Stream::dedicated(None, 0).unwrap(), Stream::dedicated(None, 0).unwrap());
    let (graph, counter, latch) = (Graph::new(false).unwrap(), Counter::default(), Latch::default());
    let current = stream.guard().unwrap();
    begin(&graph, &stream, &counter);
    graph.capture_end().unwrap();
    drop(current);
    // The stream of a replay that failed does not delay the release of the graph's memory.
    let current = other.guard().unwrap();
    other.launch(latch.work()).unwrap();
    driver.fail_call("replay", 1);
    assert!(is_device_error(graph.replay()));
    drop(current);
    let _current = stream.guard().unwrap();
    graph.replay().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(counter.get(), 1);
    graph.reset().unwrap();
    assert!(!other.query().unwrap());
    assert_eq!(memory::statistics(None).unwrap().reserved_bytes.all.current, 0);
    latch.open();
}

#[test]
fn copy_whose_event_fails_has_completed() {
    let driver = failing_driver();
    let devices: [Device; 2] = ["failing:0", "failing:1"].map(|name| name.parse().unwrap());
    for method in ["record_event", "wait_event"] {
        let [from, to] = devices.map(|device| DeviceBuffer::new(Some(device), 4096).unwrap());
        let (source, latch) =
            (interlock_accelerator::current_stream(Some(devices[0])).unwrap(), Latch::default());
        source.launch(latch.work()).unwrap();
        // After the wait for the stream of the destination, which comes before the copy.
        let failing = driver.clone();
        driver.before(&["copy"], move || failing.fail_call(method, 1));
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                latch.open();
            });
            let (to, from) = (CopyOperand::Device(to), CopyOperand::Device(from));
            assert_eq!(memory::copy(&to, &from, None, false).unwrap(), source);
            // Later work of the other stream can't wait for the copy.
            assert!(source.query().unwrap(), "{method}");
        });
    }
}

//! Tests of memory that graphs and host functions use and release. Each test has its own device.

use std::sync::{Arc, LazyLock, Mutex, Weak, mpsc};
use std::time::Duration;

use interlock_accelerator::Error;
use interlock_accelerator::memory::{self, DeviceBuffer, Limit};
use interlock_accelerator::{self as accelerator, CaptureMode, Device, Graph, HostFn, Stream};
use interlock_host::{HostDriver, HostOptions};

const MIB: usize = 1 << 20;

/// A timeout that no successful wait reaches.
const TOO_LONG: Duration = Duration::from_secs(60);

static DRIVER: LazyLock<()> = LazyLock::new(|| {
    let options = HostOptions { devices: 5, ..HostOptions::default() };
    accelerator::use_driver(HostDriver::new(options).unwrap()).unwrap();
});

fn device(index: u32) -> Option<Device> {
    LazyLock::force(&DRIVER);
    Some(format!("host:{index}").parse().unwrap())
}

fn reserved(device: Option<Device>) -> u64 {
    memory::statistics(device).unwrap().reserved_bytes.all.current
}

#[test]
fn pool_memory_outlives_the_replays_of_its_graphs() {
    let device = device(0);
    let [own, other] = [(); 2].map(|()| Stream::dedicated(device, 0).unwrap());
    let [first, last] = [(); 2].map(|()| Graph::new(false).unwrap());
    let pool = first.pool(None).unwrap();
    for graph in [&first, &last] {
        let _current = own.guard().unwrap();
        graph.capture_begin(Some(pool), CaptureMode::ThreadLocal).unwrap();
        DeviceBuffer::on(&own, 4 * MIB).unwrap().fill(1, None).unwrap();
        graph.capture_end().unwrap();
    }
    let (opens, latch) = mpsc::channel::<()>();
    let latch = Mutex::new(latch);
    other.launch(HostFn::new("blocking", move || latch.lock().unwrap().recv().or(Ok(())))).unwrap();
    let current = other.guard().unwrap();
    first.replay().unwrap();
    drop(current);
    first.reset().unwrap();
    last.reset().unwrap();
    let while_queued = reserved(device);
    drop(opens);
    other.synchronize().unwrap();
    assert_eq!(while_queued, 20 * MIB as u64);
}

#[test]
fn pool_can_be_released_during_an_allocation_from_it() {
    let device = device(1);
    let stream = Stream::dedicated(device, 0).unwrap();
    let graph = Arc::new(Graph::new(false).unwrap());
    let current = stream.guard().unwrap();
    graph.capture_begin(None, CaptureMode::ThreadLocal).unwrap();
    let asked = graph.clone();
    let registration = memory::on_miss(move |device, _| {
        if device == asked_device() {
            asked.abort_capture().unwrap();
        }
        true
    });
    let memory = DeviceBuffer::on(&stream, 4 * MIB).unwrap();
    drop((registration, current));
    assert_eq!(reserved(device), 20 * MIB as u64);
    drop(memory);
    memory::empty_cache().unwrap();
    assert_eq!(reserved(device), 0);
    assert!(memory::statistics(device).unwrap().reserved_bytes_by_private_pools.is_empty());
}

fn asked_device() -> Device {
    device(1).unwrap()
}

#[test]
fn host_fn_that_runs_out_of_memory_does_not_wait_for_itself() {
    let device = device(2);
    let stream = Stream::dedicated(device, 0).unwrap();
    memory::set_limit(Some(Limit::Bytes(2 * MIB as u64)), device).unwrap();
    drop(DeviceBuffer::on(&stream, MIB).unwrap());
    let (sender, results) = mpsc::channel();
    let (sender, own) = (Mutex::new(sender), stream.clone());
    let asks = HostFn::new("asks", move || {
        let refused = DeviceBuffer::on(&own, 4 * MIB).map(drop);
        let _ = sender.lock().unwrap().send((refused, memory::empty_cache()));
        Ok(())
    });
    stream.launch(asks).unwrap();
    let (refused, emptied) = results.recv_timeout(TOO_LONG).unwrap();
    assert!(matches!(refused, Err(Error::OutOfMemory(_))), "{refused:?}");
    assert_eq!(emptied, Ok(()));
    memory::empty_cache().unwrap();
    assert_eq!(reserved(device), 0);
}

#[test]
fn shortage_callback_frees_memory_before_a_request_fails() {
    let device = device(3);
    memory::set_limit(Some(Limit::Bytes(64 * MIB as u64)), device).unwrap();
    let held = Mutex::new(vec![DeviceBuffer::new(device, 40 * MIB).unwrap()]);
    let (sender, calls) = mpsc::channel();
    let registration = memory::on_shortage(move |given, bytes| {
        let is_own = Some(given) == device;
        is_own && sender.send(bytes).is_ok() && held.lock().unwrap().pop().is_some()
    });
    // The driver has enough memory, so the callback is not called.
    drop(DeviceBuffer::new(device, 20 * MIB).unwrap());
    assert_eq!(calls.try_iter().count(), 0);
    let large = DeviceBuffer::new(device, 60 * MIB).unwrap();
    // It frees nothing now.
    let refused = DeviceBuffer::new(device, 30 * MIB);
    assert!(matches!(refused, Err(Error::OutOfMemory(_))), "{refused:?}");
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), [60 * MIB, 30 * MIB]);
    drop((large, registration));
}

/// Queries a graph when it is dropped.
struct QueryOnDrop(Weak<Graph>);

impl Drop for QueryOnDrop {
    fn drop(&mut self) {
        if let Some(graph) = self.0.upgrade() {
            assert!(graph.is_empty().is_ok());
        }
    }
}

/// Records a function whose destructor queries the graph.
fn captured(graph: &Arc<Graph>, stream: &Stream) {
    let _current = stream.guard().unwrap();
    graph.capture_begin(None, CaptureMode::ThreadLocal).unwrap();
    let owned = QueryOnDrop(Arc::downgrade(graph));
    let function = HostFn::new("querying", move || {
        let _ = &owned;
        Ok(())
    });
    stream.launch(function).unwrap();
}

#[test]
fn graph_releases_what_it_owns_without_its_lock() {
    let stream = Stream::dedicated(device(4), 0).unwrap();
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        let graph = Arc::new(Graph::new(false).unwrap());
        captured(&graph, &stream);
        graph.capture_end().unwrap();
        graph.reset().unwrap();
        captured(&graph, &stream);
        graph.abort_capture().unwrap();
        captured(&graph, &stream);
        // Invalidates the capture.
        assert!(stream.synchronize().is_err());
        assert!(graph.capture_end().is_err());
        done.send(()).unwrap();
    });
    is_done.recv_timeout(TOO_LONG).expect("deadlock");
}

//! Tests of streams that another library created: here the test, which calls the driver behind the crate's back. Each
//! test has its own device.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use interlock_accelerator::memory::{self, DeviceBuffer, Limit, Statistics};
use interlock_accelerator::{
    self as accelerator, CaptureMode, Device, DeviceType, Graph, Stream, StreamKind,
};
use interlock_driver::{Driver, DriverRuntime, KeepAlive, Result, StreamHandle};
use interlock_host::{HostDriver, HostOptions};

use crate::rig;

const MIB: usize = 1 << 20;
const DEVICES: u32 = 9;

/// A driver whose runtime another library shares.
struct Shared(Arc<dyn DriverRuntime>);

impl Driver for Shared {
    fn device_type(&self) -> DeviceType {
        DeviceType::Host
    }

    fn unavailable_reason(&self) -> Option<String> {
        None
    }

    fn device_count(&self) -> u32 {
        DEVICES
    }

    fn start(&self) -> Result<Arc<dyn DriverRuntime>> {
        Ok(self.0.clone())
    }
}

static RUNTIME: LazyLock<Arc<dyn DriverRuntime>> = LazyLock::new(|| {
    let options = HostOptions { devices: DEVICES, ..HostOptions::default() };
    let runtime = HostDriver::new(options).unwrap().start().unwrap();
    accelerator::use_driver(Arc::new(Shared(runtime.clone()))).unwrap();
    runtime
});

/// A stream of another library, on a device of its own.
struct Foreign {
    device: Device,
    handle: StreamHandle,
}

impl Foreign {
    fn on(index: u8) -> Self {
        let handle = RUNTIME.create_stream(index, 0).unwrap();
        Foreign { device: Device::with_index(DeviceType::Host, index), handle }
    }

    fn wrap(&self, owner: Option<KeepAlive>) -> Stream {
        wrap(self.handle, owner)
    }

    /// Queues a latch as the other library would.
    fn block(&self) -> rig::Latch {
        let latch = rig::Latch::default();
        RUNTIME.launch_host_fn(self.handle, latch.work()).unwrap();
        latch
    }

    fn statistics(&self) -> Statistics {
        memory::statistics(Some(self.device)).unwrap()
    }

    fn reserved(&self) -> usize {
        self.statistics().reserved_bytes.all.current as usize
    }
}

fn wrap(handle: StreamHandle, owner: Option<KeepAlive>) -> Stream {
    let device = Device::with_index(DeviceType::Host, handle.device);
    // SAFETY: the tests destroy a stream only after its buffers and clones.
    unsafe { Stream::external(Some(device), handle.raw, owner) }.unwrap()
}

#[test]
fn external_stream_is_one_stream_for_each_handle() {
    let foreign = Foreign::on(0);
    let (first, second) = (foreign.wrap(None), foreign.wrap(None));
    assert_eq!((first.kind(), first.id()), (StreamKind::External, second.id()));
    let found = Stream::of_id(Some(foreign.device), first.id()).unwrap();
    assert_eq!(found, Some(first.clone()));
    let id = first.id();
    drop((first, second, found));
    assert_eq!(Stream::of_id(Some(foreign.device), id), Ok(None));
    assert_eq!(foreign.wrap(None).id(), id);
    assert_ne!(Foreign::on(0).wrap(None).id(), id);
}

#[test]
fn external_stream_that_two_threads_wrap_has_one_id() {
    const STREAMS: usize = 5000;
    let handles: Vec<StreamHandle> = (0..STREAMS).map(|_| Foreign::on(8).handle).collect();
    let arrivals = AtomicUsize::new(0);
    let ids = || -> Vec<i64> {
        let id = |(index, handle): (usize, &StreamHandle)| {
            arrivals.fetch_add(1, Ordering::SeqCst);
            while arrivals.load(Ordering::SeqCst) < 2 * (index + 1) {
                std::thread::yield_now();
            }
            wrap(*handle, None).id()
        };
        handles.iter().enumerate().map(id).collect()
    };
    let [first, second] = std::thread::scope(|threads| {
        [(); 2].map(|()| threads.spawn(ids)).map(|thread| thread.join().unwrap())
    });
    assert!(first == second, "a handle has two ids");
}

#[test]
fn handle_of_an_own_stream_returns_that_stream() {
    let device = Foreign::on(1).device;
    let own = [
        Stream::default_of(Some(device)).unwrap(),
        Stream::new(Some(device), 0).unwrap(),
        Stream::dedicated(Some(device), 0).unwrap(),
    ];
    for stream in own {
        let found = wrap(stream.handle().unwrap(), None);
        assert_eq!((found.id(), found.kind()), (stream.id(), stream.kind()));
    }
}

#[test]
fn buffer_keeps_the_owner_of_its_external_stream_alive() {
    let foreign = Foreign::on(2);
    let owner: KeepAlive = Arc::new(());
    let buffer = DeviceBuffer::on(&foreign.wrap(Some(owner.clone())), 512).unwrap();
    assert_eq!(buffer.stream().unwrap(), Some(foreign.wrap(None)));
    assert_eq!(Arc::strong_count(&owner), 2);
    drop(buffer);
    // Cached memory does not.
    assert_eq!((Arc::strong_count(&owner), foreign.reserved()), (1, 2 * MIB));
    // A stream that was wrapped without an owner gets the next one.
    let ownerless = foreign.wrap(None);
    let owned = foreign.wrap(Some(owner.clone()));
    drop(ownerless);
    assert_eq!(Arc::strong_count(&owner), 2);
    drop(owned);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn memory_of_an_external_stream_is_cached_for_its_handle() {
    let foreign = Foreign::on(3);
    for _ in 0..20 {
        drop(DeviceBuffer::on(&foreign.wrap(None), 4 * MIB).unwrap());
    }
    let statistics = foreign.statistics();
    assert_eq!((statistics.num_device_alloc, statistics.num_device_free), (1, 0));
    // Another stream does not get it.
    drop(DeviceBuffer::on(&Foreign::on(3).wrap(None), 4 * MIB).unwrap());
    assert_eq!(foreign.statistics().num_device_alloc, 2);
}

#[test]
fn memory_of_an_external_stream_is_released_after_its_work() {
    let foreign = Foreign::on(4);
    let buffer = DeviceBuffer::on(&foreign.wrap(None), 4 * MIB).unwrap();
    let latch = foreign.block();
    drop(buffer);
    // Releases all that no queued work uses.
    memory::set_cache_limit(Some(Limit::Bytes(0)), Some(foreign.device)).unwrap();
    memory::set_cache_limit(None, Some(foreign.device)).unwrap();
    assert_eq!(foreign.reserved(), 20 * MIB);
    let emptying = std::thread::spawn(memory::empty_cache);
    latch.open();
    emptying.join().unwrap().unwrap();
    assert_eq!(foreign.reserved(), 0);
}

#[test]
fn memory_of_a_destroyed_external_stream_is_released() {
    let foreign = Foreign::on(5);
    let latch = foreign.block();
    drop(DeviceBuffer::on(&foreign.wrap(None), 4 * MIB).unwrap());
    RUNTIME.destroy_stream(foreign.handle);
    memory::set_cache_limit(Some(Limit::Bytes(0)), Some(foreign.device)).unwrap();
    assert_eq!(foreign.reserved(), 20 * MIB);
    latch.open();
    memory::empty_cache().unwrap();
    assert_eq!(foreign.reserved(), 0);
}

#[test]
fn pool_of_a_graph_of_an_external_stream_is_released() {
    for is_destroyed in [false, true] {
        let foreign = Foreign::on(6);
        let graph = Graph::new(false).unwrap();
        {
            let stream = foreign.wrap(None);
            let _current = stream.guard().unwrap();
            graph.capture_begin(None, CaptureMode::ThreadLocal).unwrap();
            DeviceBuffer::on(&stream, 4 * MIB).unwrap().fill(1, None).unwrap();
            graph.capture_end().unwrap();
        }
        assert_eq!(foreign.reserved(), 20 * MIB);
        if is_destroyed {
            RUNTIME.destroy_stream(foreign.handle);
        }
        graph.reset().unwrap();
        memory::empty_cache().unwrap();
        assert_eq!(foreign.reserved(), 0, "{is_destroyed}");
    }
}

#[test]
fn retired_stream_and_external_stream_with_its_handle_differ() {
    let device = Foreign::on(7).device;
    let own = Stream::dedicated(Some(device), 0).unwrap();
    let (handle, id) = (own.handle().unwrap(), own.id());
    drop(own);
    // SAFETY: the host driver checks handles.
    let destroyed = unsafe { Stream::external(Some(device), handle.raw, None) };
    assert!(destroyed.is_err(), "{destroyed:?}");
    assert_eq!(Stream::of_id(Some(device), id), Ok(None));
}

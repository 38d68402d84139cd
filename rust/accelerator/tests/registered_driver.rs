//! Tests that a registered driver supports the whole crate. The driver is global, so its use is one test.

use crate::rig;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use interlock_accelerator::memory::{AllocatorConfig, DeviceBuffer, OutOfMemory, empty_cache, set_config};
use interlock_accelerator::{
    self as accelerator, CaptureMode, Device, DeviceType, Event, Graph, HostFn, Stream,
};
use interlock_accelerator::{Error, Result};
use interlock_driver::testing::features::Features;
use interlock_driver::*;
use interlock_host::{HostDriver, HostOptions};

static KIND: LazyLock<DeviceType> = LazyLock::new(|| DeviceType::from_name("thirdparty").unwrap());

/// The number of changes of the environment since the driver was started.
static CHANGES: AtomicU32 = AtomicU32::new(0);

/// The total memory that the devices of [`overcommitting`] report.
const TOTAL: u64 = 256 << 20;

/// Devices of a type that this crate does not know.
struct ThirdParty(Arc<dyn Driver>, u64);

/// The runtime of these devices. It uses the default of [`DriverRuntime::wait`].
struct ThirdPartyRuntime(Arc<dyn DriverRuntime>, u64);

/// Replaces the devices in errors by those of this driver.
fn ours<T>(result: Result<T>) -> Result<T> {
    let named = |device: Device| match device.kind() {
        DeviceType::Host => Device::new(*KIND, device.index().map(i64::from)).unwrap(),
        _ => device,
    };
    result.map_err(|error| match error {
        Error::Device { device, operation, reason, code, cause } => {
            Error::Device { device: named(device), operation, reason, code, cause }
        }
        Error::OutOfMemory(oom) => {
            Error::OutOfMemory(Box::new(OutOfMemory { device: named(oom.device), ..*oom }))
        }
        other => other,
    })
}

macro_rules! delegated {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
        $(fn $name(&self, $($argument: $type),*) -> Result<$result> { ours(self.0.$name($($argument),*)) })+
    };
}

impl Driver for ThirdParty {
    fn device_type(&self) -> DeviceType {
        *KIND
    }

    fn unavailable_reason(&self) -> Option<String> {
        self.0.unavailable_reason()
    }

    fn device_count(&self) -> u32 {
        self.0.device_count()
    }

    fn stale_env_warning(&self) -> Option<String> {
        let changes = CHANGES.load(Ordering::Relaxed);
        (changes > 0).then(|| format!("there were {changes} changes"))
    }

    fn start(&self) -> Result<Arc<dyn DriverRuntime>> {
        Ok(Arc::new(ThirdPartyRuntime(ours(self.0.start())?, self.1)))
    }
}

// SAFETY: the inner runtime, which all calls are forwarded to, fulfils the contract.
unsafe impl DriverRuntime for ThirdPartyRuntime {
    fn device_type(&self) -> DeviceType {
        *KIND
    }

    fn device_count(&self) -> u32 {
        self.0.device_count()
    }

    delegated! {
        properties(device: DeviceIndex) -> DeviceProperties;
        allocate(device: DeviceIndex, bytes: usize) -> Address;
        allocate_pinned(device: DeviceIndex, bytes: usize) -> Address;
        mapping_granularity(device: DeviceIndex) -> usize;
        reserve_addresses(device: DeviceIndex, bytes: usize) -> Address;
        map(device: DeviceIndex, address: Address, bytes: usize) -> ();
        priority_range(device: DeviceIndex) -> PriorityRange;
        default_stream(device: DeviceIndex) -> StreamHandle;
        create_stream(device: DeviceIndex, priority: i32) -> StreamHandle;
        create_event(device: DeviceIndex, options: EventOptions) -> EventHandle;
        record_event(event: EventHandle, stream: StreamHandle) -> ();
        wait_event(stream: StreamHandle, event: EventHandle) -> ();
        elapsed(start: EventHandle, end: EventHandle) -> f64;
        check(target: WaitTarget) -> bool;
        has_completed(event: EventHandle) -> bool;
        launch_host_fn(stream: StreamHandle, function: HostFn) -> ();
        begin_capture(stream: StreamHandle, mode: CaptureMode) -> CaptureId;
        capture_id(stream: StreamHandle) -> Option<u64>;
        end_capture(stream: StreamHandle) -> GraphHandle;
        instantiate(graph: GraphHandle) -> GraphExecHandle;
        replay(executable: GraphExecHandle, stream: StreamHandle) -> ();
        describe_graph(graph: GraphHandle) -> GraphDump;
    }

    /// Limits the memory to the second field.
    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo> {
        let MemoryInfo { free, total } = ours(self.0.memory_info(device))?;
        let more = total.saturating_sub(self.1);
        Ok(MemoryInfo { free: free.saturating_sub(more), total: total - more })
    }

    unsafe fn wrap_external_stream(&self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        // SAFETY: guaranteed by the caller.
        ours(unsafe { self.0.wrap_external_stream(device, raw) })
    }

    unsafe fn free(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        ours(unsafe { self.0.free(device, address, bytes) })
    }

    unsafe fn free_pinned(&self, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        ours(unsafe { self.0.free_pinned(address, bytes) })
    }

    unsafe fn free_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        ours(unsafe { self.0.free_addresses(device, address, bytes) })
    }

    unsafe fn unmap(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        ours(unsafe { self.0.unmap(device, address, bytes) })
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        ours(unsafe { self.0.copy(stream, copy) })
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        ours(unsafe { self.0.fill(stream, fill) })
    }

    fn is_host_accessible(&self) -> bool {
        self.0.is_host_accessible()
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        self.0.destroy_stream(stream);
    }

    fn destroy_event(&self, event: EventHandle) {
        self.0.destroy_event(event);
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        self.0.destroy_graph(graph);
    }

    fn destroy_graph_exec(&self, executable: GraphExecHandle) {
        self.0.destroy_graph_exec(executable);
    }
}

fn host() -> Arc<dyn Driver> {
    HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() }).unwrap()
}

fn third_party() -> Arc<dyn Driver> {
    Arc::new(ThirdParty(host(), u64::MAX))
}

/// Creates a driver whose devices allocate more memory than they report.
fn overcommitting() -> Arc<dyn Driver> {
    Arc::new(ThirdParty(host(), TOTAL))
}

fn started() -> Arc<dyn DriverRuntime> {
    third_party().start().unwrap()
}

interlock_driver::driver_suite!(crate::registered_driver::started);

/// Checks that the suite skips no feature.
#[test]
fn driver_supports_all_features() {
    assert_eq!(Features::of(started), Features::ALL);
}

#[test]
fn registered_driver_supports_the_whole_crate() {
    accelerator::register_driver(overcommitting()).unwrap();
    let [first, second]: [Device; 2] = ["thirdparty:0", "thirdparty:1"].map(|name| name.parse().unwrap());
    assert_eq!(accelerator::current_accelerator(), Some(Device::of(*KIND)));
    assert_eq!((accelerator::device_count(), accelerator::is_available()), (2, true));
    assert_eq!(accelerator::known_devices(), None, "a registered driver may block, so it has to be asked");
    assert_eq!(accelerator::current_index(), None);
    assert_eq!(accelerator::current_device().unwrap(), first);
    let known = accelerator::KnownDevices { accelerator: Some(Device::of(*KIND)), count: 2 };
    assert_eq!((accelerator::known_devices(), accelerator::current_index()), (Some(known), Some(0)));
    assert_eq!(accelerator::properties(None).unwrap().name, "host device");

    check_memory_beyond_the_total(first);
    check_streams_and_events(second);
    check_graph();
    check_asynchronous_errors(second);
    check_stale_env_warnings();

    let again = accelerator::use_driver(third_party());
    assert!(matches!(again, Err(Error::DriverInUse { .. })), "{again:?}");
}

/// Checks that memory beyond the reported total is rejected, which the driver would allocate.
fn check_memory_beyond_the_total(device: Device) {
    for expandable_segments in [false, true] {
        set_config(AllocatorConfig { expandable_segments, ..AllocatorConfig::default() }).unwrap();
        for bytes in [TOTAL as usize + 1, 1 << 30, 1 << 40] {
            let refused = DeviceBuffer::new(Some(device), bytes);
            assert!(matches!(refused, Err(Error::OutOfMemory(_))), "{bytes} bytes: {refused:?}");
        }
        let parts: Vec<_> = (0..5).map(|_| DeviceBuffer::new(Some(device), 60 << 20)).collect();
        assert_eq!(parts.iter().filter(|part| part.is_ok()).count(), 4, "{expandable_segments}");
        drop(parts);
        // Cached memory is released for a request that fits.
        drop(DeviceBuffer::new(Some(device), 240 << 20).unwrap());
        empty_cache().unwrap();
    }
    set_config(AllocatorConfig::default()).unwrap();
}

fn check_streams_and_events(second: Device) {
    let (stream, other) = (Stream::new(None, -1).unwrap(), Stream::dedicated(Some(second), 0).unwrap());
    assert_eq!((stream.priority(), other.device()), (-1, second));
    // SAFETY: the stream outlives the clone.
    let adopted = unsafe { Stream::external(Some(second), other.handle().unwrap().raw, None).unwrap() };
    assert_eq!(adopted, other);
    let timing = EventOptions { timing: true, ..EventOptions::default() };
    let [start, end] = [(); 2].map(|()| Event::new(None, timing).unwrap());
    start.record(&stream).unwrap();
    let latch = rig::Latch::default();
    stream.launch(latch.work()).unwrap();
    end.record(&stream).unwrap();
    other.wait_event(&end).unwrap();
    assert!(!other.query().unwrap() && !end.query().unwrap());
    assert!(!accelerator::begin_wait(Some(second)).unwrap().wait_timeout(Duration::ZERO).unwrap());
    latch.open();
    accelerator::synchronize(Some(second)).unwrap();
    end.synchronize().unwrap();
    assert!(start.elapsed(&end).unwrap() > 0.0);
    let _current = other.guard().unwrap();
    assert_eq!(accelerator::current_stream(None).unwrap(), other);
}

fn check_graph() {
    let counter = rig::Counter::default();
    let stream = Stream::new(None, 0).unwrap();
    let _current = stream.guard().unwrap();
    let graph = Graph::new(true).unwrap();
    graph.capture_begin(None, CaptureMode::Global).unwrap();
    assert!(stream.is_capturing().unwrap());
    stream.launch(counter.work()).unwrap();
    graph.capture_end().unwrap();
    assert!(graph.dot().unwrap().contains("count"));
    graph.replay().unwrap();
    graph.replay().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(counter.get(), 2);
}

/// Checks that each change is reported once, and again if it is repeated after it was undone.
fn check_stale_env_warnings() {
    let mut last = 0;
    for (changes, is_reported) in [(0, false), (1, true), (1, false), (2, true), (0, false), (2, true)] {
        CHANGES.store(changes, Ordering::Relaxed);
        let expected = is_reported.then(|| format!("there were {changes} changes"));
        // If there is something to report, the quick query returns nothing.
        assert_eq!(accelerator::known_devices().is_none(), changes != last, "{changes} changes");
        last = changes;
        assert_eq!(accelerator::stale_env_warning(), expected);
    }
}

fn check_asynchronous_errors(second: Device) {
    let stream = Stream::new(Some(second), 0).unwrap();
    stream.launch(HostFn::new("greet", || Err("no answer".into()))).unwrap();
    let error = stream.synchronize().unwrap_err();
    assert_eq!(error.to_string(), "greet failed on thirdparty:1: no answer");
    stream.synchronize().unwrap();
}

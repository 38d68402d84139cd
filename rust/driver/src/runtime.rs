//! The interface of a started driver.

use interlock_core::device::{Device, DeviceIndex, DeviceType};

use super::capture::{self, CaptureId, CaptureMode};
use super::handle::{Address, EventHandle, EventOptions, GraphExecHandle, GraphHandle, StreamHandle};
use super::ops::{Copy, Fill, GraphDump, HostFn};
use super::properties::{DeviceProperties, MemoryInfo, PriorityRange};
use super::wait::{SyncPoint, WaitPolicy, WaitTarget};
use crate::{Error, Result};

/// The devices of a driver that has been [started](super::Driver::start).
///
/// The caller passes indices below [`device_count`](DriverRuntime::device_count), and handles that this runtime
/// returned and that have not been destroyed, in the process that started it. A method that is not `unsafe` returns an
/// error for every other index and handle: memory safety must not depend on them. Every method may be called from every
/// thread. Only [`wait`](DriverRuntime::wait) and the methods that allocate or free memory may block; all other work is
/// queued.
///
/// [`create_event`](DriverRuntime::create_event), [`record_event`](DriverRuntime::record_event),
/// [`has_completed`](DriverRuntime::has_completed) and [`capture_id`](DriverRuntime::capture_id) are called with locks
/// held: they drop no [`KeepAlive`](super::KeepAlive) and call no user code.
///
/// A call that returns an error has had no effect. An error that occurs after work was queued is reported
/// asynchronously.
///
/// A stream begins to capture between two calls that queue work on it, and not during one: a driver decides whether
/// work is run or recorded, and which of its [`Owners`](super::Owners) it owns, under one lock.
///
/// Errors of queued work are reported asynchronously: by the next [`check`](DriverRuntime::check) or
/// [`wait`](DriverRuntime::wait) that covers the work, as [`Error::Device`] with the operation that failed.
///
/// A minimal driver implements the methods without a default. The defaults return [`Error::Unsupported`], which names
/// the driver and the operation, or implement the method without support of the driver.
///
/// ```
/// use interlock_driver::{DeviceIndex, DriverRuntime, Result};
///
/// /// Returns the free bytes of all devices.
/// fn free_bytes(runtime: &dyn DriverRuntime) -> Result<u64> {
///     let devices = 0..runtime.device_count() as DeviceIndex;
///     devices.map(|device| Ok(runtime.memory_info(device)?.free)).sum()
/// }
/// ```
///
/// # Safety
/// The memory that [`allocate`](DriverRuntime::allocate), [`allocate_pinned`](DriverRuntime::allocate_pinned) and
/// [`map`](DriverRuntime::map) return must stay valid for the requested bytes until it is freed or the runtime is
/// dropped. Queued work must own the owners that [`Owners::split`](super::Owners::split) selects until it has completed
/// and, if a graph records it, as long as the graph can repeat it. If
/// [`is_host_accessible`](DriverRuntime::is_host_accessible) returns true, addresses of devices are addresses of this
/// program.
#[expect(unused_variables, reason = "most defaults only return an error")]
pub unsafe trait DriverRuntime: Send + Sync {
    /// Returns the type of the devices.
    fn device_type(&self) -> DeviceType;

    /// Returns the number of devices.
    fn device_count(&self) -> u32;

    /// Returns whether any library has created a context on a device in this process, which takes memory there.
    fn has_context(&self, device: DeviceIndex) -> bool {
        false
    }

    /// Returns the properties of a device.
    fn properties(&self, device: DeviceIndex) -> Result<DeviceProperties>;

    /// Returns the free and the total memory of a device. The bytes that this crate allocates never exceed `total`: a
    /// request beyond it fails with [`Error::OutOfMemory`] without a call of the driver. A total of 0, or an error,
    /// means that the total is unknown.
    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo>;

    /// Allocates memory of a device, aligned to 512 bytes; its content is undefined. `bytes` must not be 0.
    ///
    /// # Errors
    /// A driver that has no memory for the request returns [`Error::OutOfMemory`], which
    /// [`OutOfMemory::error`](crate::OutOfMemory::error) creates from the device and the requested bytes. The caching
    /// allocator then releases all unused cached memory and calls the driver again. If that also fails, the callbacks
    /// of `memory::on_oom` of `interlock-accelerator` run, and the program gets the error. Every other error is
    /// returned at once, without a retry. The contract of [`map`](DriverRuntime::map) is identical, and that of
    /// [`allocate_pinned`](DriverRuntime::allocate_pinned) applies to the cache of pinned memory.
    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address>;

    /// Frees memory of a device. May wait for all work of the device, as NVIDIA's driver does, so callers hold no lock
    /// that queued work may need.
    ///
    /// # Safety
    /// [`allocate`](DriverRuntime::allocate) returned it for this device and size, and neither queued work nor a graph
    /// uses it.
    unsafe fn free(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()>;

    /// Returns [`Error::DeviceLost`] for `operation` if the device is lost, as far as that is known without a query. An
    /// allocation that the cache serves makes no other call. Never blocks for long.
    fn check_not_lost(&self, device: DeviceIndex, operation: &'static str) -> Result<()> {
        Ok(())
    }

    /// Allocates pinned memory of this program, which all devices access directly, aligned to 512 bytes. `bytes` must
    /// not be 0. A driver that needs a device for the allocation uses `device`.
    fn allocate_pinned(&self, device: DeviceIndex, bytes: usize) -> Result<Address>;

    /// Frees pinned memory. May wait, as [`free`](DriverRuntime::free) may.
    ///
    /// # Safety
    /// As for [`free`](DriverRuntime::free).
    unsafe fn free_pinned(&self, address: Address, bytes: usize) -> Result<()>;

    /// Returns whether the driver records its work for traces ([`activity`](crate::activity)). Otherwise times are those of
    /// events around the work.
    fn records_activities(&self) -> bool {
        false
    }

    /// Returns whether the CPU can access memory of the devices at its addresses.
    fn is_host_accessible(&self) -> bool {
        false
    }

    /// Returns the granularity in bytes of [`map`](DriverRuntime::map), or 0 if the devices have no virtual memory
    /// management; then none of the four methods below is called. Their sizes and addresses are multiples of it.
    fn mapping_granularity(&self, device: DeviceIndex) -> Result<usize> {
        Ok(0)
    }

    /// Reserves addresses without memory, aligned to the granularity.
    fn reserve_addresses(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        Err(self.unsupported("virtual memory", device))
    }

    /// Frees reserved addresses.
    ///
    /// # Safety
    /// [`reserve_addresses`](DriverRuntime::reserve_addresses) returned them for this device and size, and no memory is
    /// mapped there.
    unsafe fn free_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        Err(self.unsupported("virtual memory", device))
    }

    /// Maps memory to reserved addresses that have none; its content is undefined. It counts as
    /// [allocated](DriverRuntime::allocate).
    fn map(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        Err(self.unsupported("virtual memory", device))
    }

    /// Unmaps the memory of addresses, which remain reserved.
    ///
    /// # Safety
    /// One [`map`](DriverRuntime::map) mapped it for this device and size, and neither queued work nor a graph uses it.
    unsafe fn unmap(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        Err(self.unsupported("virtual memory", device))
    }

    /// Returns the range of stream priorities; only 0 by default.
    fn priority_range(&self, device: DeviceIndex) -> Result<PriorityRange> {
        Ok(PriorityRange { least: 0, greatest: 0 })
    }

    /// Returns the default stream of a device. It is never destroyed, and can't be captured.
    fn default_stream(&self, device: DeviceIndex) -> Result<StreamHandle>;

    /// Creates a stream. `priority` is within the range of the device.
    fn create_stream(&self, device: DeviceIndex, priority: i32) -> Result<StreamHandle>;

    /// Destroys a stream; queued work still runs.
    fn destroy_stream(&self, stream: StreamHandle);

    /// Wraps a stream that another library created, given as the raw handle of that library.
    ///
    /// # Safety
    /// `raw` is a stream of the library that this driver works with, of this device, or one of its special handles, and
    /// remains valid until no more work is queued on it. A driver returns an error for a number that it recognizes as
    /// something else, but it may pass the number to its library as a pointer.
    unsafe fn wrap_external_stream(&self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        Err(self.unsupported("an external stream", device))
    }

    /// Creates an event that is not recorded.
    fn create_event(&self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle>;

    /// Destroys an event; waits for its last record continue.
    fn destroy_event(&self, event: EventHandle);

    /// Records an event after all work that is queued on the stream. Replaces its previous record.
    fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()>;

    /// Makes all work that is queued on the stream from now on wait for the last record of the event.
    fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()>;

    /// Returns the milliseconds from one event to another, both created with timing and completed.
    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64> {
        Err(self.unsupported("Event.elapsed_time", start.device))
    }

    /// Exports an event as bytes, with which another process imports it.
    fn export_event(&self, event: EventHandle) -> Result<Vec<u8>> {
        Err(Error::Unsupported { operation: "Event.ipc_handle", device: Device::of(self.device_type()) })
    }

    /// Imports an event of another process.
    fn import_event(&self, device: DeviceIndex, exported: &[u8]) -> Result<EventHandle> {
        Err(Error::Unsupported { operation: "Event.from_ipc_handle", device: Device::of(self.device_type()) })
    }

    /// Returns whether the target has completed, without blocking; reports pending asynchronous errors.
    fn check(&self, target: WaitTarget) -> Result<bool>;

    /// Returns whether all work before the last record of an event has completed or failed; true for an event that was
    /// never recorded. Never blocks, and leaves asynchronous errors pending for the next
    /// [`check`](DriverRuntime::check).
    fn has_completed(&self, event: EventHandle) -> Result<bool>;

    /// Returns the work that a wait beginning now covers.
    fn sync_point(&self, target: WaitTarget) -> Result<SyncPoint> {
        Ok(SyncPoint::new(target, Vec::new()))
    }

    /// Waits for a sync point; returns false on timeout. A driver whose sync points have no points waits for work that
    /// is queued in the meantime, too.
    fn wait(&self, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
        policy.poll_until(|| self.check(sync_point.target))
    }

    /// Queues a copy.
    ///
    /// # Safety
    /// Both endpoints are valid for the bytes of the copy until it has completed and no graph can repeat it, or as long
    /// as its `owners` require.
    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()>;

    /// Queues a copy that the caller will wait for, as [`copy`](DriverRuntime::copy) does. A driver that asks its library
    /// whether the stream is captured asks once, under the lock under which it queues the copy.
    ///
    /// # Errors
    /// Returns [`Error::Graph`] if the stream is captured, without recording the copy.
    ///
    /// # Safety
    /// The contract of [`copy`](DriverRuntime::copy).
    unsafe fn copy_awaited(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        match self.capture_id(stream)? {
            Some(_) => Err(capture::err_awaited("a copy")),
            // SAFETY: guaranteed by the caller.
            None => unsafe { self.copy(stream, copy) },
        }
    }

    /// Queues a fill.
    ///
    /// # Safety
    /// The bytes are memory of the stream's device until the fill has completed and no graph can repeat it, or as long
    /// as its `owners` require.
    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()>;

    /// Queues a host function.
    fn launch_host_fn(&self, stream: StreamHandle, function: HostFn) -> Result<()> {
        Err(self.unsupported("Stream.launch", stream.device))
    }

    /// Begins a capture: work that is queued on the stream from now on is recorded instead of run. Other streams take
    /// part in the capture once they wait for an event that was recorded in it. Returns the id of the capture, which is
    /// unique in a process and not 0.
    fn begin_capture(&self, stream: StreamHandle, mode: CaptureMode) -> Result<CaptureId> {
        Err(self.unsupported("Graph.capture_begin", stream.device))
    }

    /// Returns the id of the capture that records the work of the stream, if any. A driver that does not know the id of
    /// an invalidated capture returns 0.
    fn capture_id(&self, stream: StreamHandle) -> Result<Option<CaptureId>> {
        Ok(None)
    }

    /// Ends the capture that began on the stream.
    ///
    /// # Errors
    /// Returns an error, after ending the capture, if a call during the capture can't be repeated or if the work of
    /// another stream was not joined. A driver may require that a capture ends on the thread that began it, unless its
    /// mode is relaxed; on other threads it returns an error and the capture continues.
    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        Err(self.unsupported("Graph.capture_end", stream.device))
    }

    /// Instantiates a graph for replays.
    fn instantiate(&self, graph: GraphHandle) -> Result<GraphExecHandle> {
        Err(Error::Unsupported { operation: "Graph.instantiate", device: Device::of(self.device_type()) })
    }

    /// Queues the work of a graph. Replays of one instance run one after another, even on different streams.
    fn replay(&self, exec: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        Err(self.unsupported("Graph.replay", stream.device))
    }

    /// Returns the nodes and edges of a graph.
    fn describe_graph(&self, graph: GraphHandle) -> Result<GraphDump> {
        Err(Error::Unsupported { operation: "Graph.debug_dump", device: Device::of(self.device_type()) })
    }

    /// Returns whether a graph has no nodes.
    fn is_graph_empty(&self, graph: GraphHandle) -> Result<bool> {
        Ok(self.describe_graph(graph)?.nodes.is_empty())
    }

    /// Destroys a graph.
    fn destroy_graph(&self, graph: GraphHandle) {}

    /// Destroys an instantiated graph; queued replays still run.
    fn destroy_graph_exec(&self, exec: GraphExecHandle) {}

    /// Creates the error of an operation that this driver does not support.
    fn unsupported(&self, operation: &'static str, device: DeviceIndex) -> Error {
        Error::Unsupported { operation, device: Device::with_index(self.device_type(), device) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockRuntime;

    #[test]
    fn driver_runtime_defaults_to_no_virtual_memory() {
        let (driver, address) = (MockRuntime, Address(0));
        assert_eq!(driver.mapping_granularity(1), Ok(0));
        // SAFETY: there are no such addresses.
        let freed = unsafe { [driver.unmap(1, address, 1), driver.free_addresses(1, address, 1)] };
        let reserved = [driver.reserve_addresses(1, 1).map(drop), driver.map(1, address, 1)];
        for result in freed.into_iter().chain(reserved) {
            assert_eq!(result, Err(driver.unsupported("virtual memory", 1)));
        }
    }

    #[test]
    fn driver_runtime_defaults_name_the_unsupported_operation() {
        let driver = MockRuntime;
        let handle = driver.create_stream(1, 0).unwrap();
        let event = EventHandle { device: 1, raw: 0 };
        let refused = [
            // SAFETY: the number is passed on to no library.
            ("an external stream", unsafe { driver.wrap_external_stream(1, 0) }.map(drop)),
            ("Event.elapsed_time", driver.elapsed(event, event).map(drop)),
            ("Event.ipc_handle", driver.export_event(event).map(drop)),
            ("Event.from_ipc_handle", driver.import_event(1, &[]).map(drop)),
            ("Stream.launch", driver.launch_host_fn(handle, HostFn::new("nothing", || Ok(())))),
            ("Graph.capture_begin", driver.begin_capture(handle, CaptureMode::Global).map(drop)),
            ("Graph.capture_end", driver.end_capture(handle).map(drop)),
            ("Graph.instantiate", driver.instantiate(GraphHandle(0)).map(drop)),
            ("Graph.replay", driver.replay(GraphExecHandle(0), handle)),
            ("Graph.debug_dump", driver.describe_graph(GraphHandle(0)).map(drop)),
        ];
        for (name, result) in refused {
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Unsupported { operation, .. } if operation == name), "{error}");
            assert!(error.to_string().contains(driver.device_type().name()), "{error}");
        }
        assert_eq!(driver.capture_id(handle), Ok(None));
    }
}

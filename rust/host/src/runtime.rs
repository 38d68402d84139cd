//! The started host driver.

use std::sync::{Arc, MutexGuard};

use interlock_core::device::{Device, DeviceType};
use interlock_driver::activity::{self, ActivityKind};
use interlock_driver::va_space::{self, MAPPING, RELEASING, RESERVING, UNMAPPING};
use interlock_driver::{
    Address, CaptureId, CaptureMode, Copy, DeviceIndex, DeviceProperties, DriverRuntime, EventHandle,
    EventOptions, Fill, GraphDump, GraphExecHandle, GraphHandle, HostFn, MemoryInfo, OutOfMemory,
    PriorityRange, Result, StreamHandle, SyncPoint, WaitPolicy, WaitTarget, races,
};

use super::exec::command::{Command, Origin, Task};
use super::exec::inner::Inner;
use super::exec::shared::{Locked, Shared};
use super::exec::{sync, worker};
use super::memory::heap::{self, ALLOCATING, Heap};
use super::memory::virtual_memory::{self, GRANULARITY, Reservation, is_multiple};
use super::object::device;
use super::object::stream::PRIORITIES;
use super::options::HostOptions;

/// The runtime of the host driver. Work that is queued when it is dropped still runs.
///
/// Its methods lock the state. They release the lock before system calls that may block and before they drop values
/// of the caller.
pub(crate) struct HostRuntime {
    shared: Arc<Shared>,
    device_count: u32,
}

impl HostRuntime {
    pub(crate) fn new(options: &HostOptions) -> Self {
        HostRuntime { shared: Arc::new(Shared::new(options)), device_count: options.devices }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn lock(&self) -> Result<Locked<'_>> {
        self.shared.lock()
    }

    fn lock_no_flush(&self) -> Result<MutexGuard<'_, Inner>> {
        self.shared.lock_no_flush()
    }

    /// Queues a task, or records it if the stream captures.
    fn queue(&self, stream: StreamHandle, mut task: Task, operation: &'static str) -> Result<()> {
        let link = activity::new_link();
        let call = activity::begin(ActivityKind::Call, activity::this_thread, link, || {
            format!("queue {}", task.operation(stream.device))
        });
        // Both are dropped after `inner`, and so without the lock: the task on an error.
        let _unneeded;
        let mut inner = self.lock()?;
        let capture = inner.stream(stream, operation)?.capture();
        for device in task.devices() {
            inner.device(device, operation)?;
        }
        _unneeded = task.take_unneeded_owners(capture);
        if let Some(capture) = capture {
            return inner.record_task(capture, stream, task, operation);
        }
        worker::ensure_worker(&self.shared, &mut inner, stream.raw)?;
        inner.push(stream.raw, Command::Run(task), Origin { link, ..Origin::default() });
        inner.advance(stream.raw);
        drop(inner);
        call.end();
        Ok(())
    }

    /// Allocates memory of a device, or pinned memory if `device` is `None`.
    fn allocate_on(&self, device: Option<DeviceIndex>, bytes: usize) -> Result<Address> {
        let out_of_memory = || OutOfMemory::error(device.map_or(Device::CPU, device::named), bytes);
        if !self.lock()?.reserve_memory(device, bytes, ALLOCATING)? {
            return Err(out_of_memory());
        }
        let allocated = heap::allocate(bytes);
        self.lock()?.heap(device).and_then(|heap| heap.track(allocated, bytes)).ok_or_else(out_of_memory)
    }

    /// Frees memory of a device, even of a lost one, or pinned memory if `device` is `None`.
    ///
    /// # Safety
    /// [`allocate_on`](Self::allocate_on) returned `address` for `bytes`, and the memory is not used any more.
    unsafe fn free_on(&self, device: Option<DeviceIndex>, address: Address, bytes: usize) -> Result<()> {
        let lost = {
            let mut inner = self.lock()?;
            if !inner.heap(device).is_some_and(|heap| heap.remove(address, bytes)) {
                return Err(heap::err_unknown(address, bytes, device.map(device::named)));
            }
            device.map_or(Ok(()), |device| inner.check_not_lost(device, heap::RELEASING))
        };
        // SAFETY: the heap tracked the address, so `heap::allocate` returned it; the caller guarantees it is unused.
        unsafe { heap::deallocate(address, bytes) };
        lost
    }

    /// Removes a mapping, even of a lost device.
    fn remove_mapping(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        if let Some(heap) = self.lock()?.heap(Some(device)) {
            heap.remove_mapping(address, bytes);
        }
        Ok(())
    }
}

impl Drop for HostRuntime {
    fn drop(&mut self) {
        match self.shared.lock() {
            Ok(mut inner) => inner.close(),
            // A forked child leaks its copy: the parent's threads may have been changing it.
            Err(_) => std::mem::forget(self.shared.clone()),
        }
    }
}

/// Implements methods that lock the state with the given lock method and call the `Inner` method of that name.
macro_rules! forward {
    ($($lock:ident: $name:ident($($argument:ident: $type:ty),+) -> $result:ty;)+) => {$(
        fn $name(&self, $($argument: $type),+) -> Result<$result> {
            self.$lock()?.$name($($argument),+)
        }
    )+};
}

// SAFETY: memory comes from the global allocator or the system. Only the free functions return it, for tracked
// addresses (`memory/`). A task owns its owners until it has run or was cancelled (`exec/worker.rs`,
// `exec/scheduler.rs`); each node of a graph owns a task.
unsafe impl DriverRuntime for HostRuntime {
    fn device_type(&self) -> DeviceType {
        DeviceType::Host
    }

    fn device_count(&self) -> u32 {
        self.device_count
    }

    fn properties(&self, device: DeviceIndex) -> Result<DeviceProperties> {
        Ok(self.lock()?.device(device, "accelerator.device_properties")?.properties())
    }

    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo> {
        Ok(self.lock()?.device(device, "accelerator.get_memory_info")?.memory.info())
    }

    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        self.allocate_on(Some(device), bytes)
    }

    unsafe fn free(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract of `free`, which implies the contract of `free_on`.
        unsafe { self.free_on(Some(device), address, bytes) }
    }

    fn check_not_lost(&self, device: DeviceIndex, operation: &'static str) -> Result<()> {
        if self.shared.has_lost_device() {
            self.lock_no_flush()?.check_not_lost(device, operation)?;
        }
        Ok(())
    }

    fn allocate_pinned(&self, _: DeviceIndex, bytes: usize) -> Result<Address> {
        self.allocate_on(None, bytes)
    }

    unsafe fn free_pinned(&self, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract of `free_pinned`, which implies the contract of `free_on`.
        unsafe { self.free_on(None, address, bytes) }
    }

    fn records_activities(&self) -> bool {
        true
    }

    fn is_host_accessible(&self) -> bool {
        true
    }

    fn mapping_granularity(&self, device: DeviceIndex) -> Result<usize> {
        self.lock()?.device(device, RESERVING).map(|_| GRANULARITY)
    }

    fn reserve_addresses(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        self.lock()?.device(device, RESERVING)?;
        if !is_multiple(bytes) {
            return Err(va_space::err_misaligned(bytes, GRANULARITY));
        }
        let out_of_memory = || OutOfMemory::error(device::named(device), bytes);
        let reservation = Reservation::new(bytes).ok_or_else(out_of_memory)?;
        let address = reservation.address();
        self.lock()?.device(device, RESERVING)?.memory.va_space().reserve(address, bytes, reservation);
        Ok(address)
    }

    unsafe fn free_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let (reservation, lost) = {
            let mut inner = self.lock()?;
            let lost = inner.check_not_lost(device, RELEASING);
            (inner.heap(Some(device)).and_then(|heap| heap.va_space().free(address, bytes)), lost)
        };
        match reservation {
            Some(_) => lost,
            None => Err(va_space::err_not_reserved(device::named(device), address, bytes)),
        }
    }

    fn map(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let out_of_memory = || OutOfMemory::error(device::named(device), bytes);
        {
            let mut inner = self.lock()?;
            let space = inner.device(device, MAPPING)?.memory.va_space();
            let is_aligned = is_multiple(bytes) && address.0.is_multiple_of(GRANULARITY as u64);
            if !is_aligned || !space.is_unmapped(address, bytes) {
                return Err(va_space::err_not_unmapped(device::named(device), address, bytes, GRANULARITY));
            }
            if !inner.reserve_memory(Some(device), bytes, MAPPING)? {
                return Err(out_of_memory());
            }
            inner.device(device, MAPPING)?.memory.va_space().map(address, bytes);
            races::add_memory(address, bytes);
        }
        // The mapping is recorded, so no other call maps the addresses meanwhile.
        if virtual_memory::commit(address, bytes) {
            return Ok(());
        }
        self.remove_mapping(device, address, bytes)?;
        Err(out_of_memory())
    }

    unsafe fn unmap(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let lost = {
            let mut inner = self.lock()?;
            let lost = inner.check_not_lost(device, UNMAPPING);
            let is_mapping = |heap: &mut Heap| heap.va_space().is_mapping(address, bytes);
            if !inner.heap(Some(device)).is_some_and(is_mapping) {
                return Err(va_space::err_not_mapped(device::named(device), address, bytes));
            }
            lost
        };
        // SAFETY: the mapping stays recorded until the pages are decommitted, so no other call maps the addresses
        // meanwhile; the caller guarantees that they are unused.
        if !unsafe { virtual_memory::decommit(address, bytes) } {
            return Err(OutOfMemory::error(device::named(device), bytes));
        }
        self.remove_mapping(device, address, bytes)?;
        lost
    }

    forward! {
        lock: default_stream(device: DeviceIndex) -> StreamHandle;
        lock: create_stream(device: DeviceIndex, priority: i32) -> StreamHandle;
        lock_no_flush: create_event(device: DeviceIndex, options: EventOptions) -> EventHandle;
        lock_no_flush: record_event(event: EventHandle, stream: StreamHandle) -> ();
        lock: wait_event(stream: StreamHandle, event: EventHandle) -> ();
        lock: elapsed(start: EventHandle, end: EventHandle) -> f64;
        lock: check(target: WaitTarget) -> bool;
        lock_no_flush: has_completed(event: EventHandle) -> bool;
        lock: sync_point(target: WaitTarget) -> SyncPoint;
        lock: begin_capture(stream: StreamHandle, mode: CaptureMode) -> CaptureId;
        lock_no_flush: capture_id(stream: StreamHandle) -> Option<CaptureId>;
        lock: end_capture(stream: StreamHandle) -> GraphHandle;
        lock: instantiate(graph: GraphHandle) -> GraphExecHandle;
        lock: describe_graph(graph: GraphHandle) -> GraphDump;
    }

    fn priority_range(&self, device: DeviceIndex) -> Result<PriorityRange> {
        self.lock()?.device(device, "accelerator.stream_priority_range")?;
        Ok(PRIORITIES)
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        _ = self.lock().map(|mut inner| inner.destroy_created_stream(stream));
    }

    unsafe fn wrap_external_stream(&self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        self.lock()?.wrap_external_stream(device, raw)
    }

    fn destroy_event(&self, event: EventHandle) {
        _ = self.lock().map(|mut inner| inner.destroy_event(event));
    }

    fn wait(&self, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
        let waiting = activity::begin(ActivityKind::Synchronize, activity::this_thread, 0, || {
            sync::name_of_wait(sync_point.target).to_owned()
        });
        let reached = sync::wait(&self.shared, sync_point, policy);
        waiting.end();
        reached
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        self.queue(stream, Task::Copy(copy), "a copy")
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        self.queue(stream, Task::Fill(fill), "a fill")
    }

    fn launch_host_fn(&self, stream: StreamHandle, function: HostFn) -> Result<()> {
        self.queue(stream, Task::HostFn(function), "Stream.launch")
    }

    fn replay(&self, executable: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        let call = activity::begin(ActivityKind::Call, activity::this_thread, 0, || "replay a graph".into());
        let ensure_worker = |inner: &mut Inner, stream| worker::ensure_worker(&self.shared, inner, stream);
        let replayed = self.lock()?.replay(executable, stream, ensure_worker);
        call.end();
        replayed
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        _ = self.lock().map(|mut inner| inner.destroy_graph(graph));
    }

    fn destroy_graph_exec(&self, executable: GraphExecHandle) {
        _ = self.lock().map(|mut inner| inner.destroy_graph_exec(executable));
    }
}

//! The devices once they are used.

use std::sync::{Arc, MutexGuard};

use interlock_core::device::{Device, DeviceType};
use interlock_driver::OutOfMemory;
use interlock_driver::Result;
use interlock_driver::va_space::{self, MAPPING, RELEASING, RESERVING, UNMAPPING};

use super::exec::command::Task;
use super::exec::inner::Inner;
use super::exec::shared::{Locked, Shared};
use super::exec::{sync, worker};
use super::memory::heap::{self, ALLOCATING, Heap};
use super::memory::virtual_memory::{self, GRANULARITY, Reservation, is_multiple};
use super::object::device;
use super::object::stream::PRIORITIES;
use super::options::HostOptions;
use interlock_driver::{
    Address, CaptureMode, Copy, DeviceIndex, DeviceProperties, DriverRuntime, EventHandle, EventOptions,
    Fill, GraphDump, GraphExecHandle, GraphHandle, HostFn, MemoryInfo, PriorityRange, StreamHandle,
    SyncPoint, WaitPolicy, WaitTarget,
};

/// The devices of a host driver. Work that is queued when it is dropped still runs.
///
/// Its methods lock the state, and do without the lock what may block: calls of the system, and destructors of what the
/// caller queued.
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
    fn queue(&self, stream: StreamHandle, task: Task, operation: &'static str) -> Result<()> {
        // If it is refused, the task is dropped after the lock is released.
        let mut inner = self.lock()?;
        if let Some(capture) = inner.check_task(stream, &task, operation)? {
            return inner.record_task(capture, stream, task, operation);
        }
        worker::ensure_worker(&self.shared, &mut inner, stream.raw)?;
        inner.submit(stream.raw, task);
        Ok(())
    }

    /// Removes a mapping, whether the device is lost or not.
    fn remove_mapping(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        if let Some(heap) = self.lock()?.heap(device) {
            heap.remove_mapping(address, bytes);
        }
        Ok(())
    }
}

impl Drop for HostRuntime {
    fn drop(&mut self) {
        match self.shared.lock() {
            Ok(mut inner) => inner.close(),
            // What the threads of the parent process use stays as it is.
            Err(_) => std::mem::forget(self.shared.clone()),
        }
    }
}

// SAFETY: memory comes from the heap or the system and is returned only by the free functions, for addresses that are
// tracked (`memory/`). A task owns its `KeepAlive` until it has run or will not run any more (`exec/worker.rs`,
// `exec/scheduler.rs`), and so does each node of a graph.
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
        let out_of_memory = || OutOfMemory::error(device::named(device), bytes);
        {
            let mut inner = self.lock()?;
            inner.device(device, ALLOCATING)?;
            if inner.faults.allocation_fails() || !inner.device(device, ALLOCATING)?.memory.reserve(bytes) {
                return Err(out_of_memory());
            }
        }
        let allocated = heap::allocate(bytes);
        let mut inner = self.lock()?;
        inner.heap(device).and_then(|heap| heap.track(allocated, bytes)).ok_or_else(out_of_memory)
    }

    unsafe fn free(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let lost = {
            let mut inner = self.lock()?;
            let lost = inner.check_not_lost(device, heap::RELEASING);
            if !inner.heap(device).is_some_and(|heap| heap.remove(address, bytes)) {
                return Err(heap::err_unknown(address, bytes, &format!("on {}", device::named(device))));
            }
            lost
        };
        // SAFETY: it was tracked, so `allocate` returned it, and the caller guarantees that it is not used.
        unsafe { heap::deallocate(address, bytes) };
        lost
    }

    fn allocate_pinned(&self, _: DeviceIndex, bytes: usize) -> Result<Address> {
        let out_of_memory = || OutOfMemory::error(Device::CPU, bytes);
        {
            let mut inner = self.lock()?;
            if inner.faults.pinned_allocation_fails() || !inner.pinned.reserve(bytes) {
                return Err(out_of_memory());
            }
        }
        let allocated = heap::allocate(bytes);
        self.lock()?.pinned.track(allocated, bytes).ok_or_else(out_of_memory)
    }

    unsafe fn free_pinned(&self, address: Address, bytes: usize) -> Result<()> {
        if !self.lock()?.pinned.remove(address, bytes) {
            return Err(heap::err_unknown(address, bytes, "as pinned memory"));
        }
        // SAFETY: as in `free`.
        unsafe { heap::deallocate(address, bytes) };
        Ok(())
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
            (inner.heap(device).and_then(|heap| heap.va_space().free(address, bytes)), lost)
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
            if inner.faults.allocation_fails() || !inner.device(device, MAPPING)?.memory.reserve(bytes) {
                return Err(out_of_memory());
            }
            inner.device(device, MAPPING)?.memory.va_space().map(address, bytes);
        }
        // The mapping is recorded, so no other call takes the addresses.
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
            if !inner.heap(device).is_some_and(is_mapping) {
                return Err(va_space::err_not_mapped(device::named(device), address, bytes));
            }
            lost
        };
        // SAFETY: the mapping is recorded until the pages are gone, so no other call gets the addresses in the meantime,
        // and the caller guarantees that they are not used.
        if !unsafe { virtual_memory::decommit(address, bytes) } {
            return Err(OutOfMemory::error(device::named(device), bytes));
        }
        self.remove_mapping(device, address, bytes)?;
        lost
    }

    fn priority_range(&self, device: DeviceIndex) -> Result<PriorityRange> {
        self.lock()?.device(device, "accelerator.stream_priority_range")?;
        Ok(PRIORITIES)
    }

    fn default_stream(&self, device: DeviceIndex) -> Result<StreamHandle> {
        self.lock()?.default_stream(device)
    }

    fn create_stream(&self, device: DeviceIndex, priority: i32) -> Result<StreamHandle> {
        self.lock()?.create_stream(device, priority)
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        if let Ok(mut inner) = self.lock() {
            inner.release(stream);
        }
    }

    unsafe fn wrap_external_stream(&self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        self.lock()?.wrap_external_stream(device, raw)
    }

    fn create_event(&self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle> {
        self.lock_no_flush()?.create_event(device, options)
    }

    fn destroy_event(&self, event: EventHandle) {
        if let Ok(mut inner) = self.lock() {
            inner.destroy_event(event);
        }
    }

    fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        self.lock_no_flush()?.record_event(event, stream)
    }

    fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        self.lock()?.wait_event(stream, event)
    }

    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64> {
        self.lock()?.elapsed(start, end)
    }

    fn check(&self, target: WaitTarget) -> Result<bool> {
        self.lock()?.check(target)
    }

    fn has_completed(&self, event: EventHandle) -> Result<bool> {
        self.lock_no_flush()?.has_completed(event)
    }

    fn sync_point(&self, target: WaitTarget) -> Result<SyncPoint> {
        self.lock()?.sync_point(target)
    }

    fn wait(&self, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
        sync::wait(&self.shared, sync_point, policy)
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        self.queue(stream, Task::Copy(copy), "a copy")
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        self.queue(stream, Task::Fill(fill), "a fill")
    }

    fn launch_host_fn(&self, stream: StreamHandle, function: HostFn) -> Result<()> {
        self.queue(stream, Task::Launch(function), "Stream.launch")
    }

    fn begin_capture(&self, stream: StreamHandle, mode: CaptureMode) -> Result<()> {
        self.lock()?.begin_capture(stream, mode)
    }

    fn capture_id(&self, stream: StreamHandle) -> Result<Option<u64>> {
        self.lock_no_flush()?.capture_id(stream)
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        self.lock()?.end_capture(stream)
    }

    fn instantiate(&self, graph: GraphHandle) -> Result<GraphExecHandle> {
        self.lock()?.instantiate(graph)
    }

    fn replay(&self, executable: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        let start_worker = |inner: &mut Inner, stream| worker::ensure_worker(&self.shared, inner, stream);
        self.lock()?.replay(executable, stream, start_worker)
    }

    fn describe_graph(&self, graph: GraphHandle) -> Result<GraphDump> {
        self.lock()?.describe_graph(graph)
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        if let Ok(mut inner) = self.lock() {
            inner.destroy_graph(graph);
        }
    }

    fn destroy_graph_exec(&self, executable: GraphExecHandle) {
        if let Ok(mut inner) = self.lock() {
            inner.destroy_graph_exec(executable);
        }
    }
}

//! The devices once they are used.

use std::sync::Arc;

use interlock_core::device::DeviceType;
use interlock_driver::Result;

use super::command::Task;
use super::options::HostOptions;
use super::shared::Shared;
use super::stream::PRIORITIES;
use interlock_driver::{
    Address, CaptureMode, Copy, DeviceIndex, DeviceProperties, DriverRuntime, EventHandle, EventOptions,
    Fill, GraphDump, GraphExecHandle, GraphHandle, HostFn, MemoryInfo, PriorityRange, StreamHandle,
    SyncPoint, WaitPolicy, WaitTarget,
};

/// The devices of a started host driver. Work that is queued when it is dropped still runs.
pub(super) struct HostRuntime(Arc<Shared>);

impl HostRuntime {
    pub(super) fn new(options: &HostOptions) -> Self {
        HostRuntime(Arc::new(Shared::new(options)))
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for HostRuntime {
    fn drop(&mut self) {
        match self.0.lock() {
            Ok(mut state) => state.close(),
            // What the threads of the parent process use stays as it is.
            Err(_) => std::mem::forget(self.0.clone()),
        }
    }
}

// SAFETY: memory comes from the heap or the system and is returned only by the free functions, for addresses that are
// tracked (`memory.rs`, `addresses.rs`). A task owns its `KeepAlive` until it has run or will not run any more
// (`worker.rs`, `schedule.rs`), and so does each node of a graph.
unsafe impl DriverRuntime for HostRuntime {
    fn device_type(&self) -> DeviceType {
        DeviceType::Host
    }

    fn device_count(&self) -> u32 {
        self.0.device_count()
    }

    fn properties(&self, device: DeviceIndex) -> Result<DeviceProperties> {
        Ok(self.0.lock()?.device(device, "accelerator.device_properties")?.properties())
    }

    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo> {
        self.0.memory_info(device)
    }

    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        self.0.allocate(device, bytes)
    }

    unsafe fn free(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.0.release_memory(device, address, bytes) }
    }

    fn allocate_pinned(&self, _: DeviceIndex, bytes: usize) -> Result<Address> {
        self.0.allocate_pinned(bytes)
    }

    unsafe fn free_pinned(&self, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.0.free_pinned(address, bytes) }
    }

    fn is_host_accessible(&self) -> bool {
        true
    }

    fn mapping_granularity(&self, device: DeviceIndex) -> Result<usize> {
        self.0.mapping_granularity(device)
    }

    fn reserve_addresses(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        self.0.reserve_addresses(device, bytes)
    }

    unsafe fn free_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        self.0.free_addresses(device, address, bytes)
    }

    fn map(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        self.0.map(device, address, bytes)
    }

    unsafe fn unmap(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.0.unmap(device, address, bytes) }
    }

    fn priority_range(&self, device: DeviceIndex) -> Result<PriorityRange> {
        self.0.lock()?.device(device, "accelerator.stream_priority_range")?;
        Ok(PRIORITIES)
    }

    fn default_stream(&self, device: DeviceIndex) -> Result<StreamHandle> {
        self.0.default_stream(device)
    }

    fn create_stream(&self, device: DeviceIndex, priority: i32) -> Result<StreamHandle> {
        self.0.create_stream(device, priority)
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        self.0.release(stream);
    }

    unsafe fn wrap_external_stream(&self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        self.0.wrap_external_stream(device, raw)
    }

    fn create_event(&self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle> {
        self.0.create_event(device, options)
    }

    fn destroy_event(&self, event: EventHandle) {
        self.0.destroy_event(event);
    }

    fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        self.0.record_event(event, stream)
    }

    fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        self.0.wait_event(stream, event)
    }

    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64> {
        self.0.elapsed(start, end)
    }

    fn check(&self, target: WaitTarget) -> Result<bool> {
        self.0.is_done(target)
    }

    fn has_completed(&self, event: EventHandle) -> Result<bool> {
        self.0.is_over(event)
    }

    fn sync_point(&self, target: WaitTarget) -> Result<SyncPoint> {
        self.0.sync_point(target)
    }

    fn wait(&self, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
        self.0.wait(sync_point, policy)
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        self.0.queue(stream, Task::Copy(copy), "a copy")
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        self.0.queue(stream, Task::Fill(fill), "a fill")
    }

    fn launch_host_fn(&self, stream: StreamHandle, work: HostFn) -> Result<()> {
        self.0.queue(stream, Task::Launch(work), "Stream.launch")
    }

    fn begin_capture(&self, stream: StreamHandle, mode: CaptureMode) -> Result<()> {
        self.0.begin_capture(stream, mode)
    }

    fn capture_id(&self, stream: StreamHandle) -> Result<Option<u64>> {
        self.0.capture_id(stream)
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        self.0.end_capture(stream)
    }

    fn instantiate(&self, graph: GraphHandle) -> Result<GraphExecHandle> {
        self.0.instantiate(graph)
    }

    fn replay(&self, executable: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        self.0.replay(executable, stream)
    }

    fn describe_graph(&self, graph: GraphHandle) -> Result<GraphDump> {
        self.0.shape(graph)
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        self.0.destroy_graph(graph);
    }

    fn destroy_graph_exec(&self, executable: GraphExecHandle) {
        self.0.destroy_graph_exec(executable);
    }
}

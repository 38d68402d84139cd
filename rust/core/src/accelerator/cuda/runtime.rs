//! The driver once it has been started: its devices, and all that was made on them.

use super::captures::{CaptureTable, CapturedWork};
use super::device::CudaDevice;
use super::events::Events;
use super::graphs::{self, Graphs};
use super::shape::{is_empty, shape};
use super::streams::{self, Streams, capture_id};
use super::waits::Superseded;
use super::whole_device::WholeDevice;
use std::sync::MutexGuard;

use crate::accelerator::DeviceType;
use crate::accelerator::driver::capture::Captures;
use crate::accelerator::driver::{
    Address, CaptureMode, Copy, DeviceIndex, DeviceProperties, DriverRuntime, EventHandle, EventOptions,
    Fill, GraphDump, GraphExecHandle, GraphHandle, HostFn, MemoryInfo, PriorityRange, StreamHandle,
    SyncPoint, WaitPolicy, WaitTarget,
};
use crate::base::fork;
use crate::{Error, Result};

pub(super) struct CudaRuntime {
    /// The fork generation of the process that started it.
    generation: u32,
    pub(super) devices: Vec<CudaDevice>,
    pub(super) streams: Streams,
    pub(super) events: Events,
    pub(super) capture_table: CaptureTable,
    pub(super) graphs: Graphs,
    pub(super) superseded: Superseded,
    whole: Vec<WholeDevice>,
}

impl CudaRuntime {
    pub(super) fn new(count: u32) -> Result<Self> {
        let count = DeviceIndex::try_from(count).unwrap_or(DeviceIndex::MAX);
        let devices: Result<Vec<_>> = (0..count).map(CudaDevice::new).collect();
        Ok(CudaRuntime {
            generation: fork::generation(),
            devices: devices?,
            streams: Streams::default(),
            events: Events::default(),
            capture_table: CaptureTable::default(),
            graphs: Graphs::default(),
            superseded: Superseded::default(),
            whole: (0..count).map(|_| WholeDevice::default()).collect(),
        })
    }

    /// Locks the captures that are underway.
    pub(super) fn captures(&self) -> MutexGuard<'_, Captures<CapturedWork>> {
        self.capture_table.lock()
    }

    pub(super) fn is_current_process(&self) -> bool {
        self.generation == fork::generation()
    }

    /// Returns the granularity of virtual memory, on a device that has it.
    fn granularity(&self, device: DeviceIndex) -> Result<usize> {
        match self.mapping_granularity(device)? {
            0 => Err(self.unsupported("virtual memory", device)),
            granularity => Ok(granularity),
        }
    }

    pub(super) fn device(&self, index: DeviceIndex) -> Result<&CudaDevice> {
        self.devices.get(usize::from(index)).ok_or_else(|| Error::DeviceIndex { given: index.to_string() })
    }

    /// A device whose context exists, and is of use if that of any is; the first if none does.
    pub(super) fn any_used_device(&self) -> Result<&CudaDevice> {
        let used = || self.devices.iter().filter(|device| device.has_context());
        let whole = used().find(|device| !device.has_failed()).or_else(|| used().next());
        whole.map_or_else(|| self.device(0), Ok)
    }

    pub(super) fn whole(&self, index: DeviceIndex) -> Result<&WholeDevice> {
        self.whole.get(usize::from(index)).ok_or_else(|| Error::DeviceIndex { given: index.to_string() })
    }
}

// SAFETY: memory comes from the driver, which keeps it until it is given back (`memory.rs`, `addresses.rs`). Queued work
// owns its keeper until a place behind it is reached (`stream.rs`), and what is recorded as long as there is a graph that
// has it, or a replay of it is queued (`graphs.rs`).
unsafe impl DriverRuntime for CudaRuntime {
    fn device_type(&self) -> DeviceType {
        DeviceType::Cuda
    }

    fn device_count(&self) -> u32 {
        self.devices.len() as u32
    }

    fn properties(&self, device: DeviceIndex) -> Result<DeviceProperties> {
        self.device(device)?.properties()
    }

    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo> {
        self.device(device)?.memory_info()
    }

    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        self.device(device)?.allocate(bytes)
    }

    unsafe fn free(&self, device: DeviceIndex, address: Address, _: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.device(device)?.release(address) }
    }

    fn allocate_pinned(&self, near: DeviceIndex, bytes: usize) -> Result<Address> {
        self.device(near)?.allocate_pinned(bytes)
    }

    unsafe fn free_pinned(&self, address: Address, _: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.any_used_device()?.free_pinned(address) }
    }

    fn mapping_granularity(&self, device: DeviceIndex) -> Result<usize> {
        self.device(device)?.mapping_granularity()
    }

    fn reserve_addresses(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        let granularity = self.granularity(device)?;
        self.device(device)?.reserve_addresses(bytes, granularity)
    }

    unsafe fn free_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        self.granularity(device)?;
        self.device(device)?.free_addresses(address, bytes)
    }

    fn map(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let granularity = self.granularity(device)?;
        let device = self.device(device)?;
        // Until the end: a device that is let reach all memory meanwhile would be without this.
        let reached_by = device.reached_by();
        let peers: Result<Vec<_>> = reached_by.iter().map(|index| self.device(*index)).collect();
        device.map(address, bytes, granularity, &peers?)
    }

    unsafe fn unmap(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        self.granularity(device)?;
        let device = self.device(device)?;
        // Until the end: a device that is let reach all memory meanwhile would be let reach this.
        let _reached_by = device.reached_by();
        // SAFETY: as the caller vouches.
        unsafe { device.unmap(address, bytes) }
    }

    fn priority_range(&self, device: DeviceIndex) -> Result<PriorityRange> {
        streams::priority_range(self.device(device)?)
    }

    fn default_stream(&self, device: DeviceIndex) -> Result<StreamHandle> {
        Ok(StreamHandle { device, raw: streams::DEFAULT })
    }

    fn create_stream(&self, device: DeviceIndex, priority: i32) -> Result<StreamHandle> {
        let device = self.device(device)?;
        self.streams.sweep(device, "Stream");
        Ok(self.streams.create(device, priority, "Stream")?.handle)
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        if let Ok(device) = self.device(stream.device) {
            self.streams.release(device, stream);
        }
    }

    unsafe fn wrap_external_stream(&self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        self.streams.adopt(self.device(device)?, raw)
    }

    fn create_event(&self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle> {
        self.events.create(self.device(device)?, options)
    }

    fn destroy_event(&self, event: EventHandle) {
        self.destroy_event(event);
    }

    fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        self.record_event(event, stream)
    }

    fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        self.wait_event(stream, event)
    }

    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64> {
        self.events.elapsed(self.device(start.device)?, start, end)
    }

    fn export_event(&self, event: EventHandle) -> Result<Vec<u8>> {
        self.events.export(self.device(event.device)?, event)
    }

    fn import_event(&self, device: DeviceIndex, exported: &[u8]) -> Result<EventHandle> {
        self.events.import(self.device(device)?, exported)
    }

    fn check(&self, target: WaitTarget) -> Result<bool> {
        self.is_done(target)
    }

    fn has_completed(&self, event: EventHandle) -> Result<bool> {
        self.is_over(event)
    }

    fn sync_point(&self, target: WaitTarget) -> Result<SyncPoint> {
        self.sync_point(target)
    }

    fn wait(&self, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
        self.wait(sync_point, policy)
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.copy(stream, copy) }
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.fill(stream, fill) }
    }

    fn launch_host_fn(&self, stream: StreamHandle, work: HostFn) -> Result<()> {
        self.launch(stream, work)
    }

    fn begin_capture(&self, stream: StreamHandle, mode: CaptureMode) -> Result<()> {
        self.begin_capture(stream, mode)
    }

    fn capture_id(&self, stream: StreamHandle) -> Result<Option<u64>> {
        capture_id(self.device(stream.device)?, stream, "Stream.is_capturing")
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        self.end_capture(stream)
    }

    fn instantiate(&self, graph: GraphHandle) -> Result<GraphExecHandle> {
        let graph = self.graphs.find(graph, "Graph.instantiate")?;
        self.graphs.instantiate(self.device(graph.device)?, &graph)
    }

    fn replay(&self, executable: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        self.replay(executable, stream)
    }

    fn describe_graph(&self, graph: GraphHandle) -> Result<GraphDump> {
        let graph = self.graphs.find(graph, "Graph.debug_dump")?;
        shape(self.device(graph.device)?, &graph)
    }

    fn is_graph_empty(&self, graph: GraphHandle) -> Result<bool> {
        let graph = self.graphs.find(graph, "Graph.debug_dump")?;
        is_empty(self.device(graph.device)?, &graph)
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        if let Some(graph) = self.graphs.take(graph)
            && let Ok(device) = self.device(graph.device)
        {
            graphs::destroy(device, graph.pointer());
        }
    }

    fn destroy_graph_exec(&self, executable: GraphExecHandle) {
        if let Some(executable) = self.graphs.take_executable(executable)
            && let Ok(device) = self.device(executable.device)
        {
            graphs::destroy_executable(device, &executable);
        }
    }
}

//! The driver, as the rest of the crate sees it.

use once_cell::race::OnceBox;

use super::counting;
use super::device::CudaDevice;
use super::graphs;
use super::shape::{is_empty, shape};
use super::started::Started;
use super::streams::{self, capture_of};
use crate::DeviceType;
use crate::driver::{
    Address, Awaited, CaptureMode, Copy, DeviceIndex, DeviceProperties, Driver, EventHandle, EventOptions,
    ExecutableHandle, Fill, Goal, GraphHandle, GraphShape, MemoryInfo, PriorityRange, StreamHandle,
    WaitPolicy, Work,
};
use crate::{Error, Result};

/// The driver of the type [`DeviceType::Cuda`].
///
/// Streams are non-blocking: they wait for the default one as little as for each other. A device is not touched, and
/// gets no context, before something is made, asked or awaited that needs one.
#[derive(Default)]
pub(super) struct CudaDriver {
    started: OnceBox<Started>,
}

/// What a device that was used before it was started is told.
const STARTING: &str = "the accelerator";

impl CudaDriver {
    fn started(&self) -> Result<&Started> {
        let reason = || "the driver was not started".to_owned();
        self.started.get().ok_or_else(|| Error::NoAccelerator { operation: STARTING, reason: reason() })
    }

    fn device(&self, index: DeviceIndex) -> Result<&CudaDevice> {
        self.started()?.device(index)
    }

    /// That of virtual memory, which has to be there.
    fn granularity(&self, device: DeviceIndex) -> Result<usize> {
        match self.mapping_granularity(device)? {
            0 => Err(self.no_virtual_memory(device)),
            granularity => Ok(granularity),
        }
    }
}

// SAFETY: memory comes from the driver, which keeps it until it is given back (`memory.rs`, `addresses.rs`). Queued work
// owns its keeper until a place behind it is reached (`stream.rs`), and what is recorded as long as there is a graph that
// has it, or a replay of it is queued (`graphs.rs`).
unsafe impl Driver for CudaDriver {
    fn device_type(&self) -> DeviceType {
        DeviceType::Cuda
    }

    fn unavailable(&self) -> Option<String> {
        let is_started = self.started.get().is_some_and(Started::is_of_this_process);
        if is_started { None } else { counting::count().err().map(|status| status.to_string()) }
    }

    fn device_count(&self) -> u32 {
        match self.started.get() {
            Some(started) => started.devices.len() as u32,
            None => counting::count().unwrap_or(0),
        }
    }

    fn count_at_once(&self) -> Option<u32> {
        match self.started.get() {
            Some(started) if started.is_of_this_process() => Some(started.devices.len() as u32),
            _ => counting::count_at_once(),
        }
    }

    fn changed_too_late(&self) -> Option<String> {
        counting::changed_too_late()
    }

    fn start(&self) -> Result<()> {
        if let Some(started) = self.started.get() {
            let forked = Error::Forked { what: "NVIDIA's driver" };
            return if started.is_of_this_process() { Ok(()) } else { Err(forked) };
        }
        let count = counting::count_by_starting()
            .map_err(|status| Error::NoAccelerator { operation: STARTING, reason: status.to_string() })?;
        // Another thread that started it at the same time may have been first.
        let _ = self.started.set(Box::new(Started::with_devices(count)?));
        Ok(())
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

    unsafe fn release(&self, device: DeviceIndex, address: Address, _: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.device(device)?.release(address) }
    }

    fn allocate_pinned(&self, near: DeviceIndex, bytes: usize) -> Result<Address> {
        self.device(near)?.allocate_pinned(bytes)
    }

    unsafe fn release_pinned(&self, address: Address, _: usize) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.started()?.any_used_device()?.release_pinned(address) }
    }

    fn mapping_granularity(&self, device: DeviceIndex) -> Result<usize> {
        self.device(device)?.mapping_granularity()
    }

    fn reserve_addresses(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        let granularity = self.granularity(device)?;
        self.device(device)?.reserve_addresses(bytes, granularity)
    }

    unsafe fn release_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        self.granularity(device)?;
        self.device(device)?.release_addresses(address, bytes)
    }

    fn map(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let granularity = self.granularity(device)?;
        let started = self.started()?;
        let device = started.device(device)?;
        // Until the end: a device that is let reach all memory meanwhile would be without this.
        let reached_by = device.reached_by();
        let peers: Result<Vec<_>> = reached_by.iter().map(|index| started.device(*index)).collect();
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
        Ok(StreamHandle { device, native: streams::DEFAULT })
    }

    fn create_stream(&self, device: DeviceIndex, priority: i32) -> Result<StreamHandle> {
        let (started, device) = (self.started()?, self.device(device)?);
        started.streams.sweep(device, "Stream");
        Ok(started.streams.create(device, priority, "Stream")?.handle)
    }

    fn release_stream(&self, stream: StreamHandle) {
        if let (Ok(started), Ok(device)) = (self.started(), self.device(stream.device)) {
            started.streams.release(device, stream);
        }
    }

    unsafe fn adopt_stream(&self, device: DeviceIndex, native: u64) -> Result<StreamHandle> {
        self.started()?.streams.adopt(self.device(device)?, native)
    }

    fn create_event(&self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle> {
        self.started()?.events.create(self.device(device)?, options)
    }

    fn release_event(&self, event: EventHandle) {
        if let Ok(started) = self.started() {
            started.release_event(event);
        }
    }

    fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        self.started()?.record_event(event, stream)
    }

    fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        self.started()?.wait_event(stream, event)
    }

    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64> {
        let started = self.started()?;
        started.events.elapsed(self.device(start.device)?, start, end)
    }

    fn export_event(&self, event: EventHandle) -> Result<Vec<u8>> {
        self.started()?.events.export(self.device(event.device)?, event)
    }

    fn import_event(&self, device: DeviceIndex, exported: &[u8]) -> Result<EventHandle> {
        self.started()?.events.import(self.device(device)?, exported)
    }

    fn is_done(&self, awaited: Awaited) -> Result<bool> {
        self.started()?.is_done(awaited)
    }

    fn is_over(&self, event: EventHandle) -> Result<bool> {
        self.started()?.is_over(event)
    }

    fn goal(&self, awaited: Awaited) -> Result<Goal> {
        self.started()?.goal(awaited)
    }

    fn wait(&self, goal: &Goal, policy: WaitPolicy) -> Result<bool> {
        self.started()?.wait(goal, policy)
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.started()?.copy(stream, copy) }
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        // SAFETY: as the caller vouches.
        unsafe { self.started()?.fill(stream, fill) }
    }

    fn launch(&self, stream: StreamHandle, work: Work) -> Result<()> {
        self.started()?.launch(stream, work)
    }

    fn begin_capture(&self, stream: StreamHandle, mode: CaptureMode) -> Result<()> {
        self.started()?.begin_capture(stream, mode)
    }

    fn capture_of(&self, stream: StreamHandle) -> Result<Option<u64>> {
        capture_of(self.device(stream.device)?, stream, "Stream.is_capturing")
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        self.started()?.end_capture(stream)
    }

    fn instantiate(&self, graph: GraphHandle) -> Result<ExecutableHandle> {
        let started = self.started()?;
        let graph = started.graphs.find(graph, "Graph.instantiate")?;
        started.graphs.instantiate(started.device(graph.device)?, &graph)
    }

    fn replay(&self, executable: ExecutableHandle, stream: StreamHandle) -> Result<()> {
        self.started()?.replay(executable, stream)
    }

    fn shape(&self, graph: GraphHandle) -> Result<GraphShape> {
        let started = self.started()?;
        let graph = started.graphs.find(graph, "Graph.debug_dump")?;
        shape(started.device(graph.device)?, &graph)
    }

    fn is_graph_empty(&self, graph: GraphHandle) -> Result<bool> {
        let started = self.started()?;
        let graph = started.graphs.find(graph, "Graph.debug_dump")?;
        is_empty(started.device(graph.device)?, &graph)
    }

    fn release_graph(&self, graph: GraphHandle) {
        let Ok(started) = self.started() else { return };
        if let Some(graph) = started.graphs.take(graph)
            && let Ok(device) = started.device(graph.device)
        {
            graphs::destroy(device, graph.pointer());
        }
    }

    fn release_executable(&self, executable: ExecutableHandle) {
        let Ok(started) = self.started() else { return };
        if let Some(executable) = started.graphs.take_executable(executable)
            && let Ok(device) = started.device(executable.device)
        {
            graphs::destroy_executable(device, &executable);
        }
    }
}

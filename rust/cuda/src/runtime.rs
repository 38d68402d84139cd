//! The started CUDA driver.

use std::ptr;
use std::sync::{Arc, MutexGuard};

use cudarc::driver::sys::{CUresult, CUstream, CUstreamCaptureMode};

use interlock_core::base::fork;
use interlock_core::device::{Device, DeviceType};
use interlock_driver::capture::{self, CaptureId, Captures, refused};
use interlock_driver::{
    Address, CaptureMode, Copy, CopyEndpoint, DeviceIndex, DeviceProperties, DriverRuntime, Error,
    EventHandle, EventOptions, Fill, GraphDump, GraphExecHandle, GraphHandle, HostFn, MemoryInfo, Owners,
    PriorityRange, Result, StreamHandle, SyncPoint, TimelinePoint, WaitPoint, WaitPolicy, WaitTarget,
};

use super::device::device::{CudaDevice, DeviceOp};
use super::device::device_sync::DeviceSync;
use super::device::properties;
use super::graph::capture::{CaptureTable, GraphResources};
use super::graph::dump;
use super::graph::graph::{self, GraphTable};
use super::graph::submission::Submission;
use super::memory::alloc;
use super::memory::pinned::{self, PinnedRanges};
use super::memory::virtual_memory::VirtualMemory;
use super::stream::event::{EventTable, RecordedAt};
use super::stream::host_fn::{ErrorSink, HostFnCall};
use super::stream::progress::AsyncError;
use super::stream::stream::{DEFAULT, INVALIDATED_CAPTURE, Stream};
use super::stream::stream_semaphore::{Semaphore, SemaphorePool};
use super::stream::submit::{self, PeerContexts};
use super::stream::sync::{self, SideStreams};
use super::stream::table::{self, StreamTable};
use super::sys::api;
use super::sys::error::{Code, check};

const COPY: &str = "a copy";
const FILL: &str = "a fill";
const LAUNCH: &str = "Stream.launch";
const RECORD: &str = "Event.record";
const WAIT_EVENT: &str = "Stream.wait_event";
const BEGIN_CAPTURE: &str = "Graph.capture_begin";
const END_CAPTURE: &str = "Graph.capture_end";
const REPLAY: &str = "Graph.replay";
const DUMP: &str = "Graph.debug_dump";
const CREATE_STREAM: &str = "Stream";
const IS_CAPTURING: &str = "Stream.is_capturing";
const QUERY_STREAM: &str = "Stream.query";
const SYNC_STREAM: &str = "Stream.synchronize";
const QUERY_EVENT: &str = "Event.query";
const SYNC_EVENT: &str = "Event.synchronize";
const SYNC_DEVICE: &str = "accelerator.synchronize";

/// The devices of the driver and all objects that were created on them.
pub(crate) struct CudaRuntime {
    /// The fork generation of the process that started the driver.
    generation: u32,
    devices: Vec<DeviceState>,
    streams: StreamTable,
    events: EventTable,
    captures: CaptureTable,
    graphs: GraphTable,
    pinned_ranges: PinnedRanges,
}

/// A device, its virtual memory, semaphores and synchronization.
struct DeviceState {
    device: Arc<CudaDevice>,
    virtual_memory: VirtualMemory,
    semaphores: Arc<SemaphorePool>,
    sync: DeviceSync,
    side_streams: SideStreams,
}

impl DeviceState {
    fn new(device: Arc<CudaDevice>) -> Self {
        let virtual_memory = VirtualMemory::new(device.clone());
        DeviceState {
            device,
            virtual_memory,
            semaphores: Arc::default(),
            sync: DeviceSync::default(),
            side_streams: SideStreams::default(),
        }
    }
}

impl CudaRuntime {
    pub(crate) fn new(count: u32) -> Result<Self> {
        let count = DeviceIndex::try_from(count).unwrap_or(DeviceIndex::MAX);
        let devices: Result<Vec<_>> = (0..count).map(|index| CudaDevice::new(index).map(Arc::new)).collect();
        let devices = devices?;
        Ok(CudaRuntime {
            generation: fork::generation(),
            streams: StreamTable::new(&devices),
            devices: devices.into_iter().map(DeviceState::new).collect(),
            events: EventTable::default(),
            captures: CaptureTable::default(),
            graphs: GraphTable::default(),
            pinned_ranges: PinnedRanges::default(),
        })
    }

    /// Returns whether this process started the driver.
    pub(crate) fn is_current_process(&self) -> bool {
        self.generation == fork::generation()
    }

    fn state(&self, index: DeviceIndex) -> Result<&DeviceState> {
        let state = self.devices.get(usize::from(index));
        state.ok_or_else(|| Error::from(Device::invalid_index(index)))
    }

    fn device(&self, index: DeviceIndex) -> Result<&Arc<CudaDevice>> {
        self.state(index).map(|state| &state.device)
    }

    /// Returns a device with a context, preferably one that is not poisoned; the first device if none has a context.
    fn any_used_device(&self) -> Result<&Arc<CudaDevice>> {
        let used = || self.devices.iter().map(|state| &state.device).filter(|device| device.has_context());
        let usable = used().find(|device| !device.is_poisoned()).or_else(|| used().next());
        usable.map_or_else(|| self.device(0), Ok)
    }

    /// Returns the virtual memory of a device and its mapping granularity.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] if the device does not support virtual memory.
    fn virtual_memory(&self, device: DeviceIndex) -> Result<(&VirtualMemory, usize)> {
        let memory = &self.state(device)?.virtual_memory;
        match memory.granularity()? {
            0 => Err(self.unsupported("virtual memory", device)),
            granularity => Ok((memory, granularity)),
        }
    }

    fn captures(&self) -> MutexGuard<'_, Captures<GraphResources>> {
        self.captures.lock()
    }

    /// Begins to queue work on a stream.
    fn submit<'a>(
        &'a self,
        op: &'a DeviceOp<'a>,
        stream: &'a Stream,
        operation: &'static str,
    ) -> Result<Submission<'a>> {
        Submission::begin(op, stream, &self.captures, operation)
    }

    /// Returns whether the driver may wait for the stream of a copy before it returns, because it does not know that
    /// host memory is pinned.
    fn may_block(&self, copy: &Copy) -> bool {
        let is_pageable = |endpoint| matches!(endpoint, CopyEndpoint::Host(address) if !self.pinned_ranges.contains(address));
        is_pageable(copy.to) || is_pageable(copy.from)
    }

    /// Queues a copy. If it is `awaited`, a capture of the stream refuses it.
    ///
    /// # Safety
    /// The contract of [`DriverRuntime::copy`].
    unsafe fn queue_copy(&self, stream: StreamHandle, mut copy: Copy, awaited: bool) -> Result<()> {
        let stream = self.streams.find(stream, COPY)?;
        let (blocks, peers) = (self.may_block(&copy), submit::peers(&copy));
        let device = stream.device();
        // Otherwise it only queues work.
        let calls_others = blocks || peers.is_some();
        let op = if calls_others { device.begin(COPY) } else { device.begin_on_stream(COPY) }?;
        let owners = std::mem::take(&mut copy.owners);
        let begin = || {
            let submission = self.submit(&op, &stream, COPY)?;
            let is_refused = awaited && submission.capture().is_some();
            if is_refused { Err(capture::err_awaited(COPY)) } else { Ok(submission) }
        };
        if copy.bytes == 0 {
            return begin().map(drop);
        }
        let peers = match peers {
            Some((to, from)) => Some(self.enable_peer_access_both(to, from)?),
            None => None,
        };
        // SAFETY: the caller guarantees valid operands, which `owners` keep alive as long as the copy requires.
        let queue = |on| unsafe { submit::copy(&copy, peers, on) };
        if !blocks {
            return begin()?.queue(owners, queue);
        }
        if awaited {
            drop(begin()?);
        }
        self.copy_blocking(&op, &stream, owners, queue)
    }

    /// Queues a copy during which the driver may wait for the stream, and so for host functions that queue work on it.
    /// The copy is therefore queued on a side stream, without the submit lock of `stream`. The side stream waits for the
    /// work of `stream`, and later work of `stream` waits for the copy.
    fn copy_blocking(
        &self,
        op: &DeviceOp<'_>,
        stream: &Stream,
        owners: Owners,
        queue: impl FnOnce(CUstream) -> CUresult,
    ) -> Result<()> {
        let side_streams = &self.state(op.device().index())?.side_streams;
        let side = side_streams.take(&self.streams, op, COPY)?;
        let copied = self.copy_on_side(op, (stream, &side), owners, queue);
        match copied {
            Ok(()) => side_streams.put_back(side),
            // It may have queued a wait that no point signals.
            Err(_) => self.streams.destroy(side.handle()),
        }
        copied
    }

    fn copy_on_side(
        &self,
        op: &DeviceOp<'_>,
        (stream, side): (&Stream, &Stream),
        owners: Owners,
        queue: impl FnOnce(CUstream) -> CUresult,
    ) -> Result<()> {
        let [before, after] = [stream.acquire_event(op)?, stream.acquire_event(op)?];
        let submission = self.submit(op, stream, COPY)?;
        if submission.capture().is_some() {
            // Recorded without waiting.
            return submission.queue(owners, queue);
        }
        submission.queue(Owners::default(), |on| before.record(on))?;
        op.check(before.enqueue_wait(side.raw()))?;
        op.check(queue(side.raw()))?;
        let joined = op
            .check(after.record(side.raw()))
            .and_then(|()| self.submit(op, stream, COPY))
            .and_then(|submission| match submission.capture() {
                None => submission.queue(owners.clone(), |on| after.enqueue_wait(on)),
                Some(_) => Err(refused(COPY, "the stream captures")),
            });
        if joined.is_ok() {
            // Other waits do not use the side stream before the copy has completed.
            side.signal_at(after);
            return Ok(());
        }
        // The copy is queued, so it completes here.
        // SAFETY: the stream is alive.
        let waited = op.check(unsafe { api::cuStreamSynchronize(side.raw()) });
        if let Err(error) = waited {
            // Leaked: the completion of the copy can't be detected.
            std::mem::forget(owners);
            stream.store_error(AsyncError::new(stream.next_point(), error));
        }
        Ok(())
    }

    /// Enables peer access between two devices in both directions, if they support it. Without peer access the driver
    /// copies through host memory.
    fn enable_peer_access_both(&self, to: DeviceIndex, from: DeviceIndex) -> Result<PeerContexts> {
        let (to, from) = (self.state(to)?, self.state(from)?);
        from.virtual_memory.enable_peer(&to.device, COPY)?;
        to.virtual_memory.enable_peer(&from.device, COPY)?;
        Ok(PeerContexts { to: to.device.context(COPY)?, from: from.device.context(COPY)? })
    }

    /// Refuses to wait for a stream that captures; its capture is then invalidated.
    fn check_stream_sync(&self, op: &DeviceOp<'_>, stream: &Stream, operation: &'static str) -> Result<()> {
        match stream.capture_id(op)? {
            Some(id) => Err(self.captures().refuse_stream_sync(id, operation)),
            None => Ok(()),
        }
    }

    /// Refuses to wait for an event of a capture; the capture is then invalidated.
    fn check_event_sync(&self, recorded_at: RecordedAt, operation: &'static str) -> Result<()> {
        match recorded_at {
            RecordedAt::InCapture(id) => Err(self.captures().refuse_event_sync(id, operation)),
            _ => Ok(()),
        }
    }

    fn check_stream(&self, handle: StreamHandle) -> Result<bool> {
        let stream = self.streams.find(handle, QUERY_STREAM)?;
        let op = stream.device().begin(QUERY_STREAM)?;
        self.check_stream_sync(&op, &stream, QUERY_STREAM)?;
        let is_idle = stream.query(&op)?;
        stream.take_error(stream.submitted())?;
        Ok(is_idle)
    }

    fn check_event(&self, handle: EventHandle) -> Result<bool> {
        let event = self.events.find(handle, QUERY_EVENT)?;
        let (op, has_completed, recorded_at) = {
            let record = event.recorded_at();
            let recorded_at = *record;
            self.check_event_sync(recorded_at, QUERY_EVENT)?;
            if recorded_at == RecordedAt::Never {
                return Ok(true);
            }
            let op = event.device().begin(QUERY_EVENT)?;
            let has_completed = event.query(&op)?;
            (op, has_completed, recorded_at)
        };
        if let RecordedAt::InStream(point) = recorded_at {
            sync::poll_and_report(&self.streams, &op, point)?;
        }
        Ok(has_completed)
    }

    fn check_device(&self, index: DeviceIndex) -> Result<bool> {
        let device = self.device(index)?;
        self.captures().check_sync_allowed(SYNC_DEVICE)?;
        if !device.is_used() || self.streams.of_device(index).is_empty() {
            return Ok(true);
        }
        let op = device.begin(SYNC_DEVICE)?;
        let is_idle = sync::is_device_idle(&self.streams, &op)?;
        sync::report_device(&self.streams, device)?;
        Ok(is_idle)
    }

    fn points_of_stream(&self, handle: StreamHandle) -> Result<Vec<WaitPoint>> {
        let stream = self.streams.find(handle, SYNC_STREAM)?;
        let op = stream.device().begin(SYNC_STREAM)?;
        let position = stream.signal(&op)?;
        let position =
            position.map_err(|capture| self.captures().refuse_stream_sync(capture, SYNC_STREAM))?;
        Ok(vec![WaitPoint::InStream(TimelinePoint { stream: stream.id(), position })])
    }

    /// Returns a point after the last record of an event, then the point of the record if this process recorded it,
    /// which reports errors.
    fn points_of_event(&self, handle: EventHandle) -> Result<Vec<WaitPoint>> {
        let event = self.events.find(handle, SYNC_EVENT)?;
        let recorded_at = event.recorded_at();
        self.check_event_sync(*recorded_at, SYNC_EVENT)?;
        let reports = match *recorded_at {
            RecordedAt::InStream(point) => Some(WaitPoint::InStream(point)),
            RecordedAt::InOtherProcess => None,
            RecordedAt::Never | RecordedAt::InCapture(_) => return Ok(Vec::new()),
        };
        let op = event.device().begin(SYNC_EVENT)?;
        let awaited = match event.query(&op)? {
            true => WaitPoint::Completed,
            false => {
                let side_streams = &self.state(event.device().index())?.side_streams;
                WaitPoint::InStream(side_streams.point_after(&self.streams, &op, &event, SYNC_EVENT)?)
            }
        };
        Ok(std::iter::once(awaited).chain(reports).collect())
    }

    /// Returns the ticket of a `cuCtxSynchronize`, or the points after all work of the device's streams.
    fn points_of_device(&self, index: DeviceIndex) -> Result<Vec<WaitPoint>> {
        let DeviceState { device, sync, .. } = self.state(index)?;
        self.captures().check_sync_allowed(SYNC_DEVICE)?;
        if !device.is_used() {
            return Ok(Vec::new());
        }
        if self.captures().count() == 0 {
            return Ok(vec![WaitPoint::OfDevice { ticket: sync.begin(device.context(SYNC_DEVICE)?) }]);
        }
        // The driver refuses `cuCtxSynchronize` while a stream of the device captures. The wait then covers the streams
        // of this process's table, not the work of other libraries.
        sync::points_of_device(&self.streams, &device.begin(SYNC_DEVICE)?)
    }

    /// Waits for a point and reports the errors that `reports` cover.
    fn wait_for_point(
        &self,
        op: &DeviceOp<'_>,
        point: WaitPoint,
        reports: &[WaitPoint],
        policy: WaitPolicy,
    ) -> Result<bool> {
        if !sync::wait(&self.streams, op, &[point], policy)? {
            return Ok(false);
        }
        let mut reports = reports.iter().filter_map(|point| point.in_stream());
        reports.try_for_each(|point| sync::poll_and_report(&self.streams, op, point))?;
        Ok(true)
    }

    fn wait_for_device(&self, index: DeviceIndex, points: &[WaitPoint], policy: WaitPolicy) -> Result<bool> {
        let DeviceState { device, sync, .. } = self.state(index)?;
        let has_completed = match points {
            [WaitPoint::OfDevice { ticket }] => {
                sync.wait(*ticket, policy).map_err(|code| device.error(SYNC_DEVICE, code))?
            }
            points => sync::wait(&self.streams, &device.begin(SYNC_DEVICE)?, points, policy)?,
        };
        if !has_completed {
            return Ok(false);
        }
        let streams = self.streams.of_device(index);
        if !streams.is_empty() {
            let op = device.begin(SYNC_DEVICE)?;
            streams.iter().try_for_each(|stream| stream.poll(&op))?;
        }
        sync::report_device(&self.streams, device)?;
        self.streams.reap(device, SYNC_DEVICE);
        Ok(true)
    }
}

// SAFETY: the driver allocates memory and keeps it until it is freed (`memory/`). Queued work owns its owners until a
// point after it has completed (`stream/progress.rs`). A graph and its queued replays own the owners of recorded work
// (`graph/submission.rs`, `graph/graph.rs`). No capture of a stream begins or ends between the selection of the owners
// and the submission.
unsafe impl DriverRuntime for CudaRuntime {
    fn device_type(&self) -> DeviceType {
        DeviceType::Cuda
    }

    fn device_count(&self) -> u32 {
        self.devices.len() as u32
    }

    fn has_context(&self, device: DeviceIndex) -> bool {
        self.device(device).is_ok_and(|device| device.is_used())
    }

    fn properties(&self, device: DeviceIndex) -> Result<DeviceProperties> {
        properties::properties(self.device(device)?)
    }

    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo> {
        alloc::memory_info(self.device(device)?)
    }

    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        alloc::allocate(self.device(device)?, bytes)
    }

    unsafe fn free(&self, device: DeviceIndex, address: Address, _: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract of `free`.
        unsafe { alloc::free(self.device(device)?, address) }
    }

    fn check_not_lost(&self, device: DeviceIndex, operation: &'static str) -> Result<()> {
        self.device(device)?.lost_error(operation).map_or(Ok(()), Err)
    }

    fn allocate_pinned(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        let address = pinned::allocate_pinned(self.device(device)?, bytes)?;
        self.pinned_ranges.add(address, bytes);
        Ok(address)
    }

    unsafe fn free_pinned(&self, address: Address, _: usize) -> Result<()> {
        self.pinned_ranges.remove(address);
        // SAFETY: the caller upholds the contract of `free_pinned`.
        unsafe { pinned::free_pinned(self.any_used_device()?, address) }
    }

    fn mapping_granularity(&self, device: DeviceIndex) -> Result<usize> {
        self.state(device)?.virtual_memory.granularity()
    }

    fn reserve_addresses(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        let (memory, granularity) = self.virtual_memory(device)?;
        memory.reserve(bytes, granularity)
    }

    unsafe fn free_addresses(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        self.virtual_memory(device)?.0.free(address, bytes)
    }

    fn map(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        let (memory, granularity) = self.virtual_memory(device)?;
        memory.map(address, bytes, granularity)
    }

    unsafe fn unmap(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract of `unmap`.
        unsafe { self.virtual_memory(device)?.0.unmap(address, bytes) }
    }

    fn priority_range(&self, device: DeviceIndex) -> Result<PriorityRange> {
        table::priority_range(self.device(device)?)
    }

    fn default_stream(&self, device: DeviceIndex) -> Result<StreamHandle> {
        Ok(StreamHandle { device, raw: DEFAULT })
    }

    fn create_stream(&self, device: DeviceIndex, priority: i32) -> Result<StreamHandle> {
        let device = self.device(device)?;
        self.streams.reap(device, CREATE_STREAM);
        Ok(self.streams.create(device, priority, CREATE_STREAM)?.handle())
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        self.streams.destroy(stream);
    }

    unsafe fn wrap_external_stream(&self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        self.streams.wrap_external(self.device(device)?, raw)
    }

    fn create_event(&self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle> {
        self.events.create(self.device(device)?, options)
    }

    fn destroy_event(&self, event: EventHandle) {
        // The driver's event is destroyed with the last reference to it.
        drop(self.events.remove(event));
    }

    fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        let (event, stream) = (self.events.find(event, RECORD)?, self.streams.find(stream, RECORD)?);
        let op = stream.device().begin_on_stream(RECORD)?;
        let mut record = event.recorded_at();
        let submission = self.submit(&op, &stream, RECORD)?;
        let recorded_at = match submission.capture() {
            Some(id) => RecordedAt::InCapture(id),
            None => RecordedAt::InStream(TimelinePoint { stream: stream.id(), position: stream.submitted() }),
        };
        // SAFETY: the event and the stream are alive.
        submission.queue(Owners::default(), |on| unsafe { api::cuEventRecord(event.raw(), on) })?;
        *record = recorded_at;
        Ok(())
    }

    fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        let (event, stream) = (self.events.find(event, WAIT_EVENT)?, self.streams.find(stream, WAIT_EVENT)?);
        // Locked until the wait is queued, so that it is for this record.
        let record = event.recorded_at();
        let recorded_in = match *record {
            RecordedAt::Never => return Ok(()),
            RecordedAt::InCapture(id) => Some(id),
            RecordedAt::InStream(_) | RecordedAt::InOtherProcess => None,
        };
        let op = stream.device().begin_on_stream(WAIT_EVENT)?;
        let mut submission = match recorded_in {
            Some(_) => Submission::begin_join(&op, &stream, &self.captures, WAIT_EVENT)?,
            None => self.submit(&op, &stream, WAIT_EVENT)?,
        };
        submission.check_wait(recorded_in, WAIT_EVENT)?;
        // SAFETY: the event and the stream are alive.
        submission.queue(Owners::default(), |on| unsafe { api::cuStreamWaitEvent(on, event.raw(), 0) })
    }

    fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64> {
        self.events.elapsed(start, end)
    }

    fn export_event(&self, event: EventHandle) -> Result<Vec<u8>> {
        self.events.export(event)
    }

    fn import_event(&self, device: DeviceIndex, exported: &[u8]) -> Result<EventHandle> {
        self.events.import(self.device(device)?, exported)
    }

    fn check(&self, target: WaitTarget) -> Result<bool> {
        match target {
            WaitTarget::Stream(stream) => self.check_stream(stream),
            WaitTarget::Event(event) => self.check_event(event),
            WaitTarget::Device(index) => self.check_device(index),
        }
    }

    fn has_completed(&self, event: EventHandle) -> Result<bool> {
        let event = self.events.find(event, QUERY_EVENT)?;
        let recorded_at = event.recorded_at();
        match *recorded_at {
            RecordedAt::Never => Ok(true),
            RecordedAt::InCapture(_) => Ok(false),
            RecordedAt::InStream(_) | RecordedAt::InOtherProcess => {
                event.query(&event.device().begin(QUERY_EVENT)?)
            }
        }
    }

    fn sync_point(&self, target: WaitTarget) -> Result<SyncPoint> {
        let points = match target {
            WaitTarget::Stream(stream) => self.points_of_stream(stream)?,
            WaitTarget::Event(event) => self.points_of_event(event)?,
            WaitTarget::Device(index) => self.points_of_device(index)?,
        };
        Ok(SyncPoint::new(target, points))
    }

    fn wait(&self, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
        match (sync_point.target, sync_point.points.as_slice()) {
            (_, []) => Ok(true),
            (WaitTarget::Device(index), points) => self.wait_for_device(index, points, policy),
            (WaitTarget::Stream(handle), [point, ..]) => {
                let op = self.device(handle.device)?.begin(SYNC_STREAM)?;
                self.wait_for_point(&op, *point, &[*point], policy)
            }
            (WaitTarget::Event(handle), [awaited, reports @ ..]) => {
                let op = self.device(handle.device)?.begin(SYNC_EVENT)?;
                self.wait_for_point(&op, *awaited, reports, policy)
            }
        }
    }

    unsafe fn copy(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        // SAFETY: the caller upholds the contract of `copy`.
        unsafe { self.queue_copy(stream, copy, false) }
    }

    unsafe fn copy_awaited(&self, stream: StreamHandle, copy: Copy) -> Result<()> {
        // SAFETY: the caller upholds the contract of `copy_awaited`.
        unsafe { self.queue_copy(stream, copy, true) }
    }

    unsafe fn fill(&self, stream: StreamHandle, fill: Fill) -> Result<()> {
        let stream = self.streams.find(stream, FILL)?;
        let op = stream.device().begin_on_stream(FILL)?;
        let Fill { address, bytes, value, owners } = fill;
        let submission = self.submit(&op, &stream, FILL)?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller guarantees valid memory, which `owners` keep alive as long as the fill requires.
        submission.queue(owners, |on| unsafe { api::cuMemsetD8Async(address.0, value, bytes, on) })
    }

    fn launch_host_fn(&self, stream: StreamHandle, mut function: HostFn) -> Result<()> {
        let stream = self.streams.find(stream, LAUNCH)?;
        let op = stream.device().begin_on_stream(LAUNCH)?;
        let owners = std::mem::take(&mut function.owners);
        // Without the submit lock: the first semaphores are allocated, which may wait for queued work.
        let semaphore = Semaphore::acquire(&self.state(op.device().index())?.semaphores, &op)?;
        let mut submission = self.submit(&op, &stream, LAUNCH)?;
        let (errors, semaphore) = match submission.replays() {
            // A semaphore would have to be reset before each replay, so the driver's thread waits instead.
            Some(replays) => (ErrorSink::Replay(replays), None),
            None => {
                let progress = Arc::downgrade(stream.progress());
                (ErrorSink::Stream(progress, stream.next_point()), semaphore.map(Arc::new))
            }
        };
        let call = Arc::new(HostFnCall::new(function, op.device().device_id(), errors, semaphore));
        submission.queue(Owners::until_completed(call.clone()).and(owners), |on| call.enqueue(on))
    }

    fn begin_capture(&self, stream: StreamHandle, mode: CaptureMode) -> Result<CaptureId> {
        let stream = self.streams.find(stream, BEGIN_CAPTURE)?;
        capture::check_begin(stream.is_default(), None, BEGIN_CAPTURE)?;
        let op = stream.device().begin(BEGIN_CAPTURE)?;
        let _submit = stream.lock_submit();
        capture::check_begin(stream.is_default(), stream.capture_id(&op)?, BEGIN_CAPTURE)?;
        let raw_mode = match mode {
            CaptureMode::Global => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            CaptureMode::ThreadLocal => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            CaptureMode::Relaxed => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        };
        // SAFETY: the stream is alive.
        op.check(unsafe { api::cuStreamBeginCapture_v2(stream.raw(), raw_mode) })?;
        let error = match stream.capture_id(&op) {
            Ok(Some(INVALIDATED_CAPTURE)) => refused(BEGIN_CAPTURE, "another thread invalidated the capture"),
            Ok(Some(id)) => {
                self.captures.begin(id, stream.handle(), mode);
                return Ok(id);
            }
            Ok(None) => refused(BEGIN_CAPTURE, "another library ended the capture"),
            Err(error) => error,
        };
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is alive and the pointer valid.
        let _ = op.check(unsafe { api::cuStreamEndCapture(stream.raw(), &raw mut graph) });
        if !graph.is_null() {
            graph::destroy(stream.device(), graph);
        }
        Err(error)
    }

    fn capture_id(&self, stream: StreamHandle) -> Result<Option<u64>> {
        let stream = self.streams.find(stream, IS_CAPTURING)?;
        if stream.is_default() {
            return Ok(None);
        }
        stream.capture_id(&stream.device().begin_on_stream(IS_CAPTURING)?)
    }

    fn end_capture(&self, stream: StreamHandle) -> Result<GraphHandle> {
        let stream = self.streams.find(stream, END_CAPTURE)?;
        let op = stream.device().begin(END_CAPTURE);
        let submit = stream.lock_submit();
        let mut captures = self.captures();
        // The driver does not report the id of an invalidated capture.
        let current = op.as_ref().map_err(Error::clone).and_then(|op| stream.capture_id(op));
        let id = captures.check_end(stream.handle(), || current.clone(), END_CAPTURE)?;
        if matches!(current, Ok(Some(_))) {
            captures.check_end_thread(id, END_CAPTURE)?;
        }
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is alive and the pointer valid.
        let ended =
            op.as_ref().map(|_| check(unsafe { api::cuStreamEndCapture(stream.raw(), &raw mut graph) }));
        // The capture ends, even if the driver returns an error.
        let content = captures.end(id);
        // The owners are dropped without the locks.
        drop((captures, submit));
        let (mut resources, invalidated_by) =
            content.map_or((None, None), |ended| (Some(ended.content), ended.invalidated_by));
        let ended = ended.map_err(Error::clone)?;
        let op = op?;
        if ended == Err(Code::ILLEGAL_STATE)
            && let Some(resources) = resources.take()
        {
            resources.leak();
        }
        let failed = match (ended, invalidated_by) {
            (_, Some(reason)) => Some(capture::err_invalidated(END_CAPTURE, &reason)),
            (Err(code), None) => Some(op.error(code)),
            (Ok(()), None) => None,
        };
        let Some(error) = failed else {
            return Ok(self.graphs.add(stream.device(), graph, resources.unwrap_or_default()));
        };
        if !graph.is_null() {
            graph::destroy(stream.device(), graph);
        }
        Err(error)
    }

    fn instantiate(&self, graph: GraphHandle) -> Result<GraphExecHandle> {
        self.graphs.instantiate(graph)
    }

    fn replay(&self, executable: GraphExecHandle, stream: StreamHandle) -> Result<()> {
        let executable = self.graphs.find_exec(executable)?;
        let stream = self.streams.find(stream, REPLAY)?;
        let op = stream.device().begin(REPLAY)?;
        let submission = self.submit(&op, &stream, REPLAY)?;
        if submission.capture().is_some() {
            return Err(refused(REPLAY, "the stream captures, and no graph can be part of another one"));
        }
        executable.replay(&op, &stream, submission)
    }

    fn describe_graph(&self, graph: GraphHandle) -> Result<GraphDump> {
        dump::describe(&*self.graphs.find(graph, DUMP)?)
    }

    fn is_graph_empty(&self, graph: GraphHandle) -> Result<bool> {
        dump::is_empty(&*self.graphs.find(graph, DUMP)?)
    }

    fn destroy_graph(&self, graph: GraphHandle) {
        self.graphs.destroy(graph);
    }

    fn destroy_graph_exec(&self, executable: GraphExecHandle) {
        self.graphs.destroy_exec(executable);
    }
}

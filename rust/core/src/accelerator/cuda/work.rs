//! Work in the order of streams, and captures of it.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUresult, CUstream, CUstreamCaptureMode};

use super::api;
use super::copies::{COPY, FILL, stays_on_its_device};
use super::errors::{Code, check};
use super::events::{Event, EventState, Marked};
use super::functions::{self, Function, ToldBy};
use super::gates::Gate;
use super::graphs::{self, Contents};
use super::runtime::CudaRuntime;
use super::stream::{Alone, Stream};
use super::streams::{capture_id, is_default};
use crate::Result;
use crate::accelerator::driver::capture::{self, refused};
use crate::accelerator::driver::{
    CaptureMode, Copy, EventHandle, Fill, GraphExecHandle, GraphHandle, HostFn, KeepAlive, StreamHandle,
};

const LAUNCH: &str = "Stream.launch";
const RECORD: &str = "Event.record";
const WAIT_EVENT: &str = "Stream.wait_event";
const BEGIN: &str = "Graph.capture_begin";
const END: &str = "Graph.capture_end";

impl CudaRuntime {
    /// The capture into which work on a stream is recorded. Fails where it can't be repeated any more.
    fn open_capture(&self, handle: StreamHandle, operation: &'static str) -> Result<Option<u64>> {
        let capture = capture_id(self.device(handle.device)?, handle, operation)?;
        capture.map_or(Ok(()), |number| self.captures().check_valid(number, operation))?;
        Ok(capture)
    }

    /// Queues work, and keeps what it reaches until it has been done, or as long as a graph has it. Nobody else queues
    /// anything on the stream until `act` lets go of what it is given.
    fn queue(
        &self,
        stream: &Stream,
        capture: Option<u64>,
        operation: &'static str,
        keep_alive: Option<KeepAlive>,
        act: impl FnOnce(CUstream, Alone<'_>) -> Result<CUresult>,
    ) -> Result<()> {
        let device = self.device(stream.handle.device)?;
        {
            let _bound = device.bind(operation)?;
            device.check(operation, act(stream.pointer(), stream.alone())?)?;
        }
        match (capture, keep_alive) {
            (_, None) => Ok(()),
            (Some(number), Some(keep_alive)) => {
                self.capture_table.keep(number, keep_alive);
                Ok(())
            }
            (None, Some(keep_alive)) => stream.keep(device, operation, keep_alive),
        }
    }

    /// # Safety
    /// As for [`Driver::copy`](crate::accelerator::driver::Driver::copy).
    pub(super) unsafe fn copy(&self, handle: StreamHandle, copy: Copy) -> Result<()> {
        let stream = self.streams.find(handle, COPY)?;
        let capture = self.open_capture(handle, COPY)?;
        if copy.bytes == 0 {
            return Ok(());
        }
        let act = |on, alone: Alone<'_>| {
            // For memory that is not pinned the driver waits for the stream, and so for functions that queue more there.
            if !stays_on_its_device(&copy) {
                drop(alone);
            }
            // SAFETY: as the caller vouches; the keeper stays until the copy has been done.
            unsafe { self.queue_copy(&copy, on) }
        };
        self.queue(&stream, capture, COPY, copy.keep_alive.clone(), act)
    }

    /// # Safety
    /// As for [`Driver::fill`](crate::accelerator::driver::Driver::fill).
    pub(super) unsafe fn fill(&self, handle: StreamHandle, fill: Fill) -> Result<()> {
        let stream = self.streams.find(handle, FILL)?;
        let capture = self.open_capture(handle, FILL)?;
        if fill.bytes == 0 {
            return Ok(());
        }
        // SAFETY: as the caller vouches; the keeper stays until the fill has been done.
        let act = |on, _alone: Alone<'_>| Ok(unsafe { self.queue_fill(&fill, on) });
        self.queue(&stream, capture, FILL, fill.keep_alive.clone(), act)
    }

    pub(super) fn launch(&self, handle: StreamHandle, work: HostFn) -> Result<()> {
        let (stream, device) = (self.streams.find(handle, LAUNCH)?, self.device(handle.device)?);
        let capture = self.open_capture(handle, LAUNCH)?;
        let (told_by, gate) = match capture {
            // A gate would have to be closed again before each replay.
            Some(number) => (ToldBy::Replay(self.capture_table.runs(number)), None),
            None => {
                let _bound = device.bind(LAUNCH)?;
                let gate = Gate::taken(device, LAUNCH, stream.pointer())?;
                (ToldBy::Stream(Arc::downgrade(&stream), stream.next()), gate)
            }
        };
        let gate = gate.map(Arc::new);
        let function = Arc::new(Function { work, device: device.named(), told_by, gate: gate.clone() });
        let act = |on, _alone: Alone<'_>| {
            // SAFETY: what the function is given is kept until it has been called for the last time.
            let queued = unsafe { api::cuLaunchHostFunc(on, Some(functions::call), function.data()) };
            let (Some(gate), Ok(())) = (gate, check(queued)) else { return Ok(queued) };
            let held_back = gate.hold_back(on);
            if check(held_back).is_err() {
                // The function is queued all the same, and nobody will know when it has been called.
                std::mem::forget(function.clone());
            }
            Ok(held_back)
        };
        self.queue(&stream, capture, LAUNCH, Some(function.clone()), act)
    }

    pub(super) fn record_event(&self, event: EventHandle, handle: StreamHandle) -> Result<()> {
        let (event, stream) = (self.events.find(event, RECORD)?, self.streams.find(handle, RECORD)?);
        let device = self.device(handle.device)?;
        let capture = self.open_capture(handle, RECORD)?;
        let mut state = event.state();
        self.supersede(&event, &state)?;
        // SAFETY: the event and the stream are alive.
        stream.call(device, RECORD, |on| unsafe { api::cuEventRecord(event.pointer(), on) })?;
        let marked = match capture {
            Some(number) => Marked::InCapture(number),
            None => Marked::InStream { stream: stream.number, place: stream.queued() },
        };
        *state = EventState { marked, record: self.events.next_record(), is_awaited: false };
        Ok(())
    }

    /// Who waits for what an event marks goes on to do so when it marks something else, or is let go.
    pub(super) fn supersede(&self, event: &Event, state: &EventState) -> Result<()> {
        let device = self.device(event.handle.device)?;
        if !state.is_awaited || event.is_ready(device, RECORD)? {
            return Ok(());
        }
        let waits = self.streams.create(device, 0, RECORD)?;
        // SAFETY: the event and the stream are alive.
        let held_back =
            waits.call(device, RECORD, |on| unsafe { api::cuStreamWaitEvent(on, event.pointer(), 0) });
        let place = held_back.and_then(|()| waits.mark(device, RECORD));
        self.streams.release(device, waits.handle);
        self.superseded.insert(state.record, waits.number, place?);
        Ok(())
    }

    pub(super) fn destroy_event(&self, handle: EventHandle) {
        let Some(event) = self.events.remove(handle) else { return };
        {
            let mut state = event.state();
            // That it fails concerns a device that is of no use any more.
            let _ = self.supersede(&event, &state);
            // Who has found the event before does not ask the driver for it any more.
            let record = self.events.next_record();
            *state = EventState { marked: Marked::Nothing, record, is_awaited: false };
        }
        if let Ok(device) = self.device(handle.device) {
            // SAFETY: nobody can name the event any more.
            let _ = device.call("an Event that goes", || unsafe { api::cuEventDestroy_v2(event.pointer()) });
        }
    }

    pub(super) fn wait_event(&self, handle: StreamHandle, event: EventHandle) -> Result<()> {
        let (event, stream) = (self.events.find(event, WAIT_EVENT)?, self.streams.find(handle, WAIT_EVENT)?);
        let device = self.device(handle.device)?;
        let marked = event.state().marked;
        if marked == Marked::Nothing {
            return Ok(());
        }
        self.check_may_wait(handle, marked)?;
        // SAFETY: the event and the stream are alive.
        stream.call(device, WAIT_EVENT, |on| unsafe { api::cuStreamWaitEvent(on, event.pointer(), 0) })
    }

    /// Fails where the driver would invalidate a capture if a stream waited.
    fn check_may_wait(&self, handle: StreamHandle, marked: Marked) -> Result<()> {
        let own = self.open_capture(handle, WAIT_EVENT)?;
        let recorded_in = match marked {
            Marked::InCapture(id) => Some(id),
            Marked::Nothing | Marked::InStream { .. } | Marked::Elsewhere => None,
        };
        self.captures().check_wait(own, is_default(handle), recorded_in, WAIT_EVENT)
    }

    pub(super) fn begin_capture(&self, handle: StreamHandle, mode: CaptureMode) -> Result<()> {
        let (stream, device) = (self.streams.find(handle, BEGIN)?, self.device(handle.device)?);
        capture::check_begin(is_default(handle), capture_id(device, handle, BEGIN)?, BEGIN)?;
        let raw = match mode {
            CaptureMode::Global => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            CaptureMode::ThreadLocal => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            CaptureMode::Relaxed => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        };
        // SAFETY: the stream is alive.
        stream.call(device, BEGIN, |on| unsafe { api::cuStreamBeginCapture_v2(on, raw) })?;
        if let Some(number) = capture_id(device, handle, BEGIN)? {
            self.capture_table.begin(number, handle, mode);
        }
        Ok(())
    }

    pub(super) fn end_capture(&self, handle: StreamHandle) -> Result<GraphHandle> {
        let (stream, device) = (self.streams.find(handle, END)?, self.device(handle.device)?);
        // The driver does not report the id of a capture that an error has ended.
        let current = capture_id(device, handle, END);
        let id = self.captures().check_end(handle, || current.clone(), END)?;
        if matches!(current, Ok(Some(_))) {
            self.captures().check_end_thread(id, END)?;
        }
        // Whatever the driver answers, it is over.
        let ended = self.captures().end(id);
        let (mut work, invalidated_by) =
            ended.map_or((None, None), |ended| (Some(ended.content), ended.invalidated_by));
        let mut graph = ptr::null_mut();
        let ended = {
            let _bound = device.bind(END)?;
            // SAFETY: the stream is alive and the pointer valid.
            check(unsafe { api::cuStreamEndCapture(stream.pointer(), &raw mut graph) })
        };
        if ended == Err(Code::ILLEGAL_STATE)
            && let Some(work) = work.take()
        {
            work.leak();
        }
        let (keep_alive, runs) = work.unwrap_or_default().into_parts();
        let failed = match (ended, invalidated_by) {
            (_, Some(reason)) => Some(capture::err_invalidated(END, &reason)),
            (Err(code), None) => Some(device.error(END, code)),
            (Ok(()), None) => None,
        };
        match failed {
            None => Ok(self.graphs.add(handle.device, graph, Contents { _keep_alive: keep_alive, runs })),
            Some(error) => {
                if !graph.is_null() {
                    graphs::destroy(device, graph);
                }
                Err(error)
            }
        }
    }

    pub(super) fn replay(&self, executable: GraphExecHandle, handle: StreamHandle) -> Result<()> {
        const REPLAY: &str = "Graph.replay";
        let executable = self.graphs.executable(executable)?;
        let (stream, device) = (self.streams.find(handle, REPLAY)?, self.device(handle.device)?);
        if capture_id(device, handle, REPLAY)?.is_some() {
            return Err(refused(REPLAY, "the stream captures, and no graph can be part of another one"));
        }
        executable.replay(device, &stream)
    }
}

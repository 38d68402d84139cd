//! Work in the order of streams, and captures of it.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUresult, CUstream, CUstreamCaptureMode};

use super::api;
use super::captures::refused;
use super::copies::{COPY, FILL, stays_on_its_device};
use super::errors::{Code, check};
use super::events::{Event, EventState, Marked};
use super::functions::{self, Function, ToldBy};
use super::gates::Gate;
use super::graphs::{self, Contents};
use super::started::Started;
use super::stream::{Alone, Stream};
use super::streams::{capture_of, is_default};
use crate::Result;
use crate::driver::{
    CaptureMode, Copy, EventHandle, ExecutableHandle, Fill, GraphHandle, Keeper, StreamHandle, Work,
};

const LAUNCH: &str = "Stream.launch";
const RECORD: &str = "Event.record";
const WAIT_EVENT: &str = "Stream.wait_event";
const BEGIN: &str = "Graph.capture_begin";
const END: &str = "Graph.capture_end";

impl Started {
    /// The capture into which work on a stream is recorded. Fails where it can't be repeated any more.
    fn open_capture(&self, handle: StreamHandle, operation: &'static str) -> Result<Option<u64>> {
        let capture = capture_of(self.device(handle.device)?, handle, operation)?;
        capture.map_or(Ok(()), |number| self.captures.check(number, operation))?;
        Ok(capture)
    }

    /// Queues work, and keeps what it reaches until it has been done, or as long as a graph has it. Nobody else queues
    /// anything on the stream until `act` lets go of what it is given.
    fn queue(
        &self,
        stream: &Stream,
        capture: Option<u64>,
        operation: &'static str,
        keep: Keeper,
        act: impl FnOnce(CUstream, Alone<'_>) -> Result<CUresult>,
    ) -> Result<()> {
        let device = self.device(stream.handle.device)?;
        {
            let _bound = device.bind(operation)?;
            device.check(operation, act(stream.pointer(), stream.alone())?)?;
        }
        match capture {
            Some(number) => {
                self.captures.keep(number, keep);
                Ok(())
            }
            None => stream.keep(device, operation, keep),
        }
    }

    /// # Safety
    /// As for [`Driver::copy`](crate::driver::Driver::copy).
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
        self.queue(&stream, capture, COPY, copy.keep.clone(), act)
    }

    /// # Safety
    /// As for [`Driver::fill`](crate::driver::Driver::fill).
    pub(super) unsafe fn fill(&self, handle: StreamHandle, fill: Fill) -> Result<()> {
        let stream = self.streams.find(handle, FILL)?;
        let capture = self.open_capture(handle, FILL)?;
        if fill.bytes == 0 {
            return Ok(());
        }
        // SAFETY: as the caller vouches; the keeper stays until the fill has been done.
        let act = |on, _alone: Alone<'_>| Ok(unsafe { self.queue_fill(&fill, on) });
        self.queue(&stream, capture, FILL, fill.keep.clone(), act)
    }

    pub(super) fn launch(&self, handle: StreamHandle, work: Work) -> Result<()> {
        let (stream, device) = (self.streams.find(handle, LAUNCH)?, self.device(handle.device)?);
        let capture = self.open_capture(handle, LAUNCH)?;
        let (told_by, gate) = match capture {
            // A gate would have to be closed again before each replay.
            Some(number) => (ToldBy::Replay(self.captures.runs(number)), None),
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
        self.queue(&stream, capture, LAUNCH, function.clone(), act)
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

    pub(super) fn release_event(&self, handle: EventHandle) {
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

    /// Fails where the driver would end a capture if a stream waited.
    fn check_may_wait(&self, handle: StreamHandle, marked: Marked) -> Result<()> {
        let own = self.open_capture(handle, WAIT_EVENT)?;
        let break_off = |capture, reason| Err(self.captures.break_off(capture, WAIT_EVENT, reason));
        match (own, marked) {
            (_, Marked::InCapture(other)) if !self.captures.is_underway(other) => {
                Err(refused(WAIT_EVENT, "the event was recorded in a capture, which is over"))
            }
            (Some(own), Marked::InCapture(other)) if own != other => {
                let reason = "the event was recorded in another capture";
                let _ = self.captures.break_off(other, WAIT_EVENT, reason);
                break_off(own, reason)
            }
            (None, Marked::InCapture(other)) if is_default(handle) => {
                break_off(other, "a default stream can't take part in a capture")
            }
            (Some(own), Marked::InStream { .. } | Marked::Elsewhere) => {
                break_off(own, "the event was recorded outside of the capture")
            }
            _ => Ok(()),
        }
    }

    pub(super) fn begin_capture(&self, handle: StreamHandle, mode: CaptureMode) -> Result<()> {
        let (stream, device) = (self.streams.find(handle, BEGIN)?, self.device(handle.device)?);
        if is_default(handle) {
            return Err(refused(BEGIN, "a default stream can't be captured"));
        }
        if capture_of(device, handle, BEGIN)?.is_some() {
            return Err(refused(BEGIN, "the stream takes part in a capture already"));
        }
        let native = match mode {
            CaptureMode::Global => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            CaptureMode::ThreadLocal => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            CaptureMode::Relaxed => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        };
        // SAFETY: the stream is alive.
        stream.call(device, BEGIN, |on| unsafe { api::cuStreamBeginCapture_v2(on, native) })?;
        if let Some(number) = capture_of(device, handle, BEGIN)? {
            self.captures.begin(number, handle, mode);
        }
        Ok(())
    }

    pub(super) fn end_capture(&self, handle: StreamHandle) -> Result<GraphHandle> {
        let (stream, device) = (self.streams.find(handle, END)?, self.device(handle.device)?);
        let begun = self.captures.begun_on(handle);
        match begun {
            Some(number) if matches!(capture_of(device, handle, END), Ok(Some(_))) => {
                self.captures.refuse_to_end(number, END)?;
            }
            Some(_) => {}
            None => {
                let number = capture_of(device, handle, END)?
                    .ok_or_else(|| refused(END, "no capture has begun on the stream"))?;
                if self.captures.is_underway(number) {
                    return Err(refused(END, "a capture ends on the stream on which it began"));
                }
            }
        }
        // Whatever the driver says, it is over.
        let mut capture = begun.and_then(|number| self.captures.end(number));
        let mut graph = ptr::null_mut();
        let ended = {
            let _bound = device.bind(END)?;
            // SAFETY: the stream is alive and the pointer valid.
            check(unsafe { api::cuStreamEndCapture(stream.pointer(), &raw mut graph) })
        };
        if ended == Err(Code::ILLEGAL_STATE)
            && let Some(ended) = capture.take()
        {
            ended.leave();
        }
        let (keep, runs, broken) =
            capture.map_or_else(Default::default, |capture| (capture.keep, capture.runs, capture.broken));
        let failed = match (ended, broken) {
            (_, Some(reason)) => Some(refused(END, format!("the capture can't be repeated: {reason}"))),
            (Err(code), None) => Some(device.error(END, code)),
            (Ok(()), None) => None,
        };
        match failed {
            None => Ok(self.graphs.add(handle.device, graph, Contents { _keep: keep, runs })),
            Some(error) => {
                if !graph.is_null() {
                    graphs::destroy(device, graph);
                }
                Err(error)
            }
        }
    }

    pub(super) fn replay(&self, executable: ExecutableHandle, handle: StreamHandle) -> Result<()> {
        const REPLAY: &str = "Graph.replay";
        let executable = self.graphs.executable(executable)?;
        let (stream, device) = (self.streams.find(handle, REPLAY)?, self.device(handle.device)?);
        if capture_of(device, handle, REPLAY)?.is_some() {
            return Err(refused(REPLAY, "the stream captures, and no graph can be part of another one"));
        }
        executable.replay(device, &stream)
    }
}

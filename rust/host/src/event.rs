//! Events: places in streams, or in a graph that is being recorded.

use std::time::Instant;

use interlock_driver::capture::CaptureId;
use interlock_driver::{DeviceIndex, EventHandle, EventOptions, StreamHandle};
use interlock_driver::{Error, Result};

use super::command::Step;
use super::device;
use super::shared::Shared;
use super::state::State;
use super::stream::Mark;

pub(super) struct Event {
    pub(super) device: DeviceIndex,
    timing: bool,
    pub(super) marked: Marked,
    /// When the place that it marks was reached, if it was made with timing.
    reached: Option<Instant>,
}

/// What an event marks.
#[derive(Clone, Debug)]
pub(super) enum Marked {
    Nothing,
    InStream(Mark),
    /// What was recorded last when it was.
    InCapture(CaptureId, Vec<usize>),
}

impl State {
    /// The event of a handle, if that is one that a program has and the device is not lost.
    pub(super) fn event(&mut self, handle: EventHandle, operation: &'static str) -> Result<&mut Event> {
        self.check_not_lost(handle.device, operation)?;
        self.events.get_mut(&handle.raw).filter(|event| event.device == handle.device).ok_or_else(|| {
            Error::Argument {
                name: operation,
                given: format!("the number {}", handle.raw),
                allowed: format!("an event of {} that was not released", device::named(handle.device)),
            }
        })
    }

    /// A stream got to the place where an event was recorded, which may mark another by now.
    pub(super) fn reach(&mut self, event: u64, mark: Mark) {
        if let Some(event) = self.events.get_mut(&event)
            && event.timing
            && matches!(event.marked, Marked::InStream(marked) if marked == mark)
        {
            event.reached = Some(Instant::now());
        }
    }
}

impl Shared {
    pub(super) fn create_event(&self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle> {
        let mut state = self.lock_leaving_waste()?;
        state.device(device, "Event")?;
        let raw = state.number();
        let event = Event { device, timing: options.timing, marked: Marked::Nothing, reached: None };
        state.events.insert(raw, event);
        Ok(EventHandle { device, raw })
    }

    pub(super) fn destroy_event(&self, handle: EventHandle) {
        if let Ok(mut state) = self.lock() {
            state.events.remove(&handle.raw);
        }
    }

    pub(super) fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        const OPERATION: &str = "Event.record";
        let mut state = self.lock_leaving_waste()?;
        state.event(event, OPERATION)?;
        let capture = state.stream(stream, OPERATION)?.capture;
        if event.device != stream.device {
            return Err(Error::Argument {
                name: OPERATION,
                given: format!("a stream of {}", device::named(stream.device)),
                allowed: format!("a stream of the event's device, {}", device::named(event.device)),
            });
        }
        let marked = match capture {
            Some(capture) => {
                let nodes = state.captures.open(capture, OPERATION)?.tail_of(stream.raw);
                Marked::InCapture(capture, nodes)
            }
            None => Marked::InStream(state.push(stream.raw, Step::Reach(event.raw), None, None)),
        };
        let event = state.event(event, OPERATION)?;
        event.marked = marked;
        event.reached = None;
        state.settle(stream.raw);
        Ok(())
    }

    pub(super) fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        const OPERATION: &str = "Stream.wait_event";
        let mut state = self.lock()?;
        let marked = state.event(event, OPERATION)?.marked.clone();
        let capture = state.stream(stream, OPERATION)?.capture;
        match (marked, capture) {
            (Marked::Nothing, _) => Ok(()),
            (Marked::InStream(mark), None) => {
                state.push(stream.raw, Step::Await(mark), None, None);
                state.settle(stream.raw);
                Ok(())
            }
            (Marked::InStream(_), own @ Some(_)) => state.captures.check_wait(own, false, None, OPERATION),
            (Marked::InCapture(capture, nodes), _) => {
                state.join_capture(capture, stream.raw, nodes, OPERATION)
            }
        }
    }

    pub(super) fn elapsed(&self, start: EventHandle, end: EventHandle) -> Result<f64> {
        const OPERATION: &str = "Event.elapsed_time";
        let mut state = self.lock()?;
        let mut reached_at = |handle: EventHandle| {
            let event = state.event(handle, OPERATION)?;
            let (timing, marked) = (event.timing, event.marked.clone());
            let reason = match (event.reached, timing, marked) {
                (Some(reached), ..) => return Ok(reached),
                (None, false, _) => "both events must be made with timing",
                (None, true, Marked::Nothing) => "both events must be recorded",
                (None, true, Marked::InStream(_)) => "both events must be reached",
                (None, true, Marked::InCapture(..)) => "events of a capture have no time",
            };
            let device = device::named(handle.device);
            Err(Error::Device { device, operation: OPERATION.into(), reason: reason.into(), code: None })
        };
        let (start, end) = (reached_at(start)?, reached_at(end)?);
        let milliseconds =
            |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
        Ok(milliseconds(start, end) - milliseconds(end, start))
    }
}

//! Events: places in streams, or in a graph that is being recorded.

use std::time::Instant;

use interlock_driver::capture::CaptureId;
use interlock_driver::{DeviceIndex, Error, EventHandle, EventOptions, Result, StreamHandle};

use crate::exec::command::Command;
use crate::exec::inner::Inner;
use crate::object::stream::TimelinePoint;
use crate::object::{device, err_released};

pub(crate) struct Event {
    pub(crate) device: DeviceIndex,
    timing: bool,
    pub(crate) recorded_at: RecordedAt,
    /// When the place that it marks was reached, if it was made with timing.
    reached: Option<Instant>,
}

/// What an event marks.
#[derive(Clone, Debug)]
pub(crate) enum RecordedAt {
    Nothing,
    InStream(TimelinePoint),
    /// What was recorded last when it was.
    InCapture(CaptureId, Vec<usize>),
}

impl Inner {
    /// The event of a handle, if that is one that a program has and the device is not lost.
    pub(crate) fn event(&mut self, handle: EventHandle, operation: &'static str) -> Result<&mut Event> {
        self.check_not_lost(handle.device, operation)?;
        let event = self.events.get_mut(&handle.raw).filter(|event| event.device == handle.device);
        let what = || format!("an event of {}", device::named(handle.device));
        event.ok_or_else(|| err_released(operation, handle.raw, &what()))
    }

    /// A stream has reached the record of an event, which may have been recorded again.
    pub(crate) fn reach(&mut self, event: u64, mark: TimelinePoint) {
        if let Some(event) = self.events.get_mut(&event)
            && event.timing
            && matches!(event.recorded_at, RecordedAt::InStream(marked) if marked == mark)
        {
            event.reached = Some(Instant::now());
        }
    }

    pub(crate) fn create_event(&mut self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle> {
        self.device(device, "Event")?;
        let raw = self.number();
        let event = Event { device, timing: options.timing, recorded_at: RecordedAt::Nothing, reached: None };
        self.events.insert(raw, event);
        Ok(EventHandle { device, raw })
    }

    pub(crate) fn destroy_event(&mut self, handle: EventHandle) {
        self.events.remove(&handle.raw);
    }

    pub(crate) fn record_event(&mut self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        const OPERATION: &str = "Event.record";
        self.event(event, OPERATION)?;
        let capture = self.stream(stream, OPERATION)?.capture;
        if event.device != stream.device {
            let given = format!("a stream of {}", device::named(stream.device));
            let allowed = format!("a stream of the event's device, {}", device::named(event.device));
            return Err(Error::argument(OPERATION, given, allowed));
        }
        let marked = match capture {
            Some(capture) => {
                let nodes = self.captures.open(capture, OPERATION)?.tail_of(stream.raw);
                RecordedAt::InCapture(capture, nodes)
            }
            None => RecordedAt::InStream(self.push(stream.raw, Command::SignalEvent(event.raw), None, None)),
        };
        let event = self.event(event, OPERATION)?;
        event.recorded_at = marked;
        event.reached = None;
        self.advance(stream.raw);
        Ok(())
    }

    pub(crate) fn wait_event(&mut self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        const OPERATION: &str = "Stream.wait_event";
        let marked = self.event(event, OPERATION)?.recorded_at.clone();
        let capture = self.stream(stream, OPERATION)?.capture;
        match (marked, capture) {
            (RecordedAt::Nothing, _) => Ok(()),
            (RecordedAt::InStream(mark), None) => {
                self.push(stream.raw, Command::WaitFor(mark), None, None);
                self.advance(stream.raw);
                Ok(())
            }
            (RecordedAt::InStream(_), own @ Some(_)) => self.captures.check_wait(own, false, None, OPERATION),
            (RecordedAt::InCapture(capture, nodes), _) => {
                self.join_capture(capture, stream.raw, nodes, OPERATION)
            }
        }
    }

    pub(crate) fn elapsed(&mut self, start: EventHandle, end: EventHandle) -> Result<f64> {
        const OPERATION: &str = "Event.elapsed_time";
        let mut reached_at = |handle: EventHandle| {
            let event = self.event(handle, OPERATION)?;
            let (timing, marked) = (event.timing, event.recorded_at.clone());
            let reason = match (event.reached, timing, marked) {
                (Some(reached), ..) => return Ok(reached),
                (None, false, _) => "both events must be made with timing",
                (None, true, RecordedAt::Nothing) => "both events must be recorded",
                (None, true, RecordedAt::InStream(_)) => "both events must be reached",
                (None, true, RecordedAt::InCapture(..)) => "events of a capture have no time",
            };
            Err(Error::device(device::named(handle.device), OPERATION, reason))
        };
        let (start, end) = (reached_at(start)?, reached_at(end)?);
        let milliseconds =
            |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
        Ok(milliseconds(start, end) - milliseconds(end, start))
    }
}

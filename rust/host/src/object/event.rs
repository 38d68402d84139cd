//! Events, which are recorded on the timeline of a stream or in a capture.

use std::time::Instant;

use interlock_driver::capture::CaptureId;
use interlock_driver::{
    DeviceIndex, Error, EventHandle, EventOptions, Result, StreamHandle, TimelinePoint, races,
};

use crate::exec::command::{Command, Origin};
use crate::exec::inner::Inner;
use crate::object::{device, err_released};

/// An event and its last record.
pub(crate) struct Event {
    device: DeviceIndex,
    timing: bool,
    recorded_at: RecordedAt,
    /// The time at which the last record completed, for an event with timing.
    completed_at: Option<Instant>,
}

/// The point at which an event was last recorded.
#[derive(Clone, Debug)]
pub(crate) enum RecordedAt {
    Never,
    InStream(TimelinePoint, races::Point),
    /// The capture, and its nodes that a wait for the event depends on.
    InCapture(CaptureId, Vec<usize>),
}

impl Event {
    pub(crate) fn recorded_at(&self) -> &RecordedAt {
        &self.recorded_at
    }
}

impl Inner {
    /// Returns the event of a handle.
    ///
    /// # Errors
    /// Returns [`Error::DeviceLost`] if its device is lost, and [`Error::Argument`] if the event does not exist.
    pub(crate) fn event(&mut self, handle: EventHandle, operation: &'static str) -> Result<&mut Event> {
        self.check_not_lost(handle.device, operation)?;
        let event = self.events.get_mut(&handle.raw).filter(|event| event.device == handle.device);
        let what = || format!("an event of {}", device::named(handle.device));
        event.ok_or_else(|| err_released(operation, handle.raw, &what()))
    }

    /// Completes the record of an event at `point`, unless the event has been recorded again since.
    pub(crate) fn signal_event(&mut self, event: u64, point: TimelinePoint) {
        if let Some(event) = self.events.get_mut(&event)
            && event.timing
            && matches!(event.recorded_at, RecordedAt::InStream(recorded, _) if recorded == point)
        {
            event.completed_at = Some(Instant::now());
        }
    }

    pub(crate) fn create_event(&mut self, device: DeviceIndex, options: EventOptions) -> Result<EventHandle> {
        self.device(device, "Event")?;
        let raw = self.next_id();
        let (timing, recorded_at) = (options.timing, RecordedAt::Never);
        self.events.insert(raw, Event { device, timing, recorded_at, completed_at: None });
        Ok(EventHandle { device, raw })
    }

    pub(crate) fn destroy_event(&mut self, handle: EventHandle) {
        self.events.remove(&handle.raw);
    }

    pub(crate) fn record_event(&mut self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        const OPERATION: &str = "Event.record";
        self.event(event, OPERATION)?;
        let capture = self.stream(stream, OPERATION)?.capture();
        if event.device != stream.device {
            let given = format!("a stream of {}", device::named(stream.device));
            let allowed = format!("on the device of the event, {}", device::named(event.device));
            return Err(Error::argument(format!("{OPERATION}: stream"), given, allowed));
        }
        let recorded_at = match capture {
            Some(capture) => {
                let nodes = self.captures.open(capture, OPERATION)?.tail_of(stream.raw);
                RecordedAt::InCapture(capture, nodes)
            }
            None => {
                let point = self.push(stream.raw, Command::SignalEvent(event.raw), Origin::default());
                RecordedAt::InStream(point, races::end_of(stream))
            }
        };
        let event = self.event(event, OPERATION)?;
        event.recorded_at = recorded_at;
        event.completed_at = None;
        self.advance(stream.raw);
        Ok(())
    }

    pub(crate) fn wait_event(&mut self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        const OPERATION: &str = "Stream.wait_event";
        let recorded_at = self.event(event, OPERATION)?.recorded_at.clone();
        let capture = self.stream(stream, OPERATION)?.capture();
        match (recorded_at, capture) {
            (RecordedAt::Never, _) => Ok(()),
            (RecordedAt::InStream(point, order), None) => {
                races::order_after(stream, &order);
                self.push(stream.raw, Command::WaitFor(point), Origin::default());
                self.advance(stream.raw);
                Ok(())
            }
            (RecordedAt::InStream(..), own @ Some(_)) => {
                self.captures.check_wait(own, false, None, OPERATION)
            }
            (RecordedAt::InCapture(capture, nodes), _) => {
                self.join_capture(capture, stream.raw, nodes, OPERATION)
            }
        }
    }

    pub(crate) fn elapsed(&mut self, start: EventHandle, end: EventHandle) -> Result<f64> {
        const OPERATION: &str = "Event.elapsed_time";
        let mut completed_at = |handle: EventHandle| {
            let event = self.event(handle, OPERATION)?;
            let reason = match (event.completed_at, event.timing, &event.recorded_at) {
                (Some(time), ..) => return Ok(time),
                (None, false, _) => "both events must be created with EventOptions::timing",
                (None, true, RecordedAt::Never) => "both events must be recorded",
                (None, true, RecordedAt::InStream(..)) => "both events must have completed",
                (None, true, RecordedAt::InCapture(..)) => "events of a capture have no time",
            };
            Err(Error::device(device::named(handle.device), OPERATION, reason))
        };
        let (start, end) = (completed_at(start)?, completed_at(end)?);
        let milliseconds =
            |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1e3;
        Ok(milliseconds(start, end) - milliseconds(end, start))
    }
}

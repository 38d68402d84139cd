//! Threads that ask whether something has ended, or wait until it has.

use std::sync::Arc;
use std::time::Instant;

use interlock_core::base::parker::Parker;
use interlock_driver::{DeviceIndex, EventHandle, Result, SyncPoint, WaitPolicy, WaitTarget};

use crate::exec::inner::Inner;
use crate::exec::shared::Shared;
use crate::object::event::RecordedAt;
use crate::object::stream::{TimelinePoint, Waiter};

/// The points that a call covers, as of its beginning.
struct WaitPoints {
    operation: &'static str,
    device: DeviceIndex,
    marks: Vec<TimelinePoint>,
}

/// Returns what messages call a query of a target, and a wait for it.
fn operations(target: WaitTarget) -> (&'static str, &'static str) {
    match target {
        WaitTarget::Stream(_) => ("Stream.query", "Stream.synchronize"),
        WaitTarget::Event(_) => ("Event.query", "Event.synchronize"),
        WaitTarget::Device(_) => ("accelerator.synchronize", "accelerator.synchronize"),
    }
}

impl Inner {
    /// Fails where nobody may wait now, which ends the capture that forbids it.
    fn check_may_wait(&mut self, target: WaitTarget, operation: &'static str) -> Result<()> {
        self.check_not_lost(target.device(), operation)?;
        match target {
            WaitTarget::Stream(handle) => {
                match self.streams.get(&handle.raw).and_then(|stream| stream.capture) {
                    None => Ok(()),
                    Some(capture) => Err(self.captures.refuse_stream_sync(capture, operation)),
                }
            }
            // What it marked when the goal was fixed was in a stream, whatever it marks by now.
            WaitTarget::Event(_) => Ok(()),
            WaitTarget::Device(_) => self.captures.check_sync_allowed(operation),
        }
    }

    /// What is queued now.
    fn wait_points(&mut self, target: WaitTarget, operation: &'static str) -> Result<WaitPoints> {
        let marks = match target {
            WaitTarget::Stream(handle) => {
                self.stream(handle, operation)?;
                vec![self.end_of(handle.raw)]
            }
            WaitTarget::Event(handle) => match self.event(handle, operation)?.recorded_at.clone() {
                RecordedAt::Nothing => Vec::new(),
                RecordedAt::InStream(mark) => vec![mark],
                RecordedAt::InCapture(capture, _) => {
                    return Err(self.captures.refuse_event_sync(capture, operation));
                }
            },
            WaitTarget::Device(index) => {
                // With the streams that are gone and have something to tell.
                let gone = self
                    .device(index, operation)?
                    .unreported_errors
                    .values()
                    .map(|failure| failure.reported_at());
                let gone: Vec<_> = gone.collect();
                let streams = self.streams.iter().filter(|(_, stream)| stream.device == index);
                let ends = streams.map(|(id, stream)| TimelinePoint { stream: *id, position: stream.queued });
                ends.chain(gone).collect()
            }
        };
        self.check_may_wait(target, operation)?;
        Ok(WaitPoints { operation, device: target.device(), marks })
    }

    fn has_reached(&self, points: &WaitPoints) -> Result<bool> {
        self.check_not_lost(points.device, points.operation)?;
        Ok(points.marks.iter().all(|mark| self.is_reached(*mark)))
    }

    /// Reports an error that was not reported yet.
    fn report(&mut self, points: &WaitPoints) -> Result<()> {
        self.take_error(&points.marks, points.device).map_or(Ok(()), Err)
    }

    /// Returns whether a target has completed, and reports its errors.
    pub(crate) fn check(&mut self, target: WaitTarget) -> Result<bool> {
        let points = self.wait_points(target, operations(target).0)?;
        let has_reached = self.has_reached(&points)?;
        self.report(&points)?;
        Ok(has_reached)
    }

    /// Returns whether everything before the last record of an event has completed.
    pub(crate) fn has_completed(&self, event: EventHandle) -> Result<bool> {
        self.check_not_lost(event.device, "Event.query")?;
        Ok(match self.events.get(&event.raw).map(|event| &event.recorded_at) {
            Some(RecordedAt::InStream(mark)) => self.is_reached(*mark),
            Some(RecordedAt::InCapture(..)) => false,
            Some(RecordedAt::Nothing) | None => true,
        })
    }

    pub(crate) fn sync_point(&mut self, target: WaitTarget) -> Result<SyncPoint> {
        let WaitPoints { marks, .. } = self.wait_points(target, operations(target).1)?;
        let points = marks.into_iter().map(|TimelinePoint { stream, position }| (stream, position)).collect();
        Ok(SyncPoint { target, points })
    }
}

/// Waits until a sync point is reached; returns false on timeout.
pub(crate) fn wait(shared: &Shared, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
    let marks =
        sync_point.points.iter().map(|&(stream, position)| TimelinePoint { stream, position }).collect();
    let (_, operation) = operations(sync_point.target);
    let points = WaitPoints { operation, device: sync_point.target.device(), marks };
    shared.lock()?.check_may_wait(sync_point.target, operation)?;
    let has_reached = if policy.blocking {
        // A deadline that can't be represented never comes.
        sleep_until_reached(shared, &points, Instant::now().checked_add(policy.timeout))?
    } else {
        policy.poll_until(|| shared.lock()?.has_reached(&points))?
    };
    shared.lock()?.report(&points)?;
    Ok(has_reached)
}

fn sleep_until_reached(shared: &Shared, points: &WaitPoints, deadline: Option<Instant>) -> Result<bool> {
    let parker = Arc::new(Parker::default());
    let mut left = points.marks.as_slice();
    loop {
        let (first, number) = {
            let mut inner = shared.lock()?;
            inner.check_not_lost(points.device, points.operation)?;
            while let [first, others @ ..] = left
                && inner.is_reached(*first)
            {
                left = others;
            }
            let Some(first) = left.first().copied() else { return Ok(true) };
            let number = inner.number();
            if let Some(stream) = inner.streams.get_mut(&first.stream) {
                stream.add_waiter(first.position, number, Waiter::Thread(parker.clone()));
            }
            (first, number)
        };
        // The thread that wakes it removes it from the list as well.
        if !parker.park(deadline) {
            let mut inner = shared.lock()?;
            if let Some(stream) = inner.streams.get_mut(&first.stream) {
                stream.forget_waiter(first.position, number);
            }
            return inner.has_reached(points);
        }
    }
}

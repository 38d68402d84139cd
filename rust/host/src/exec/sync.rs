//! Queries of and waits for streams, events and devices.

use std::sync::Arc;
use std::time::Instant;

use interlock_core::base::parker::Parker;
use interlock_driver::{
    DeviceIndex, EventHandle, Result, SyncPoint, TimelinePoint, WaitPoint, WaitPolicy, WaitTarget, races,
};

use crate::exec::inner::Inner;
use crate::exec::shared::Shared;
use crate::object::event::{Event, RecordedAt};
use crate::object::stream::{Stream, Waiter};

/// The points that a query or a wait covers, as found when it was called.
struct WaitPoints {
    operation: &'static str,
    device: DeviceIndex,
    points: Vec<TimelinePoint>,
    /// Their place in the order of everything, for the detection of races.
    order: races::Point,
}

/// Returns the names of the query and of the wait for a kind of target, for error messages.
fn operations(target: WaitTarget) -> (&'static str, &'static str) {
    match target {
        WaitTarget::Stream(_) => ("Stream.query", "Stream.synchronize"),
        WaitTarget::Event(_) => ("Event.query", "Event.synchronize"),
        WaitTarget::Device(_) => ("accelerator.synchronize", "accelerator.synchronize"),
    }
}

/// Returns the name of the call that waits for a target.
pub(crate) fn name_of_wait(target: WaitTarget) -> &'static str {
    operations(target).1
}

impl Inner {
    /// Refuses a wait that a capture forbids; the capture is then invalidated.
    fn check_sync_allowed(&mut self, target: WaitTarget, operation: &'static str) -> Result<()> {
        self.check_not_lost(target.device(), operation)?;
        match target {
            WaitTarget::Stream(handle) => match self.streams.get(&handle.raw).and_then(Stream::capture) {
                None => Ok(()),
                Some(capture) => Err(self.captures.refuse_stream_sync(capture, operation)),
            },
            // `wait_points` refused an event of a capture; its later records do not matter.
            WaitTarget::Event(_) => Ok(()),
            WaitTarget::Device(_) => self.captures.check_sync_allowed(operation),
        }
    }

    /// Returns the points after all work of a target that is queued now.
    fn wait_points(&mut self, target: WaitTarget, operation: &'static str) -> Result<WaitPoints> {
        let (points, order) = match target {
            WaitTarget::Stream(handle) => {
                self.stream(handle, operation)?;
                (vec![self.end_of(handle.raw)], races::end_of(handle))
            }
            WaitTarget::Event(handle) => match self.event(handle, operation)?.recorded_at().clone() {
                RecordedAt::Never => Default::default(),
                RecordedAt::InStream(point, order) => (vec![point], order),
                RecordedAt::InCapture(capture, _) => {
                    return Err(self.captures.refuse_event_sync(capture, operation));
                }
            },
            WaitTarget::Device(index) => {
                // Including destroyed streams that have an unreported error.
                let errors = self.device(index, operation)?.unreported_errors.values();
                let destroyed: Vec<_> = errors.map(|error| error.reported_at()).collect();
                let streams = self.streams.iter().filter(|(_, stream)| stream.device() == index);
                let ends = streams.map(|(id, stream)| TimelinePoint { stream: *id, position: stream.end() });
                (ends.chain(destroyed).collect(), races::end_of_device(index))
            }
        };
        self.check_sync_allowed(target, operation)?;
        Ok(WaitPoints { operation, device: target.device(), points, order })
    }

    fn has_reached(&self, points: &WaitPoints) -> Result<bool> {
        self.check_not_lost(points.device, points.operation)?;
        Ok(points.points.iter().all(|point| self.is_reached(*point)))
    }

    /// Returns the first unreported error that the points cover.
    fn report(&mut self, points: &WaitPoints) -> Result<()> {
        self.take_error(&points.points, points.device).map_or(Ok(()), Err)
    }

    /// Returns whether the work of a target has completed; reports its asynchronous errors.
    pub(crate) fn check(&mut self, target: WaitTarget) -> Result<bool> {
        let points = self.wait_points(target, operations(target).0)?;
        let has_reached = self.has_reached(&points)?;
        if has_reached {
            races::wait_for(&points.order);
        }
        self.report(&points)?;
        Ok(has_reached)
    }

    /// Returns whether everything before the last record of an event has completed.
    pub(crate) fn has_completed(&self, event: EventHandle) -> Result<bool> {
        self.check_not_lost(event.device, "Event.query")?;
        Ok(match self.events.get(&event.raw).map(Event::recorded_at) {
            Some(RecordedAt::InStream(point, order)) => {
                let is_reached = self.is_reached(*point);
                if is_reached {
                    races::wait_for(order);
                }
                is_reached
            }
            Some(RecordedAt::InCapture(..)) => false,
            Some(RecordedAt::Never) | None => true,
        })
    }

    pub(crate) fn sync_point(&mut self, target: WaitTarget) -> Result<SyncPoint> {
        let WaitPoints { points, order, .. } = self.wait_points(target, operations(target).1)?;
        Ok(SyncPoint { target, points: points.into_iter().map(WaitPoint::InStream).collect(), order })
    }
}

/// Waits until a sync point is reached; returns false on timeout.
pub(crate) fn wait(shared: &Shared, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
    let points = sync_point.points.iter().filter_map(|point| point.in_stream()).collect();
    let (_, operation) = operations(sync_point.target);
    let (device, order) = (sync_point.target.device(), sync_point.order.clone());
    let points = WaitPoints { operation, device, points, order };
    shared.lock()?.check_sync_allowed(sync_point.target, operation)?;
    let has_reached = if policy.blocking {
        // A timeout that overflows `Instant` is no deadline.
        sleep_until_reached(shared, &points, Instant::now().checked_add(policy.timeout))?
    } else {
        policy.poll_until(|| shared.lock()?.has_reached(&points))?
    };
    let mut inner = shared.lock()?;
    if has_reached {
        races::wait_for(&points.order);
    }
    inner.report(&points)?;
    Ok(has_reached)
}

fn sleep_until_reached(shared: &Shared, points: &WaitPoints, deadline: Option<Instant>) -> Result<bool> {
    let parker = Arc::new(Parker::default());
    let mut remaining = points.points.as_slice();
    loop {
        let (first, waiter_id) = {
            let mut inner = shared.lock()?;
            inner.check_not_lost(points.device, points.operation)?;
            while let [first, others @ ..] = remaining
                && inner.is_reached(*first)
            {
                remaining = others;
            }
            let Some(first) = remaining.first().copied() else { return Ok(true) };
            let waiter_id = inner.next_id();
            if let Some(stream) = inner.streams.get_mut(&first.stream) {
                stream.add_waiter(first.position, waiter_id, Waiter::Thread(parker.clone()));
            }
            (first, waiter_id)
        };
        // A thread that unparks this one has already removed the waiter.
        if !parker.park(deadline) {
            let mut inner = shared.lock()?;
            if let Some(stream) = inner.streams.get_mut(&first.stream) {
                stream.remove_waiter(first.position, waiter_id);
            }
            return inner.has_reached(points);
        }
    }
}

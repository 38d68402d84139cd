//! Threads that ask whether something has ended, or wait until it has.

use std::sync::Arc;
use std::time::Instant;

use interlock_core::base::backoff::Backoff;
use interlock_core::base::parker::Parker;
use interlock_driver::Result;
use interlock_driver::{DeviceIndex, EventHandle, SyncPoint, WaitPolicy, WaitTarget};

use super::event::Marked;
use super::shared::Shared;
use super::state::State;
use super::stream::{Mark, Waiter};

/// What is awaited, as of when it was asked for.
struct WaitPoints {
    operation: &'static str,
    device: DeviceIndex,
    marks: Vec<Mark>,
}

/// What somebody does with what is awaited.
#[derive(Clone, Copy)]
enum Asks {
    Now,
    Waits,
}

fn operation(target: WaitTarget, asks: Asks) -> &'static str {
    match (target, asks) {
        (WaitTarget::Stream(_), Asks::Now) => "Stream.query",
        (WaitTarget::Stream(_), Asks::Waits) => "Stream.synchronize",
        (WaitTarget::Event(_), Asks::Now) => "Event.query",
        (WaitTarget::Event(_), Asks::Waits) => "Event.synchronize",
        (WaitTarget::Device(_), _) => "accelerator.synchronize",
    }
}

impl State {
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
    fn places(&mut self, target: WaitTarget, operation: &'static str) -> Result<WaitPoints> {
        let marks = match target {
            WaitTarget::Stream(handle) => {
                self.stream(handle, operation)?;
                vec![self.end_of(handle.raw)]
            }
            WaitTarget::Event(handle) => match self.event(handle, operation)?.marked.clone() {
                Marked::Nothing => Vec::new(),
                Marked::InStream(mark) => vec![mark],
                Marked::InCapture(capture, _) => {
                    return Err(self.captures.refuse_event_sync(capture, operation));
                }
            },
            WaitTarget::Device(index) => {
                // With the streams that are gone and have something to tell.
                let gone = self.device(index, operation)?.orphans.values().map(|failure| failure.told_by());
                let gone: Vec<_> = gone.collect();
                let streams = self.streams.iter().filter(|(_, stream)| stream.device == index);
                let ends = streams.map(|(id, stream)| Mark { stream: *id, position: stream.queued });
                ends.chain(gone).collect()
            }
        };
        self.check_may_wait(target, operation)?;
        Ok(WaitPoints { operation, device: target.device(), marks })
    }

    fn is_over(&self, places: &WaitPoints) -> Result<bool> {
        self.check_not_lost(places.device, places.operation)?;
        Ok(places.marks.iter().all(|mark| self.is_reached(*mark)))
    }

    /// Fails with what failed and was not told yet.
    fn tell(&mut self, places: &WaitPoints) -> Result<()> {
        self.take_failure(&places.marks, places.device).map_or(Ok(()), Err)
    }
}

impl Shared {
    pub(super) fn is_done(&self, target: WaitTarget) -> Result<bool> {
        let mut state = self.lock()?;
        let places = state.places(target, operation(target, Asks::Now))?;
        let over = state.is_over(&places)?;
        state.tell(&places)?;
        Ok(over)
    }

    pub(super) fn is_over(&self, event: EventHandle) -> Result<bool> {
        let state = self.lock_leaving_waste()?;
        state.check_not_lost(event.device, "Event.query")?;
        Ok(match state.events.get(&event.raw).map(|event| &event.marked) {
            Some(Marked::InStream(mark)) => state.is_reached(*mark),
            Some(Marked::InCapture(..)) => false,
            Some(Marked::Nothing) | None => true,
        })
    }

    pub(super) fn sync_point(&self, target: WaitTarget) -> Result<SyncPoint> {
        let WaitPoints { marks, .. } = self.lock()?.places(target, operation(target, Asks::Waits))?;
        let points = marks.into_iter().map(|Mark { stream, position }| (stream, position)).collect();
        Ok(SyncPoint { target, points })
    }

    pub(super) fn wait(&self, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
        let marks = sync_point.points.iter().map(|&(stream, position)| Mark { stream, position }).collect();
        let operation = operation(sync_point.target, Asks::Waits);
        let places = WaitPoints { operation, device: sync_point.target.device(), marks };
        self.lock()?.check_may_wait(sync_point.target, operation)?;
        let over = if policy.blocking {
            // What can't be represented never comes.
            self.sleep_until_over(&places, Instant::now().checked_add(policy.timeout))?
        } else {
            self.ask_until_over(&places, policy)?
        };
        self.lock()?.tell(&places)?;
        Ok(over)
    }

    fn ask_until_over(&self, places: &WaitPoints, policy: WaitPolicy) -> Result<bool> {
        let mut backoff = Backoff::new(policy.timeout, policy.blocking);
        loop {
            if self.lock()?.is_over(places)? {
                return Ok(true);
            }
            if !backoff.pause() {
                return Ok(false);
            }
        }
    }

    fn sleep_until_over(&self, places: &WaitPoints, deadline: Option<Instant>) -> Result<bool> {
        let parker = Arc::new(Parker::default());
        let mut left = places.marks.as_slice();
        loop {
            let (awaited, number) = {
                let mut state = self.lock()?;
                state.check_not_lost(places.device, places.operation)?;
                while let [first, others @ ..] = left
                    && state.is_reached(*first)
                {
                    left = others;
                }
                let Some(awaited) = left.first().copied() else { return Ok(true) };
                let number = state.number();
                if let Some(stream) = state.streams.get_mut(&awaited.stream) {
                    stream.add_waiter(awaited.position, number, Waiter::Thread(parker.clone()));
                }
                (awaited, number)
            };
            // Who wakes it takes it off the list as well.
            if !parker.park(deadline) {
                let mut state = self.lock()?;
                if let Some(stream) = state.streams.get_mut(&awaited.stream) {
                    stream.forget_waiter(awaited.position, number);
                }
                return state.is_over(places);
            }
        }
    }
}

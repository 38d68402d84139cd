//! Threads that ask whether something has ended, or wait until it has.

use std::sync::Arc;
use std::time::Instant;

use interlock_core::base::parker::Parker;

use super::event::Marked;
use super::shared::Shared;
use super::state::State;
use super::stream::{Mark, Waiter};
use crate::Backoff;
use crate::Result;
use crate::driver::{Awaited, DeviceIndex, EventHandle, Goal, WaitPolicy};

/// What is awaited, as of when it was asked for.
struct Places {
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

fn operation(awaited: Awaited, asks: Asks) -> &'static str {
    match (awaited, asks) {
        (Awaited::Stream(_), Asks::Now) => "Stream.query",
        (Awaited::Stream(_), Asks::Waits) => "Stream.synchronize",
        (Awaited::Event(_), Asks::Now) => "Event.query",
        (Awaited::Event(_), Asks::Waits) => "Event.synchronize",
        (Awaited::Device(_), _) => "accelerator.synchronize",
    }
}

fn device(awaited: Awaited) -> DeviceIndex {
    match awaited {
        Awaited::Stream(stream) => stream.device,
        Awaited::Event(event) => event.device,
        Awaited::Device(device) => device,
    }
}

impl State {
    /// Fails where nobody may wait now, which ends the capture that forbids it.
    fn check_may_wait(&mut self, awaited: Awaited, operation: &'static str) -> Result<()> {
        self.check_not_lost(device(awaited), operation)?;
        match awaited {
            Awaited::Stream(handle) => {
                match self.streams.get(&handle.native).and_then(|stream| stream.capture) {
                    None => Ok(()),
                    Some(capture) => {
                        let reason = "the stream captures, so nothing runs that could be waited for";
                        Err(self.break_capture(capture, operation, reason))
                    }
                }
            }
            // What it marked when the goal was fixed was in a stream, whatever it marks by now.
            Awaited::Event(_) => Ok(()),
            Awaited::Device(_) => self.refuse_in_capture(operation),
        }
    }

    /// What is queued now.
    fn places(&mut self, awaited: Awaited, operation: &'static str) -> Result<Places> {
        let marks = match awaited {
            Awaited::Stream(handle) => {
                self.stream(handle, operation)?;
                vec![self.end_of(handle.native)]
            }
            Awaited::Event(handle) => match self.event(handle, operation)?.marked.clone() {
                Marked::Nothing => Vec::new(),
                Marked::InStream(mark) => vec![mark],
                Marked::InCapture(capture, _) => {
                    let reason = "the event was recorded in a capture, so it is never reached";
                    return Err(self.break_capture(capture, operation, reason));
                }
            },
            Awaited::Device(index) => {
                // With the streams that are gone and have something to tell.
                let gone = self.device(index, operation)?.orphans.values().map(|failure| failure.told_by());
                let gone: Vec<_> = gone.collect();
                let streams = self.streams.iter().filter(|(_, stream)| stream.device == index);
                let ends = streams.map(|(id, stream)| Mark { stream: *id, position: stream.queued });
                ends.chain(gone).collect()
            }
        };
        self.check_may_wait(awaited, operation)?;
        Ok(Places { operation, device: device(awaited), marks })
    }

    fn is_over(&self, places: &Places) -> Result<bool> {
        self.check_not_lost(places.device, places.operation)?;
        Ok(places.marks.iter().all(|mark| self.is_reached(*mark)))
    }

    /// Fails with what failed and was not told yet.
    fn tell(&mut self, places: &Places) -> Result<()> {
        self.take_failure(&places.marks, places.device).map_or(Ok(()), Err)
    }
}

impl Shared {
    pub(super) fn is_done(&self, awaited: Awaited) -> Result<bool> {
        let mut state = self.lock()?;
        let places = state.places(awaited, operation(awaited, Asks::Now))?;
        let over = state.is_over(&places)?;
        state.tell(&places)?;
        Ok(over)
    }

    pub(super) fn is_over(&self, event: EventHandle) -> Result<bool> {
        let state = self.lock_leaving_waste()?;
        state.check_not_lost(event.device, "Event.query")?;
        Ok(match state.events.get(&event.native).map(|event| &event.marked) {
            Some(Marked::InStream(mark)) => state.is_reached(*mark),
            Some(Marked::InCapture(..)) => false,
            Some(Marked::Nothing) | None => true,
        })
    }

    pub(super) fn goal(&self, awaited: Awaited) -> Result<Goal> {
        let Places { marks, .. } = self.lock()?.places(awaited, operation(awaited, Asks::Waits))?;
        let places = marks.into_iter().map(|Mark { stream, position }| (stream, position)).collect();
        Ok(Goal { awaited, places })
    }

    pub(super) fn wait(&self, goal: &Goal, policy: WaitPolicy) -> Result<bool> {
        let marks = goal.places.iter().map(|&(stream, position)| Mark { stream, position }).collect();
        let operation = operation(goal.awaited, Asks::Waits);
        let places = Places { operation, device: device(goal.awaited), marks };
        self.lock()?.check_may_wait(goal.awaited, operation)?;
        let over = if policy.blocking {
            // What can't be represented never comes.
            self.sleep_until_over(&places, Instant::now().checked_add(policy.timeout))?
        } else {
            self.ask_until_over(&places, policy)?
        };
        self.lock()?.tell(&places)?;
        Ok(over)
    }

    fn ask_until_over(&self, places: &Places, policy: WaitPolicy) -> Result<bool> {
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

    fn sleep_until_over(&self, places: &Places, deadline: Option<Instant>) -> Result<bool> {
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

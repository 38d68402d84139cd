//! Threads that ask whether something has ended, or wait until it has.

use std::sync::Arc;
use std::time::Instant;

use super::event::Marked;
use super::shared::Shared;
use super::sleeper::Sleeper;
use super::state::State;
use super::stream::{Mark, Waiter};
use crate::Result;
use crate::accelerator::Backoff;
use crate::accelerator::driver::{Awaited, DeviceIndex, Patience};

/// What is awaited, as of when it was asked for.
struct Goal {
    operation: &'static str,
    device: DeviceIndex,
    marks: Vec<Mark>,
    /// Whether the failures of streams that are gone are told, too.
    whole_device: bool,
}

impl State {
    /// Fails where nobody may wait, which ends the capture that forbids it.
    fn goal(&mut self, awaited: Awaited, operation: &'static str) -> Result<Goal> {
        let (device, marks) = match awaited {
            Awaited::Stream(handle) => {
                if let Some(capture) = self.stream(handle, operation)?.capture {
                    let reason = "the stream captures, so nothing runs that could be waited for";
                    return Err(self.break_capture(capture, operation, reason));
                }
                (handle.device, vec![self.end_of(handle.native)])
            }
            Awaited::Event(handle) => match self.event(handle, operation)?.marked.clone() {
                Marked::Nothing => (handle.device, Vec::new()),
                Marked::InStream(mark) => (handle.device, vec![mark]),
                Marked::InCapture(capture, _) => {
                    let reason = "the event was recorded in a capture, so it is never reached";
                    return Err(self.break_capture(capture, operation, reason));
                }
            },
            Awaited::Device(device) => {
                self.device(device, operation)?;
                self.refuse_in_capture(operation)?;
                let streams = self.streams.iter().filter(|(_, stream)| stream.device == device);
                let marks = streams.map(|(id, stream)| Mark { stream: *id, position: stream.queued });
                (device, marks.collect())
            }
        };
        Ok(Goal { operation, device, marks, whole_device: matches!(awaited, Awaited::Device(_)) })
    }

    fn is_over(&self, goal: &Goal) -> Result<bool> {
        self.check_not_lost(goal.device, goal.operation)?;
        Ok(goal.marks.iter().all(|mark| self.is_reached(*mark)))
    }

    /// Fails with what failed and was not told yet.
    fn tell(&mut self, goal: &Goal) -> Result<()> {
        match self.take_failure(&goal.marks, goal.whole_device.then_some(goal.device)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Shared {
    pub(super) fn is_done(&self, awaited: Awaited) -> Result<bool> {
        let operation = match awaited {
            Awaited::Stream(_) => "Stream.query",
            Awaited::Event(_) => "Event.query",
            Awaited::Device(_) => "accelerator.synchronize",
        };
        let mut state = self.lock()?;
        let goal = state.goal(awaited, operation)?;
        let over = state.is_over(&goal)?;
        state.tell(&goal)?;
        Ok(over)
    }

    pub(super) fn wait(&self, awaited: Awaited, patience: Patience) -> Result<bool> {
        let operation = match awaited {
            Awaited::Stream(_) => "Stream.synchronize",
            Awaited::Event(_) => "Event.synchronize",
            Awaited::Device(_) => "accelerator.synchronize",
        };
        let goal = self.lock()?.goal(awaited, operation)?;
        let over = if patience.asleep {
            // What can't be represented never comes.
            self.sleep_until_over(&goal, Instant::now().checked_add(patience.limit))?
        } else {
            self.ask_until_over(&goal, patience)?
        };
        self.lock()?.tell(&goal)?;
        Ok(over)
    }

    fn ask_until_over(&self, goal: &Goal, patience: Patience) -> Result<bool> {
        let mut backoff = Backoff::new(patience);
        loop {
            if self.lock()?.is_over(goal)? {
                return Ok(true);
            }
            if !backoff.pause() {
                return Ok(false);
            }
        }
    }

    fn sleep_until_over(&self, goal: &Goal, deadline: Option<Instant>) -> Result<bool> {
        let sleeper = Arc::new(Sleeper::default());
        let mut left = goal.marks.as_slice();
        loop {
            let (awaited, number) = {
                let mut state = self.lock()?;
                state.check_not_lost(goal.device, goal.operation)?;
                while let [first, others @ ..] = left
                    && state.is_reached(*first)
                {
                    left = others;
                }
                let Some(awaited) = left.first().copied() else { return Ok(true) };
                let number = state.number();
                if let Some(stream) = state.streams.get_mut(&awaited.stream) {
                    stream.add_waiter(awaited.position, number, Waiter::Thread(sleeper.clone()));
                }
                (awaited, number)
            };
            // Who wakes it takes it off the list as well.
            if !sleeper.sleep(deadline) {
                let mut state = self.lock()?;
                if let Some(stream) = state.streams.get_mut(&awaited.stream) {
                    stream.forget_waiter(awaited.position, number);
                }
                return state.is_over(goal);
            }
        }
    }
}

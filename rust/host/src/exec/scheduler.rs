//! The scheduler: polls the first command of each stream, and completes those that need no thread.

use interlock_driver::{DeviceIndex, Error};

use crate::exec::command::{Command, QueuedCommand, Task};
use crate::exec::inner::Inner;
use crate::object::device;
use crate::object::stream::{HeadState, Stream, StreamId, StreamKind, TimelinePoint, Waiter};

impl Inner {
    /// Moves a stream on as far as it can, and so all that wait for it.
    pub(crate) fn advance(&mut self, id: StreamId) {
        self.run_queue.push_back(id);
        while let Some(id) = self.run_queue.pop_front() {
            while self.poll_head(id) {
                self.skip_head(id);
            }
            self.remove_if_finished(id);
        }
    }

    /// Moves every stream on as far as it can.
    pub(crate) fn advance_all(&mut self) {
        let all: Vec<_> = self.streams.keys().copied().collect();
        all.into_iter().for_each(|id| self.advance(id));
    }

    /// Returns whether the first command of a stream ends now, without running.
    fn poll_head(&mut self, id: StreamId) -> bool {
        let Some(stream) = self.streams.get(&id) else { return false };
        if matches!(stream.head, HeadState::Runnable | HeadState::Running) {
            return false;
        }
        let Some(command) = stream.queue.front() else { return false };
        match &command.command {
            Command::Nop => true,
            Command::SignalEvent(event) => {
                let (event, mark) = (*event, TimelinePoint { stream: id, position: command.position });
                self.reach(event, mark);
                true
            }
            Command::WaitFor(_) if self.is_lost(stream.device) => true,
            Command::WaitFor(mark) => {
                let mark = *mark;
                self.poll_wait(id, mark)
            }
            Command::Run(task) => match self.failure_of(stream.device, command, task) {
                Some(error) => {
                    let reported_at = command.reported_at;
                    self.fail(reported_at, error);
                    true
                }
                None => {
                    self.poll_task(id);
                    false
                }
            },
        }
    }

    /// Why work fails without being begun, if so. On a stream of a lost device nothing runs, wherever it was to
    /// be done: what it should have waited for may be missing.
    fn failure_of(&self, home: DeviceIndex, command: &QueuedCommand, task: &Task) -> Option<Error> {
        let mut devices = [home, command.device].into_iter().chain(task.devices());
        let operation = || task.operation(command.device);
        match (devices.find(|device| self.is_lost(*device)), &command.fault) {
            (Some(lost), _) => self.check_not_lost(lost, &operation()).err(),
            (None, Some(reason)) => Some(Error::device(device::named(command.device), operation(), reason)),
            (None, None) => None,
        }
    }

    fn poll_wait(&mut self, id: StreamId, mark: TimelinePoint) -> bool {
        if self.is_reached(mark) {
            return true;
        }
        let number = self.number();
        let Some(stream) = self.streams.get_mut(&id) else { return false };
        if stream.head != HeadState::BlockedOnEvent {
            stream.head = HeadState::BlockedOnEvent;
            if let Some(awaited) = self.streams.get_mut(&mark.stream) {
                awaited.add_waiter(mark.position, number, Waiter::Stream(id));
            }
        }
        false
    }

    /// Work that can be begun, as soon as there is an engine for it if it needs one.
    fn poll_task(&mut self, id: StreamId) {
        let turn = self.number();
        let copies_are_paused = self.faults.copies_are_paused();
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(QueuedCommand { command: Command::Run(task), device, .. }) = stream.queue.front() else {
            return;
        };
        if task.moves_data() && stream.engine.is_none() {
            if stream.head == HeadState::BlockedOnEngine {
                return;
            }
            let Some(state) = self.devices.get_mut(usize::from(*device)) else { return };
            if !state.engines.take(id, stream.priority, turn) {
                stream.head = HeadState::BlockedOnEngine;
                return;
            }
            stream.engine = Some(*device);
        }
        if task.is_copy() && copies_are_paused {
            if !matches!(stream.head, HeadState::Paused(_)) {
                stream.head = HeadState::Paused(turn);
            }
            return;
        }
        stream.make_ready();
    }

    /// Lets the copy begin that has been held up for longest; false where none is.
    pub(crate) fn begin_paused_copy(&mut self) -> bool {
        let held = self.streams.values_mut().filter_map(|stream| match stream.head {
            HeadState::Paused(number) => Some((number, stream)),
            _ => None,
        });
        let longest = held.min_by_key(|(number, _)| *number).map(|(_, stream)| stream);
        longest.map(Stream::make_ready).is_some()
    }

    /// The first command is over and never ran.
    fn skip_head(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(command) = stream.queue.pop_front() else { return };
        if stream.head == HeadState::BlockedOnEngine
            && let Some(device) = self.devices.get_mut(usize::from(command.device))
        {
            device.engines.leave(id);
        }
        if let Command::Run(task) = command.command {
            self.deferred_drops.add(task);
        }
        self.complete(id, command.position);
    }

    /// The command at this place is over: gives its engine to the next, and moves on who waited.
    pub(crate) fn complete(&mut self, id: StreamId, position: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.done = position;
        stream.head = HeadState::Unpolled;
        let engine = stream.engine.take();
        while let Some(waiter) = stream.next_waiter() {
            match waiter {
                Waiter::Stream(waiting) => self.run_queue.push_back(waiting),
                Waiter::Thread(parker) => parker.unpark(),
            }
        }
        if let Some(device) = engine
            && let Some(next) = self.devices.get_mut(usize::from(device)).and_then(|d| d.engines.give_back())
            && let Some(stream) = self.streams.get_mut(&next)
        {
            stream.engine = Some(device);
            stream.head = HeadState::Unpolled;
            self.run_queue.push_back(next);
        }
    }

    /// Removes a destroyed stream after its last command.
    fn remove_if_finished(&mut self, id: StreamId) {
        let over = self
            .streams
            .get(&id)
            .is_some_and(|stream| stream.released && stream.is_idle() && stream.kind != StreamKind::Default);
        if over && let Some(stream) = self.streams.remove(&id) {
            if let Some(failure) = stream.failure {
                self.keep_unreported(stream.device, failure);
            }
            if let Some(worker) = stream.worker {
                worker.unpark();
            }
        }
    }
}

//! The scheduler: polls the first command of each stream and completes the commands that need no worker thread.

use interlock_driver::activity;
use interlock_driver::{DeviceIndex, Error, StreamHandle, TimelinePoint, races};

use crate::exec::command::{Command, QueuedCommand, Task};
use crate::exec::inner::Inner;
use crate::object::stream::{Stream, StreamId, Waiter};

/// What happens to the first command of a stream.
enum Fate {
    Proceed,
    /// It completes with an error, without running.
    Fail(Error),
    /// It breaks a device, for a reason.
    Lose(DeviceIndex, String),
    /// It does not complete.
    Hang,
}

impl Inner {
    /// Advances a stream as far as possible, and then the streams that wait for it.
    pub(crate) fn advance(&mut self, id: StreamId) {
        self.run_queue.push_back(id);
        while let Some(id) = self.run_queue.pop_front() {
            while self.poll_head(id) {
                self.skip_head(id);
            }
            self.remove_if_finished(id);
        }
    }

    /// Advances every stream as far as possible.
    pub(crate) fn advance_all(&mut self) {
        let all: Vec<_> = self.streams.keys().copied().collect();
        all.into_iter().for_each(|id| self.advance(id));
    }

    /// Returns whether the first command of a stream completes now, without a worker thread.
    fn poll_head(&mut self, id: StreamId) -> bool {
        let Some(stream) = self.streams.get(&id) else { return false };
        let Some(command) = stream.poll_front() else { return false };
        match &command.command {
            Command::Nop => true,
            Command::SignalEvent(event) => {
                let (event, point) = (*event, TimelinePoint { stream: id, position: command.position });
                match self.fate(stream.device(), command, None) {
                    Fate::Hang => return false,
                    Fate::Fail(error) => {
                        let reported_at = command.reported_at;
                        self.store_async_error(reported_at, error);
                    }
                    Fate::Lose(device, reason) => return self.lose_and_poll_again(id, device, &reason),
                    Fate::Proceed => {}
                }
                self.signal_event(event, point);
                true
            }
            Command::WaitFor(_) if self.is_lost(stream.device()) => true,
            Command::WaitFor(point) => {
                let point = *point;
                self.poll_wait(id, point)
            }
            Command::Run(task) => match self.fate(stream.device(), command, Some(task)) {
                Fate::Fail(error) => {
                    let reported_at = command.reported_at;
                    self.store_async_error(reported_at, error);
                    true
                }
                Fate::Lose(device, reason) => self.lose_and_poll_again(id, device, &reason),
                Fate::Hang => false,
                Fate::Proceed => {
                    self.poll_task(id);
                    false
                }
            },
        }
    }

    /// Returns what happens to a task, or to the record of an event, whose turn it is. A stream of a lost device runs no
    /// task on any device, because the work that the task depends on may not have run; its records complete.
    fn fate(&self, stream_device: DeviceIndex, command: &QueuedCommand, task: Option<&Task>) -> Fate {
        let mut devices =
            [stream_device, command.device].into_iter().chain(task.into_iter().flat_map(Task::devices));
        let operation = || task.map_or_else(|| "Event.record".into(), |task| task.operation(command.device));
        if let Some(lost) = devices.find(|device| self.is_lost(*device)) {
            let error = task.and_then(|_| self.check_not_lost(lost, &operation()).err());
            return error.map_or(Fate::Proceed, Fate::Fail);
        }
        if command.fault.never_completes() {
            return Fate::Hang;
        }
        let Some(failure) = command.fault.failure() else { return Fate::Proceed };
        match failure.loss(&operation()) {
            Some(reason) => Fate::Lose(command.device, reason),
            None => Fate::Fail(failure.error(command.device, &operation())),
        }
    }

    /// Loses a device and polls the command again that has caused it. The advance in progress polls the other streams.
    fn lose_and_poll_again(&mut self, id: StreamId, device: DeviceIndex, reason: &str) -> bool {
        self.mark_lost(device, reason);
        self.poll_head(id)
    }

    /// Returns whether a point is reached; otherwise registers the stream as a waiter of it.
    fn poll_wait(&mut self, id: StreamId, point: TimelinePoint) -> bool {
        if self.is_reached(point) {
            return true;
        }
        let waiter_id = self.next_id();
        let (waiting, awaited) = (self.handle_of(id), self.handle_of(point.stream));
        let begin = || activity::begin_wait(waiting, awaited);
        if self.streams.get_mut(&id).is_some_and(|stream| stream.block_on_event(begin))
            && let Some(awaited) = self.streams.get_mut(&point.stream)
        {
            awaited.add_waiter(point.position, waiter_id, Waiter::Stream(id));
        }
        false
    }

    /// Makes the first task of a stream runnable, unless it must wait for a copy engine or copies are paused.
    fn poll_task(&mut self, id: StreamId) {
        let ticket = self.next_id();
        let copies_are_paused = self.faults.copies_are_paused();
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(QueuedCommand { command: Command::Run(task), device, .. }) = stream.poll_front() else {
            return;
        };
        let (needs_engine, is_copy, device) = (task.needs_copy_engine(), task.is_copy(), *device);
        if needs_engine && !stream.has_engine() {
            if stream.is_blocked_on_engine() {
                return;
            }
            let Some(state) = self.devices.get_mut(usize::from(device)) else { return };
            if !state.engines.acquire(id, stream.priority(), ticket) {
                stream.block_on_engine();
                return;
            }
            stream.grant_engine(device);
        }
        if is_copy && copies_are_paused {
            stream.pause(ticket);
        } else {
            stream.make_runnable();
        }
    }

    /// Resumes the copy that has been paused for the longest time; returns false if no copy is paused.
    pub(crate) fn begin_paused_copy(&mut self) -> bool {
        let paused = self.streams.values_mut().filter_map(|stream| Some((stream.paused_at()?, stream)));
        let first = paused.min_by_key(|(ticket, _)| *ticket).map(|(_, stream)| stream);
        first.map(Stream::make_runnable).is_some()
    }

    /// Completes the first command of a stream without running it.
    fn skip_head(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(command) = stream.pop_front() else { return };
        if stream.is_blocked_on_engine()
            && let Some(device) = self.devices.get_mut(usize::from(command.device))
        {
            device.engines.cancel(id);
        }
        if let Command::Run(task) = command.command {
            self.defer_drop(task);
        }
        self.complete(id, command.position);
    }

    /// Completes the command at a position: releases its copy engine and wakes the waiters that the position reaches.
    pub(crate) fn complete(&mut self, id: StreamId, position: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let engine = stream.complete(position);
        while let Some(waiter) = stream.take_reached_waiter() {
            match waiter {
                Waiter::Stream(waiting) => self.run_queue.push_back(waiting),
                Waiter::Thread(parker) => parker.unpark(),
            }
        }
        if let Some(device) = engine
            && let Some(next) = self.devices.get_mut(usize::from(device)).and_then(|d| d.engines.release())
            && let Some(stream) = self.streams.get_mut(&next)
        {
            stream.grant_engine(device);
            self.run_queue.push_back(next);
        }
    }

    /// Removes a destroyed stream after its last command.
    fn remove_if_finished(&mut self, id: StreamId) {
        if self.streams.get(&id).is_some_and(Stream::is_finished)
            && let Some(stream) = self.streams.remove(&id)
        {
            let device = stream.device();
            races::end_stream(StreamHandle { device, raw: id });
            if let Some(error) = stream.finish() {
                self.store_unreported(device, error);
            }
        }
    }
}

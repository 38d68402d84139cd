//! What moves streams on: looks at the first command of a stream, and does what takes no time.

use interlock_driver::DeviceIndex;
use interlock_driver::Error;

use super::command::{Command, Step, Task};
use super::failure;
use super::state::State;
use super::stream::{Head, Kind, Mark, Stream, StreamId, Waiter};

/// What is to be done with the first command of a stream.
enum Next {
    /// It is over: without having been anything that runs, or because it failed.
    Pass,
    /// Something else has to come first.
    Stay,
}

impl State {
    /// Moves a stream on as far as it can, and so all that wait for it.
    pub(super) fn settle(&mut self, id: StreamId) {
        self.unsettled.push_back(id);
        while let Some(id) = self.unsettled.pop_front() {
            while let Next::Pass = self.look_at(id) {
                self.pass(id);
            }
            self.let_go_if_over(id);
        }
    }

    /// Moves every stream on as far as it can.
    pub(super) fn settle_all(&mut self) {
        let all: Vec<_> = self.streams.keys().copied().collect();
        all.into_iter().for_each(|id| self.settle(id));
    }

    fn look_at(&mut self, id: StreamId) -> Next {
        let Some(stream) = self.streams.get(&id) else { return Next::Stay };
        if matches!(stream.head, Head::Ready | Head::Running) {
            return Next::Stay;
        }
        let Some(command) = stream.queue.front() else { return Next::Stay };
        match &command.step {
            Step::Pass => Next::Pass,
            Step::Reach(event) => {
                let (event, mark) = (*event, Mark { stream: id, position: command.position });
                self.reach(event, mark);
                Next::Pass
            }
            Step::Await(_) if self.is_lost(stream.device) => Next::Pass,
            Step::Await(mark) => {
                let mark = *mark;
                self.look_at_awaited(id, mark)
            }
            Step::Do(task) => match self.why_it_fails(stream.device, command, task) {
                Some(error) => {
                    let told_by = command.told_by;
                    self.fail(told_by, error);
                    Next::Pass
                }
                None => self.look_at_task(id),
            },
        }
    }

    /// Why work fails without being begun, if so. On a stream of a lost device nothing runs, wherever it was to
    /// be done: what it should have waited for may be missing.
    fn why_it_fails(&self, home: DeviceIndex, command: &Command, task: &Task) -> Option<Error> {
        let mut devices = [home, command.device].into_iter().chain(task.devices());
        let operation = || task.operation(command.device);
        match (devices.find(|device| self.is_lost(*device)), &command.fault) {
            (Some(lost), _) => self.check_not_lost(lost, &operation()).err(),
            (None, Some(reason)) => Some(failure::late(command.device, operation(), reason.clone())),
            (None, None) => None,
        }
    }

    fn look_at_awaited(&mut self, id: StreamId, mark: Mark) -> Next {
        if self.is_reached(mark) {
            return Next::Pass;
        }
        let number = self.number();
        let Some(stream) = self.streams.get_mut(&id) else { return Next::Stay };
        if stream.head != Head::Waiting {
            stream.head = Head::Waiting;
            if let Some(awaited) = self.streams.get_mut(&mark.stream) {
                awaited.add_waiter(mark.position, number, Waiter::Stream(id));
            }
        }
        Next::Stay
    }

    /// Work that can be begun, as soon as there is an engine for it if it needs one.
    fn look_at_task(&mut self, id: StreamId) -> Next {
        let turn = self.number();
        let copies_are_held = self.faults.copies_are_held();
        let Some(stream) = self.streams.get_mut(&id) else { return Next::Stay };
        let Some(Command { step: Step::Do(task), device, .. }) = stream.queue.front() else {
            return Next::Stay;
        };
        if task.moves_data() && stream.engine.is_none() {
            if stream.head == Head::ForEngine {
                return Next::Stay;
            }
            let Some(state) = self.devices.get_mut(usize::from(*device)) else { return Next::Stay };
            if !state.engines.take(id, stream.priority, turn) {
                stream.head = Head::ForEngine;
                return Next::Stay;
            }
            stream.engine = Some(*device);
        }
        if task.is_copy() && copies_are_held {
            if !matches!(stream.head, Head::Held(_)) {
                stream.head = Head::Held(turn);
            }
            return Next::Stay;
        }
        stream.make_ready();
        Next::Stay
    }

    /// Lets the copy begin that has been held up for longest; false where none is.
    pub(super) fn begin_held_copy(&mut self) -> bool {
        let held = self.streams.values_mut().filter_map(|stream| match stream.head {
            Head::Held(number) => Some((number, stream)),
            _ => None,
        });
        let longest = held.min_by_key(|(number, _)| *number).map(|(_, stream)| stream);
        longest.map(Stream::make_ready).is_some()
    }

    /// The first command is over and never ran.
    fn pass(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(command) = stream.queue.pop_front() else { return };
        if stream.head == Head::ForEngine
            && let Some(device) = self.devices.get_mut(usize::from(command.device))
        {
            device.engines.leave(id);
        }
        if let Step::Do(task) = command.step {
            self.waste.add(task);
        }
        self.end(id, command.position);
    }

    /// The command at this place is over: gives its engine to the next, and moves on who waited.
    pub(super) fn end(&mut self, id: StreamId, position: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.done = position;
        stream.head = Head::Fresh;
        let engine = stream.engine.take();
        while let Some(waiter) = stream.next_waiter() {
            match waiter {
                Waiter::Stream(waiting) => self.unsettled.push_back(waiting),
                Waiter::Thread(parker) => parker.unpark(),
            }
        }
        if let Some(device) = engine
            && let Some(next) = self.devices.get_mut(usize::from(device)).and_then(|d| d.engines.give_back())
            && let Some(stream) = self.streams.get_mut(&next)
        {
            stream.engine = Some(device);
            stream.head = Head::Fresh;
            self.unsettled.push_back(next);
        }
    }

    /// A released stream goes with its last command.
    fn let_go_if_over(&mut self, id: StreamId) {
        let over = self
            .streams
            .get(&id)
            .is_some_and(|stream| stream.released && stream.is_idle() && stream.kind != Kind::Default);
        if over && let Some(stream) = self.streams.remove(&id) {
            if let Some(failure) = stream.failure {
                self.keep_orphan(stream.device, failure);
            }
            if let Some(worker) = stream.worker {
                worker.unpark();
            }
        }
    }
}

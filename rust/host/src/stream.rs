//! Streams: what is queued, how far it got, and who waits for it to get further.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use interlock_core::base::parker::Parker;
use interlock_core::device::Device;
use interlock_driver::capture::CaptureId;
use interlock_driver::{DeviceIndex, PriorityRange, StreamHandle};
use interlock_driver::{Error, Result};

use super::command::{Command, Step, Task};
use super::device;
use super::failure::Failure;
use super::shared::Shared;
use super::state::State;
use super::{capture, worker};

/// What a stream is called natively; no two of a driver ever have the same.
pub(super) type StreamId = u64;

/// A place in a stream: after its first `position` commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) stream: StreamId,
    pub(super) position: u64,
}

/// The priorities of every device's streams.
pub(super) const PRIORITIES: PriorityRange = PriorityRange { least: 0, greatest: -3 };

pub(super) struct Stream {
    pub(super) device: DeviceIndex,
    pub(super) priority: i32,
    pub(super) kind: Kind,
    /// It goes once nothing is queued any more.
    pub(super) released: bool,
    pub(super) queue: VecDeque<Command>,
    pub(super) head: Head,
    /// The device of whose engines the first command has one.
    pub(super) engine: Option<DeviceIndex>,
    /// How many commands were queued since the stream was made.
    pub(super) queued: u64,
    /// How many of these are over. They end in order, so this is a place as well.
    pub(super) done: u64,
    /// By the place that they wait for, and a number.
    waiters: BTreeMap<(u64, u64), Waiter>,
    pub(super) failure: Option<Failure>,
    pub(super) capture: Option<CaptureId>,
    /// Where its thread sleeps, while it has one.
    pub(super) worker: Option<Arc<Parker>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The one that its device has from the start.
    Default,
    /// Made by a program.
    Made,
    /// A part of an executable graph.
    Lane,
}

/// What the first command of a stream is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// Nobody looked at it yet.
    Fresh,
    /// It waits for another stream.
    Waiting,
    /// It waits for an engine.
    ForEngine,
    /// It has an engine, which is held up. A smaller number has been for longer.
    Held(u64),
    /// The stream's thread is about to run it.
    Ready,
    /// The stream's thread runs it. It is not in the queue any more.
    Running,
}

/// Who waits for a stream.
pub(super) enum Waiter {
    Stream(StreamId),
    Thread(Arc<Parker>),
}

impl Stream {
    fn new(device: DeviceIndex, priority: i32, kind: Kind) -> Self {
        Stream {
            device,
            priority,
            kind,
            released: false,
            queue: VecDeque::new(),
            head: Head::Fresh,
            engine: None,
            queued: 0,
            done: 0,
            waiters: BTreeMap::new(),
            failure: None,
            capture: None,
            worker: None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.done == self.queued
    }

    pub(super) fn add_waiter(&mut self, position: u64, number: u64, waiter: Waiter) {
        self.waiters.insert((position, number), waiter);
    }

    pub(super) fn forget_waiter(&mut self, position: u64, number: u64) {
        self.waiters.remove(&(position, number));
    }

    /// The next of those who wait for a place that has been reached.
    pub(super) fn next_waiter(&mut self) -> Option<Waiter> {
        let first = self.waiters.first_entry()?;
        (first.key().0 <= self.done).then(|| first.remove())
    }

    /// The stream's thread runs its first command now.
    pub(super) fn make_ready(&mut self) {
        self.head = Head::Ready;
        if let Some(worker) = &self.worker {
            worker.unpark();
        }
    }

    /// Wakes the threads that wait, reached or not; each looks for itself. Streams go on waiting.
    pub(super) fn wake_threads(&mut self) {
        self.waiters.retain(|_, waiter| match waiter {
            Waiter::Stream(_) => true,
            Waiter::Thread(parker) => {
                parker.unpark();
                false
            }
        });
    }
}

impl State {
    /// Adds a stream and returns what it is called.
    pub(super) fn add_stream(&mut self, device: DeviceIndex, priority: i32, kind: Kind) -> StreamId {
        let id = self.number();
        self.streams.insert(id, Stream::new(device, priority, kind));
        id
    }

    /// The stream of a handle, if that is one that a program has and the device is not lost.
    pub(super) fn stream(&mut self, handle: StreamHandle, operation: &'static str) -> Result<&mut Stream> {
        self.check_not_lost(handle.device, operation)?;
        self.streams
            .get_mut(&handle.raw)
            .filter(|stream| stream.device == handle.device && stream.kind != Kind::Lane && !stream.released)
            .ok_or_else(|| Error::Argument {
                name: operation,
                given: format!("the number {}", handle.raw),
                allowed: format!("a stream of {} that was not released", device::named(handle.device)),
            })
    }

    /// Whether a stream got to a place. One that is gone got to all its places.
    pub(super) fn is_reached(&self, mark: Mark) -> bool {
        self.streams.get(&mark.stream).is_none_or(|stream| stream.done >= mark.position)
    }

    /// The place after everything that is queued.
    pub(super) fn end_of(&self, stream: StreamId) -> Mark {
        Mark { stream, position: self.streams.get(&stream).map_or(0, |stream| stream.queued) }
    }

    /// Queues a command, on `device` if that is another than the stream's. It starts with the next
    /// [`settle`](State::settle). Its failures are told by itself or another place.
    pub(super) fn push(
        &mut self,
        id: StreamId,
        step: Step,
        device: Option<DeviceIndex>,
        told_by: Option<Mark>,
    ) -> Mark {
        let fault = match &step {
            Step::Do(task) => self.faults.next_for(task),
            _ => None,
        };
        let Some(stream) = self.streams.get_mut(&id) else { return Mark { stream: id, position: 0 } };
        stream.queued += 1;
        let mark = Mark { stream: id, position: stream.queued };
        stream.queue.push_back(Command {
            step,
            device: device.unwrap_or(stream.device),
            told_by: told_by.unwrap_or(mark),
            fault,
            position: mark.position,
        });
        mark
    }

    /// Lets a stream go once nothing is queued on it any more.
    pub(super) fn destroy_stream(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.released = true;
        let handle = StreamHandle { device: stream.device, raw: id };
        if let Some(capture) = stream.capture.take() {
            self.on_stream_destroyed(capture, handle);
        }
        self.settle(id);
    }
}

impl Shared {
    pub(super) fn default_stream(&self, device: DeviceIndex) -> Result<StreamHandle> {
        let mut state = self.lock()?;
        state.device(device, "the default stream")?;
        let found =
            state.streams.iter().find(|(_, stream)| stream.device == device && stream.kind == Kind::Default);
        let raw = found.map(|(id, _)| *id);
        raw.map(|raw| StreamHandle { device, raw })
            .ok_or_else(|| Error::from(Device::invalid_index(device::named(device))))
    }

    pub(super) fn create_stream(&self, device: DeviceIndex, priority: i32) -> Result<StreamHandle> {
        let mut state = self.lock()?;
        state.device(device, "Stream")?;
        if !(PRIORITIES.greatest..=PRIORITIES.least).contains(&priority) {
            return Err(Error::Argument {
                name: "the priority of a Stream",
                given: priority.to_string(),
                allowed: format!("{} to {}", PRIORITIES.greatest, PRIORITIES.least),
            });
        }
        Ok(StreamHandle { device, raw: state.add_stream(device, priority, Kind::Made) })
    }

    pub(super) fn wrap_external_stream(&self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        let handle = StreamHandle { device, raw };
        let mut state = self.lock()?;
        state.device(device, "an external stream")?;
        state.stream(handle, "an external stream")?;
        Ok(handle)
    }

    pub(super) fn release(&self, handle: StreamHandle) {
        let Ok(mut state) = self.lock() else { return };
        let made = state.streams.get(&handle.raw).is_some_and(|stream| stream.kind == Kind::Made);
        if made {
            state.destroy_stream(handle.raw);
        }
    }

    /// Queues work, or records it if the stream captures.
    pub(super) fn queue(
        self: &Arc<Self>,
        handle: StreamHandle,
        task: Task,
        operation: &'static str,
    ) -> Result<()> {
        let mut state = self.lock()?;
        let stream = state.stream(handle, operation)?;
        let (capture, priority) = (stream.capture, stream.priority);
        for device in task.devices() {
            state.device(device, operation)?;
        }
        if let Some(capture) = capture {
            let node = capture::NewNode { task, device: handle.device, priority };
            return state.record_task(capture, handle.raw, node, operation);
        }
        worker::ensure(self, &mut state, handle.raw)?;
        state.push(handle.raw, Step::Do(task), None, None);
        state.settle(handle.raw);
        Ok(())
    }
}

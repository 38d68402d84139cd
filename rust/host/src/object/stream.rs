//! Streams: what is queued, how far it got, and who waits for it to get further.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use interlock_core::base::parker::Parker;
use interlock_driver::capture::CaptureId;
use interlock_driver::{DeviceIndex, Error, PriorityRange, Result, StreamHandle};

use crate::exec::async_error::AsyncError;
use crate::exec::command::{Command, QueuedCommand};
use crate::exec::inner::Inner;
use crate::object::{device, err_released};

/// What a stream is called natively; no two of a driver ever have the same.
pub(crate) type StreamId = u64;

/// A place in a stream: after its first `position` commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimelinePoint {
    pub(crate) stream: StreamId,
    pub(crate) position: u64,
}

/// The priorities of every device's streams.
pub(crate) const PRIORITIES: PriorityRange = PriorityRange { least: 0, greatest: -3 };

pub(crate) struct Stream {
    pub(crate) device: DeviceIndex,
    pub(crate) priority: i32,
    pub(crate) kind: StreamKind,
    /// It is removed once nothing is queued any more.
    pub(crate) released: bool,
    pub(crate) queue: VecDeque<QueuedCommand>,
    pub(crate) head: HeadState,
    /// The device of whose engines the first command has one.
    pub(crate) engine: Option<DeviceIndex>,
    /// How many commands were queued since the stream was made.
    pub(crate) queued: u64,
    /// How many of these are over. They end in order, so this is a place as well.
    pub(crate) done: u64,
    /// By the place that they wait for, and a number.
    waiters: BTreeMap<(u64, u64), Waiter>,
    pub(crate) failure: Option<AsyncError>,
    pub(crate) capture: Option<CaptureId>,
    /// Where its thread sleeps, while it has one.
    pub(crate) worker: Option<Arc<Parker>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// The one that its device has from the start.
    Default,
    /// Made by a program.
    Made,
    /// A part of an executable graph.
    Replay,
}

/// What the first command of a stream is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadState {
    /// It was not polled yet.
    Unpolled,
    /// It waits for another stream.
    BlockedOnEvent,
    /// It waits for an engine.
    BlockedOnEngine,
    /// It has an engine, which is held up. A smaller number has been for longer.
    Paused(u64),
    /// The stream's thread is about to run it.
    Runnable,
    /// The stream's thread runs it. It is not in the queue any more.
    Running,
}

/// Who waits for a stream.
pub(crate) enum Waiter {
    Stream(StreamId),
    Thread(Arc<Parker>),
}

impl Stream {
    fn new(device: DeviceIndex, priority: i32, kind: StreamKind) -> Self {
        Stream {
            device,
            priority,
            kind,
            released: false,
            queue: VecDeque::new(),
            head: HeadState::Unpolled,
            engine: None,
            queued: 0,
            done: 0,
            waiters: BTreeMap::new(),
            failure: None,
            capture: None,
            worker: None,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.done == self.queued
    }

    pub(crate) fn add_waiter(&mut self, position: u64, number: u64, waiter: Waiter) {
        self.waiters.insert((position, number), waiter);
    }

    pub(crate) fn forget_waiter(&mut self, position: u64, number: u64) {
        self.waiters.remove(&(position, number));
    }

    /// The next of those who wait for a place that has been reached.
    pub(crate) fn next_waiter(&mut self) -> Option<Waiter> {
        let first = self.waiters.first_entry()?;
        (first.key().0 <= self.done).then(|| first.remove())
    }

    /// The stream's thread runs its first command now.
    pub(crate) fn make_ready(&mut self) {
        self.head = HeadState::Runnable;
        if let Some(worker) = &self.worker {
            worker.unpark();
        }
    }

    /// Wakes the threads that wait, reached or not; each looks for itself. Streams go on waiting.
    pub(crate) fn wake_threads(&mut self) {
        self.waiters.retain(|_, waiter| match waiter {
            Waiter::Stream(_) => true,
            Waiter::Thread(parker) => {
                parker.unpark();
                false
            }
        });
    }
}

impl Inner {
    /// Adds a stream and returns what it is called.
    pub(crate) fn add_stream(&mut self, device: DeviceIndex, priority: i32, kind: StreamKind) -> StreamId {
        let id = self.number();
        self.streams.insert(id, Stream::new(device, priority, kind));
        id
    }

    /// The stream of a handle, if that is one that a program has and the device is not lost.
    pub(crate) fn stream(&mut self, handle: StreamHandle, operation: &'static str) -> Result<&mut Stream> {
        self.check_not_lost(handle.device, operation)?;
        let is_usable = |stream: &&mut Stream| {
            stream.device == handle.device && stream.kind != StreamKind::Replay && !stream.released
        };
        let what = || format!("a stream of {}", device::named(handle.device));
        let stream = self.streams.get_mut(&handle.raw).filter(is_usable);
        stream.ok_or_else(|| err_released(operation, handle.raw, &what()))
    }

    /// Returns whether a stream has reached a point. A removed stream has reached all its points.
    pub(crate) fn is_reached(&self, mark: TimelinePoint) -> bool {
        self.streams.get(&mark.stream).is_none_or(|stream| stream.done >= mark.position)
    }

    /// The place after everything that is queued.
    pub(crate) fn end_of(&self, stream: StreamId) -> TimelinePoint {
        TimelinePoint { stream, position: self.streams.get(&stream).map_or(0, |stream| stream.queued) }
    }

    /// Queues a command, on `device` if that is another than the stream's. It starts with the next
    /// [`advance`](Inner::advance). Its errors are reported at its own point or another one.
    pub(crate) fn push(
        &mut self,
        id: StreamId,
        command: Command,
        device: Option<DeviceIndex>,
        reported_at: Option<TimelinePoint>,
    ) -> TimelinePoint {
        let fault = match &command {
            Command::Run(task) => self.faults.next_for(task),
            _ => None,
        };
        let Some(stream) = self.streams.get_mut(&id) else {
            return TimelinePoint { stream: id, position: 0 };
        };
        stream.queued += 1;
        let mark = TimelinePoint { stream: id, position: stream.queued };
        stream.queue.push_back(QueuedCommand {
            command,
            device: device.unwrap_or(stream.device),
            reported_at: reported_at.unwrap_or(mark),
            fault,
            position: mark.position,
        });
        mark
    }

    /// Lets a stream go once nothing is queued on it any more.
    pub(crate) fn destroy_stream(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.released = true;
        let handle = StreamHandle { device: stream.device, raw: id };
        if let Some(capture) = stream.capture.take() {
            self.on_stream_destroyed(capture, handle);
        }
        self.advance(id);
    }

    pub(crate) fn default_stream(&mut self, device: DeviceIndex) -> Result<StreamHandle> {
        let raw = self.device(device, "the default stream")?.default_stream;
        Ok(StreamHandle { device, raw })
    }

    pub(crate) fn create_stream(&mut self, device: DeviceIndex, priority: i32) -> Result<StreamHandle> {
        self.device(device, "Stream")?;
        if !(PRIORITIES.greatest..=PRIORITIES.least).contains(&priority) {
            let allowed = format!("{} to {}", PRIORITIES.greatest, PRIORITIES.least);
            return Err(Error::argument("the priority of a Stream", priority.to_string(), allowed));
        }
        Ok(StreamHandle { device, raw: self.add_stream(device, priority, StreamKind::Made) })
    }

    pub(crate) fn wrap_external_stream(&mut self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        let handle = StreamHandle { device, raw };
        self.device(device, "an external stream")?;
        self.stream(handle, "an external stream")?;
        Ok(handle)
    }

    /// Destroys a stream that a program created, once nothing is queued on it any more.
    pub(crate) fn release(&mut self, handle: StreamHandle) {
        let is_made = self.streams.get(&handle.raw).is_some_and(|stream| stream.kind == StreamKind::Made);
        if is_made {
            self.destroy_stream(handle.raw);
        }
    }
}

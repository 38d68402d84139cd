//! Streams: their queued commands, progress and waiters.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use interlock_core::base::parker::Parker;
use interlock_driver::activity::Begun;
use interlock_driver::capture::CaptureId;
use interlock_driver::races::Queued;
use interlock_driver::{DeviceIndex, Error, PriorityRange, Result, StreamHandle, TimelinePoint, races};

use crate::exec::async_error::AsyncError;
use crate::exec::command::{Command, Origin, QueuedCommand};
use crate::exec::fault_plan::{Readiness, Work};
use crate::exec::inner::Inner;
use crate::object::{device, err_released};

/// The id of a stream, which the driver never reuses.
pub(crate) type StreamId = u64;

/// The stream priorities of every device.
pub(crate) const PRIORITIES: PriorityRange = PriorityRange { least: 0, greatest: -3 };

/// A stream. Its counters `submitted` and `completed` are positions on its timeline, which is reached when so many
/// commands have completed.
pub(crate) struct Stream {
    device: DeviceIndex,
    priority: i32,
    kind: StreamKind,
    /// Whether the handle was destroyed. The stream is then removed when its queue is empty.
    destroyed: bool,
    queue: VecDeque<QueuedCommand>,
    head: HeadState,
    /// When the first command began to wait for another stream, while a trace is recorded.
    waiting_since: Begun,
    /// The device whose copy engine the first command has acquired.
    engine: Option<DeviceIndex>,
    /// The number of commands that were queued since the stream was created.
    submitted: u64,
    /// The number of commands that have completed, always in order.
    completed: u64,
    /// The waiting threads and streams, ordered by the awaited position and the id of the waiter.
    waiters: BTreeMap<(u64, u64), Waiter>,
    async_error: Option<AsyncError>,
    capture: Option<CaptureId>,
    /// Unparks the worker thread, if there is one.
    worker: Option<Arc<Parker>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// The default stream of a device.
    Default,
    /// Created by the caller.
    Created,
    /// Created internally for an executable graph.
    Replay,
}

/// The state of the first command of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadState {
    Unpolled,
    /// Waiting for a point of another stream.
    BlockedOnEvent,
    /// Waiting for a copy engine.
    BlockedOnEngine,
    /// A paused copy that has acquired an engine. Copies paused earlier have smaller numbers.
    Paused(u64),
    /// Waiting for the worker to run it.
    Runnable,
    /// Taken from the queue by the worker, which runs it.
    Running,
}

/// A stream or thread that waits for a position of another stream.
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
            destroyed: false,
            queue: VecDeque::new(),
            head: HeadState::Unpolled,
            waiting_since: Begun::default(),
            engine: None,
            submitted: 0,
            completed: 0,
            waiters: BTreeMap::new(),
            async_error: None,
            capture: None,
            worker: None,
        }
    }

    pub(crate) fn device(&self) -> DeviceIndex {
        self.device
    }

    pub(crate) fn priority(&self) -> i32 {
        self.priority
    }

    pub(crate) fn kind(&self) -> StreamKind {
        self.kind
    }

    pub(crate) fn capture(&self) -> Option<CaptureId> {
        self.capture
    }

    pub(crate) fn set_capture(&mut self, capture: Option<CaptureId>) {
        self.capture = capture;
    }

    /// Returns the position after all commands that are queued now.
    pub(crate) fn end(&self) -> u64 {
        self.submitted
    }

    /// Returns the number of commands that have not completed.
    pub(crate) fn pending(&self) -> u64 {
        self.submitted - self.completed
    }

    /// Returns the first command, unless the worker runs it or is about to run it.
    pub(crate) fn poll_front(&self) -> Option<&QueuedCommand> {
        let is_claimed = matches!(self.head, HeadState::Runnable | HeadState::Running);
        self.queue.front().filter(|_| !is_claimed)
    }

    /// Removes the first command, which the worker does not run.
    pub(crate) fn pop_front(&mut self) -> Option<QueuedCommand> {
        self.queue.pop_front()
    }

    /// Returns whether the first command may run if it is runnable, or how long a fault delays it.
    pub(crate) fn readiness(&mut self) -> Readiness {
        match self.queue.front_mut() {
            Some(command) if self.head == HeadState::Runnable => command.fault.readiness(),
            _ => Readiness::Ready,
        }
    }

    /// Ends what faults do to queued commands, except failures.
    pub(crate) fn release_faults(&mut self) {
        self.queue.iter_mut().for_each(|command| command.fault.release());
        self.wake_worker();
    }

    fn wake_worker(&self) {
        if let Some(worker) = &self.worker {
            worker.unpark();
        }
    }

    /// Removes the first command for the worker to run, if it is runnable.
    pub(crate) fn take_runnable(&mut self) -> Option<QueuedCommand> {
        if self.head != HeadState::Runnable {
            return None;
        }
        self.head = HeadState::Running;
        self.queue.pop_front()
    }

    /// Blocks the first command on a point of another stream; returns false if it is blocked already.
    pub(crate) fn block_on_event(&mut self, begin: impl FnOnce() -> Begun) -> bool {
        let was_blocked = self.head == HeadState::BlockedOnEvent;
        if !was_blocked {
            self.waiting_since = begin();
        }
        self.head = HeadState::BlockedOnEvent;
        !was_blocked
    }

    pub(crate) fn block_on_engine(&mut self) {
        self.head = HeadState::BlockedOnEngine;
    }

    pub(crate) fn is_blocked_on_engine(&self) -> bool {
        self.head == HeadState::BlockedOnEngine
    }

    pub(crate) fn has_engine(&self) -> bool {
        self.engine.is_some()
    }

    /// Gives the first command a copy engine of a device.
    pub(crate) fn grant_engine(&mut self, device: DeviceIndex) {
        self.engine = Some(device);
        self.head = HeadState::Unpolled;
    }

    /// Pauses the first command, unless it is paused already.
    pub(crate) fn pause(&mut self, ticket: u64) {
        if self.paused_at().is_none() {
            self.head = HeadState::Paused(ticket);
        }
    }

    /// Returns the ticket of the first command if it is paused.
    pub(crate) fn paused_at(&self) -> Option<u64> {
        match self.head {
            HeadState::Paused(ticket) => Some(ticket),
            _ => None,
        }
    }

    /// Makes the scheduler poll a runnable command again, if the worker has not taken it yet.
    pub(crate) fn cancel_runnable(&mut self) {
        if self.head == HeadState::Runnable {
            self.head = HeadState::Unpolled;
        }
    }

    /// Completes all commands up to a position. Returns the device of the copy engine that is released.
    pub(crate) fn complete(&mut self, position: u64) -> Option<DeviceIndex> {
        self.completed = position;
        self.head = HeadState::Unpolled;
        std::mem::take(&mut self.waiting_since).end();
        self.engine.take()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.completed == self.submitted
    }

    /// Returns whether the stream is destroyed and has no unfinished work.
    pub(crate) fn is_finished(&self) -> bool {
        self.destroyed && self.is_idle() && self.kind != StreamKind::Default
    }

    /// Destroys the stream with its driver, even a default stream.
    pub(crate) fn close(&mut self) {
        self.destroyed = true;
        if self.kind == StreamKind::Default {
            self.kind = StreamKind::Created;
        }
    }

    /// Ends the worker of a finished stream and returns the unreported error.
    pub(crate) fn finish(self) -> Option<AsyncError> {
        if let Some(worker) = self.worker {
            worker.unpark();
        }
        self.async_error
    }

    /// Stores an error, unless one is stored already: later errors are often consequences of it.
    pub(crate) fn store_error(&mut self, error: AsyncError) {
        self.async_error.get_or_insert(error);
    }

    pub(crate) fn async_error(&self) -> Option<&AsyncError> {
        self.async_error.as_ref()
    }

    pub(crate) fn take_error(&mut self) -> Option<AsyncError> {
        self.async_error.take()
    }

    pub(crate) fn has_worker(&self) -> bool {
        self.worker.is_some()
    }

    pub(crate) fn set_worker(&mut self, worker: Arc<Parker>) {
        self.worker = Some(worker);
    }

    /// Detaches the worker if the stream is idle; returns whether it is.
    pub(crate) fn detach_idle_worker(&mut self) -> bool {
        if self.is_idle() {
            self.worker = None;
        }
        self.is_idle()
    }

    pub(crate) fn add_waiter(&mut self, position: u64, id: u64, waiter: Waiter) {
        self.waiters.insert((position, id), waiter);
    }

    pub(crate) fn remove_waiter(&mut self, position: u64, id: u64) {
        self.waiters.remove(&(position, id));
    }

    /// Removes and returns a waiter whose position is reached.
    pub(crate) fn take_reached_waiter(&mut self) -> Option<Waiter> {
        let first = self.waiters.first_entry()?;
        (first.key().0 <= self.completed).then(|| first.remove())
    }

    /// Wakes the worker to run the first command.
    pub(crate) fn make_runnable(&mut self) {
        self.head = HeadState::Runnable;
        self.wake_worker();
    }

    /// Wakes all waiting threads, which check their state again. Waiting streams stay registered.
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
    /// Adds a stream and returns its id.
    pub(crate) fn add_stream(&mut self, device: DeviceIndex, priority: i32, kind: StreamKind) -> StreamId {
        let id = self.next_id();
        self.streams.insert(id, Stream::new(device, priority, kind));
        id
    }

    /// Returns the stream of a handle.
    ///
    /// # Errors
    /// Returns [`Error::DeviceLost`] if its device is lost, and [`Error::Argument`] if the stream does not exist, was
    /// destroyed or belongs to an executable graph.
    pub(crate) fn stream(&mut self, handle: StreamHandle, operation: &'static str) -> Result<&mut Stream> {
        self.check_not_lost(handle.device, operation)?;
        let is_usable = |stream: &&mut Stream| {
            stream.device == handle.device && stream.kind != StreamKind::Replay && !stream.destroyed
        };
        let what = || format!("a stream of {}", device::named(handle.device));
        let stream = self.streams.get_mut(&handle.raw).filter(is_usable);
        stream.ok_or_else(|| err_released(operation, handle.raw, &what()))
    }

    /// Returns whether a stream has reached a point. A removed stream has reached all its points.
    pub(crate) fn is_reached(&self, point: TimelinePoint) -> bool {
        self.streams.get(&point.stream).is_none_or(|stream| stream.completed >= point.position)
    }

    /// Returns the handle of a stream.
    pub(crate) fn handle_of(&self, stream: StreamId) -> StreamHandle {
        let device = self.streams.get(&stream).map(Stream::device);
        debug_assert!(device.is_some(), "the handle of the stream {stream}, which was destroyed");
        StreamHandle { device: device.unwrap_or(0), raw: stream }
    }

    /// Returns the point after all commands that are queued now.
    pub(crate) fn end_of(&self, stream: StreamId) -> TimelinePoint {
        let submitted = self.streams.get(&stream).map(|stream| stream.submitted);
        debug_assert!(submitted.is_some(), "the end of the stream {stream}, which was destroyed");
        TimelinePoint { stream, position: submitted.unwrap_or(0) }
    }

    /// Queues a command and returns its point. The next [`advance`](Inner::advance) polls it.
    pub(crate) fn push(&mut self, id: StreamId, command: Command, origin: Origin) -> TimelinePoint {
        let Some(stream) = self.streams.get_mut(&id) else {
            debug_assert!(false, "work for the stream {id}, which was destroyed");
            return TimelinePoint { stream: id, position: 0 };
        };
        let device = origin.device.unwrap_or(stream.device);
        let work = Work::of_command(&command, device, id);
        let fault = work.map(|work| self.faults.count(&work)).unwrap_or_default();
        let handle = StreamHandle { device: stream.device, raw: id };
        let queued = match &command {
            Command::Run(task) => races::queue(handle, || task.operation(device)),
            Command::SignalEvent(_) | Command::WaitFor(_) | Command::Nop => Queued::default(),
        };
        stream.submitted += 1;
        let point = TimelinePoint { stream: id, position: stream.submitted };
        stream.queue.push_back(QueuedCommand {
            command,
            device,
            reported_at: origin.reported_at.unwrap_or(point),
            fault,
            position: point.position,
            queued,
            link: origin.link,
        });
        point
    }

    /// Destroys a stream when its queued commands have completed.
    pub(crate) fn destroy_stream(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.destroyed = true;
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
            let allowed = format!("from {} to {}", PRIORITIES.greatest, PRIORITIES.least);
            return Err(Error::argument("Stream: priority", priority.to_string(), allowed));
        }
        Ok(StreamHandle { device, raw: self.add_stream(device, priority, StreamKind::Created) })
    }

    pub(crate) fn wrap_external_stream(&mut self, device: DeviceIndex, raw: u64) -> Result<StreamHandle> {
        let handle = StreamHandle { device, raw };
        self.device(device, "an external stream")?;
        self.stream(handle, "an external stream")?;
        Ok(handle)
    }

    /// Destroys the stream of a handle if the caller created it; default streams stay.
    pub(crate) fn destroy_created_stream(&mut self, handle: StreamHandle) {
        if self.streams.get(&handle.raw).is_some_and(|stream| stream.kind == StreamKind::Created) {
            self.destroy_stream(handle.raw);
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::options::HostOptions;

    #[test]
    fn points_of_a_destroyed_stream_fail_in_test_builds() {
        let fails = |act: fn(&mut Inner, StreamId) -> TimelinePoint| {
            let mut inner = Inner::new(&HostOptions::default());
            let stream = inner.add_stream(0, 0, StreamKind::Created);
            _ = act(&mut inner, stream);
            inner.destroy_stream(stream);
            catch_unwind(AssertUnwindSafe(|| act(&mut inner, stream))).is_err()
        };
        assert!(fails(|inner, stream| inner.end_of(stream)));
        assert!(fails(|inner, stream| {
            let point = inner.push(stream, Command::Nop, Origin::default());
            inner.advance(stream);
            point
        }));
    }
}

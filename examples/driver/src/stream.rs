//! A stream: a thread that runs commands in the order in which they were queued.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use interlock_driver::{Access, Address, ByteRange, Copy, Device, Error, Fill, HostFn, Result};

use crate::lock;

/// What a stream does.
pub(crate) enum Command {
    Copy(Copy),
    Fill(Fill),
    HostFn(HostFn),
    /// Waits until another stream has reached a position.
    WaitFor(Arc<Stream>, u64),
}

impl Command {
    fn run(&self, device: Device) -> Result<()> {
        match self {
            Command::Copy(copy) => {
                let (to, from) = (pointer(copy.to.address()), pointer(copy.from.address()));
                let ranges = [ByteRange::written(to, copy.bytes), ByteRange::read(from, copy.bytes)];
                let _access = Access::new(&ranges);
                // SAFETY: the caller of `copy` guarantees that both endpoints are valid until the copy has completed or
                // as long as its `keep_alive` lives, which the command owns. The access excludes work of other streams
                // on these bytes.
                unsafe { ptr::copy(from, to, copy.bytes) };
            }
            Command::Fill(fill) => {
                let to = pointer(fill.address);
                let _access = Access::new(&[ByteRange::written(to, fill.bytes)]);
                // SAFETY: the caller of `fill` guarantees the same for its bytes.
                unsafe { ptr::write_bytes(to, fill.value, fill.bytes) };
            }
            Command::HostFn(function) => {
                // A panic of the function is a failure as well.
                return function.call().map_err(|reason| Error::Device {
                    device,
                    operation: function.name.to_string(),
                    reason,
                    code: None,
                });
            }
            Command::WaitFor(stream, position) => {
                stream.wait(*position, None);
            }
        }
        Ok(())
    }
}

fn pointer(address: Address) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address.0 as usize)
}

/// A queue with its thread, which runs until the stream is closed and all commands have completed.
pub(crate) struct Stream {
    device: Device,
    state: Mutex<State>,
    /// Notified when a command was queued or has completed, and when the stream is closed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Command>,
    /// The number of commands queued so far, which is the position of the last one.
    queued: u64,
    /// The number of commands completed so far.
    completed: u64,
    /// The first error that was not yet reported, with the position of its command.
    error: Option<(u64, Error)>,
    closed: bool,
}

impl Stream {
    /// Creates a stream and starts its thread.
    pub(crate) fn start(device: Device) -> Result<Arc<Self>> {
        let stream = Arc::new(Stream { device, state: Mutex::default(), changed: Condvar::new() });
        let worker = stream.clone();
        let thread = thread::Builder::new().name(format!("{device} stream"));
        thread.spawn(move || worker.run()).map_err(|error| Error::Device {
            device,
            operation: "starting the thread of a stream".into(),
            reason: error.to_string(),
            code: error.raw_os_error(),
        })?;
        Ok(stream)
    }

    /// Returns the device of the stream.
    pub(crate) fn device(&self) -> Device {
        self.device
    }

    fn run(&self) {
        while let Some(command) = self.next() {
            let result = command.run(self.device);
            // What the command owns is released before it completes: a thread that waited for it may rely on that. The
            // destructor is the caller's code, so it runs without the lock, and its panic must not end the thread.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(command)));
            let mut state = lock(&self.state);
            state.completed += 1;
            if let (Err(error), None) = (result, &state.error) {
                state.error = Some((state.completed, error));
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits for the next command; returns `None` once the stream is closed and the queue is empty.
    fn next(&self) -> Option<Command> {
        let is_idle = |state: &mut State| state.queue.is_empty() && !state.closed;
        let state = self.changed.wait_while(lock(&self.state), is_idle);
        state.unwrap_or_else(PoisonError::into_inner).queue.pop_front()
    }

    /// Queues a command.
    pub(crate) fn push(&self, command: Command) {
        let mut state = lock(&self.state);
        state.queue.push_back(command);
        state.queued += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// Returns the position of the last command.
    pub(crate) fn end(&self) -> u64 {
        lock(&self.state).queued
    }

    /// Returns whether everything queued has completed.
    pub(crate) fn is_idle(&self) -> bool {
        let state = lock(&self.state);
        state.completed == state.queued
    }

    /// Returns whether the command at a position, and so all before it, has completed.
    pub(crate) fn has_reached(&self, position: u64) -> bool {
        lock(&self.state).completed >= position
    }

    /// Waits for a position; returns false once the deadline has passed.
    pub(crate) fn wait(&self, position: u64, deadline: Option<Instant>) -> bool {
        let is_pending = |state: &mut State| state.completed < position;
        let state = lock(&self.state);
        let Some(deadline) = deadline else {
            drop(self.changed.wait_while(state, is_pending));
            return true;
        };
        let timeout = deadline.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(state, timeout, is_pending);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.completed >= position
    }

    /// Returns the error of a command up to a position, which then counts as reported.
    pub(crate) fn take_error(&self, position: u64) -> Option<Error> {
        lock(&self.state).error.take_if(|(failed, _)| *failed <= position).map(|(_, error)| error)
    }

    /// Ends the thread as soon as everything queued has completed.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }

    /// Returns whether the stream was closed.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Returns whether a closed stream has neither work nor an error left.
    pub(crate) fn is_finished(&self) -> bool {
        let state = lock(&self.state);
        state.closed && state.completed == state.queued && state.error.is_none()
    }
}

//! A stream: a thread that runs commands in the order in which they were queued.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use interlock_driver::{Access, Address, ByteRange, Copy, Device, Error, Fill, HostFn, Result};

use crate::lock;

/// An entry in the queue of a stream.
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
                // SAFETY: the caller of `copy` guarantees that both endpoints are valid until the copy has completed,
                // or as long as its `owners` require, which the command has. `Access` excludes other work on these
                // bytes.
                unsafe { ptr::copy(from, to, copy.bytes) };
            }
            Command::Fill(fill) => {
                let to = pointer(fill.address);
                let _access = Access::new(&[ByteRange::written(to, fill.bytes)]);
                // SAFETY: the caller of `fill` guarantees that the bytes are valid until the fill has completed, or as
                // long as its `owners` require, which the command has. `Access` excludes other work on these bytes.
                unsafe { ptr::write_bytes(to, fill.value, fill.bytes) };
            }
            Command::HostFn(function) => {
                // `call` also returns a failure if the function panics.
                return function.call().map_err(|failure| Error::device(device, &*function.name, failure));
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

/// A queue and its thread, which runs until the stream is closed and all commands have completed.
pub(crate) struct Stream {
    device: Device,
    state: Mutex<State>,
    /// Notified when a command was queued or has completed, and when the stream is closed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Command>,
    /// The number of commands that were queued, which is the position of the last one.
    submitted: u64,
    /// The number of commands that have completed.
    completed: u64,
    /// The position and the error of the first unreported failure.
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
            cause: None,
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
            // Dropped before the command completes: a wait that returns implies that its owners are dropped. The
            // destructor is code of the caller, so it runs without the lock, and its panic must not end the thread.
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
        state.submitted += 1;
        drop(state);
        self.changed.notify_all();
    }

    /// Returns the position of the last command.
    pub(crate) fn end(&self) -> u64 {
        lock(&self.state).submitted
    }

    /// Returns whether all commands have completed.
    pub(crate) fn is_idle(&self) -> bool {
        let state = lock(&self.state);
        state.completed == state.submitted
    }

    /// Returns whether all commands up to a position have completed.
    pub(crate) fn has_reached(&self, position: u64) -> bool {
        lock(&self.state).completed >= position
    }

    /// Waits for a position; returns false on timeout.
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

    /// Takes the error, if its command is at or before a position.
    pub(crate) fn take_error(&self, position: u64) -> Option<Error> {
        lock(&self.state).error.take_if(|(failed, _)| *failed <= position).map(|(_, error)| error)
    }

    /// Closes the stream: its thread ends when all commands have completed.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.changed.notify_all();
    }

    /// Returns whether the stream was closed.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Returns whether the stream is closed and has neither unfinished work nor an unreported error.
    pub(crate) fn is_finished(&self) -> bool {
        let state = lock(&self.state);
        state.closed && state.completed == state.submitted && state.error.is_none()
    }
}

//! The queue between threads of streams, which do not run Python, and the worker threads that call Python for them.

use std::collections::{HashMap, VecDeque};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use interlock::accelerator::driver::races::{self, Running};
use interlock::accelerator::driver::{Cause, Failure, StreamHandle};
use interlock::state;
use interlock_core::base::fork;
use interlock_core::base::mutex::{Condvar, Mutex};
use pyo3::prelude::*;

use crate::deferred_drop::DeferredDrop;
use crate::python_cause::{OwnsException, PythonCause};

/// The state that the threads of streams and the workers share.
pub(super) struct CallbackQueue {
    generation: u32,
    /// The queue of this process that this one replaced. Workers may still run its calls.
    replaced: Option<&'static CallbackQueue>,
    /// All Python objects that streams and graphs own, so that they can be released before the interpreter is
    /// finalized.
    pub(super) functions: Mutex<HashMap<u64, Arc<PyCall>>>,
    /// The exceptions of functions that errors of the driver own, released like the functions.
    exceptions: Mutex<HashMap<u64, DeferredDrop>>,
    pub(super) state: Mutex<QueueState>,
    pub(super) changed: Condvar,
}

pub(super) struct PyCall {
    pub(super) function: DeferredDrop,
    pub(super) arguments: DeferredDrop,
    pub(super) keywords: DeferredDrop,
}

#[derive(Default)]
pub(super) struct QueueState {
    pub(super) waiting: VecDeque<Arc<PendingCall>>,
    /// All calls without a result, including those that a worker runs.
    unfinished: Vec<Arc<PendingCall>>,
    /// The number of workers that wait for a call.
    pub(super) idle: usize,
    /// The number of workers that have been requested and do not wait for a call yet.
    pub(super) starting: usize,
    pub(super) last_function: u64,
    last_exception: u64,
    /// Whether the queue accepts no more calls, because the interpreter is about to be finalized.
    pub(super) closed: bool,
}

/// A call that a stream waits for.
pub(super) struct PendingCall {
    pub(super) function: u64,
    pub(super) stream: StreamHandle,
    /// The thread state of the launching thread.
    pub(super) state: state::ThreadState,
    /// What the thread of the stream runs, for the detection of races.
    pub(super) running: Running,
    result: Mutex<Option<Result<(), Failure>>>,
    ended: Condvar,
}

const FINALIZING: &str = "the interpreter is about to end";

impl CallbackQueue {
    fn new(replaced: Option<&'static CallbackQueue>) -> Self {
        CallbackQueue {
            generation: fork::generation(),
            replaced: replaced.filter(|replaced| replaced.is_current_process()),
            functions: Mutex::default(),
            exceptions: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Returns the queue of this process and interpreter.
    pub(super) fn current() -> &'static CallbackQueue {
        loop {
            let found = CALLBACK_QUEUE.load(Ordering::Acquire);
            // SAFETY: a queue is never freed.
            match unsafe { found.as_ref() } {
                Some(queue) if queue.is_current_process() => return queue,
                // A forked child has none of the threads of its parent and creates a new queue.
                _ => CallbackQueue::replace(found),
            }
        }
    }

    /// Returns the number of the next function to be queued, or `None` once the queue is closed.
    pub(super) fn next_function(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        state.last_function += 1;
        Some(state.last_function)
    }

    /// Returns the failure of a function that raised an exception, which the failure owns.
    pub(super) fn failure(&'static self, reason: String, exception: Bound<'_, PyAny>) -> Failure {
        let number = {
            let mut state = self.state.lock();
            if state.closed {
                return reason.into();
            }
            state.last_exception += 1;
            state.last_exception
        };
        self.exceptions.lock().insert(number, DeferredDrop::new_for_driver(exception));
        let raised = RaisedException { queue: self, number };
        Failure { reason, cause: Some(Cause::new(PythonCause(Box::new(raised)))) }
    }

    fn replace(found: *mut CallbackQueue) {
        // SAFETY: a queue is never freed.
        let new = Box::into_raw(Box::new(CallbackQueue::new(unsafe { found.as_ref() })));
        if CALLBACK_QUEUE.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: the new queue was not published.
            drop(unsafe { Box::from_raw(new) });
        }
    }

    pub(super) fn is_current_process(&self) -> bool {
        self.generation == fork::generation()
    }

    /// Closes the queue and drops every function and exception. Returns the calls that no worker has taken.
    fn close(&self) -> VecDeque<Arc<PendingCall>> {
        let waiting = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.waiting)
        };
        let functions = std::mem::take(&mut *self.functions.lock());
        let exceptions = std::mem::take(&mut *self.exceptions.lock());
        // Without the locks, because this may drop the last references of objects.
        drop((functions, exceptions));
        self.changed.notify_all();
        waiting
    }
}

static CALLBACK_QUEUE: AtomicPtr<CallbackQueue> = AtomicPtr::new(ptr::null_mut());

/// Drops every function and fails the calls that no worker has taken. The next launch creates a new queue, because
/// later `atexit` handlers may launch, and a program may call the handlers itself.
pub(crate) fn forget(_py: Python<'_>) {
    let queue = CallbackQueue::current();
    queue.close().iter().for_each(|pending| pending.end(Err(FINALIZING.into())));
    CallbackQueue::replace(ptr::from_ref(queue).cast_mut());
}

/// Fails every call, including those that a worker runs, and rejects later launches. Called by the thread that
/// finalizes the interpreter, which is the only one that still runs Python, so no worker can finish a call.
pub(crate) fn close(_py: Python<'_>) {
    let mut next = Some(CallbackQueue::current());
    while let Some(queue) = next {
        queue.close();
        let unfinished = std::mem::take(&mut queue.state.lock().unfinished);
        unfinished.iter().for_each(|pending| pending.end(Err(FINALIZING.into())));
        next = queue.replaced;
    }
}

/// Accepts launches for a new interpreter of this process.
pub(crate) fn open(_py: Python<'_>) {
    let queue = CallbackQueue::current();
    if queue.state.lock().closed {
        CallbackQueue::replace(ptr::from_ref(queue).cast_mut());
    }
}

/// Keeps a Python function alive for a stream or a graph.
pub(super) struct FunctionGuard {
    pub(super) queue: &'static CallbackQueue,
    pub(super) function: u64,
}

impl Drop for FunctionGuard {
    fn drop(&mut self) {
        // In a forked child, the lock may be held by a thread that does not exist there.
        if self.queue.is_current_process() {
            let removed = self.queue.functions.lock().remove(&self.function);
            drop(removed);
        }
    }
}

/// Keeps the exception of a function alive for an error of the driver, until the interpreter is finalized.
struct RaisedException {
    queue: &'static CallbackQueue,
    number: u64,
}

impl Drop for RaisedException {
    fn drop(&mut self) {
        // In a forked child, the lock may be held by a thread that does not exist there.
        if self.queue.is_current_process() {
            let removed = self.queue.exceptions.lock().remove(&self.number);
            drop(removed);
        }
    }
}

impl OwnsException for RaisedException {
    fn exception(&self, py: Python<'_>) -> Option<PyErr> {
        if !self.queue.is_current_process() {
            return None;
        }
        let exceptions = self.queue.exceptions.lock();
        let exception = exceptions.get(&self.number).map(|exception| exception.bind(py).clone());
        exception.map(PyErr::from_value)
    }
}

/// Queues a call of the function and waits until a worker has run it. Runs on the thread of a stream.
pub(super) fn call_python(guard: &FunctionGuard, stream: StreamHandle) -> Result<(), Failure> {
    let pending = Arc::new(PendingCall {
        function: guard.function,
        stream,
        state: state::ThreadState::capture(),
        running: races::current(),
        result: Mutex::default(),
        ended: Condvar::new(),
    });
    {
        let mut state = guard.queue.state.lock();
        if state.closed {
            return Err(FINALIZING.into());
        }
        state.waiting.push_back(pending.clone());
        state.unfinished.push(pending.clone());
    }
    guard.queue.changed.notify_one();
    let result = pending.wait();
    guard.queue.state.lock().unfinished.retain(|unfinished| !Arc::ptr_eq(unfinished, &pending));
    result
}

impl PendingCall {
    pub(super) fn end(&self, result: Result<(), Failure>) {
        self.result.lock().get_or_insert(result);
        self.ended.notify_all();
    }

    fn wait(&self) -> Result<(), Failure> {
        loop {
            if let Some(result) = self.ended.wait_while(self.result.lock(), |result| result.is_none()).take()
            {
                return result;
            }
        }
    }
}

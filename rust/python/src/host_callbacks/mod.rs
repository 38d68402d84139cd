//! Python functions in the order of a stream.
//!
//! The thread of a stream never runs Python, because a finalizing interpreter stops threads by unwinding their stacks,
//! which must not contain Rust frames. It queues the call for a worker, a thread that Python started, and waits for the
//! result. Workers run calls of all streams. Before a worker runs a call while no other is idle, it starts another one,
//! so that functions of different streams run at the same time.

mod queue;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use interlock::accelerator::HostFnScope;
use interlock::accelerator::driver::ByteRange;
use interlock::accelerator::driver::races::Running;
use interlock::accelerator::{HostFn, Stream as CoreStream};
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::accelerator::stream;
use crate::args::extract_list;
use crate::deferred_drop::DeferredDrop;
use crate::detach::{detach, detach_to_wait};
use crate::errors::{IntoPyResult, new_type_error};
use crate::qualified_name::callable_name;
use crate::shutdown::{self, close_if_finalizing};
use crate::state::ThreadState;
use crate::switches::extract_as;
use crate::traverse;
use queue::{CallbackQueue, FunctionGuard, PendingCall, PyCall, QueueState, call_python};
pub(crate) use queue::{close, forget, open};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<HostCallback>()?;
    module.add_class::<CallbackWorker>()?;
    module.add_class::<Call>()?;
    module.add_function(wrap_pyfunction!(park_if_finalizing, module)?)?;
    module.add_function(wrap_pyfunction!(worker_if_needed, module)?)
}

/// A call of a Python function to be queued on a stream.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct HostCallback {
    stream: CoreStream,
    name: String,
    function: Arc<PyCall>,
    /// The memory that it declares to use.
    uses: Vec<ByteRange>,
}

#[pymethods]
impl HostCallback {
    #[new]
    fn new(
        stream: &Bound<'_, PyAny>,
        function: Bound<'_, PyAny>,
        args: &Bound<'_, PyAny>,
        kwargs: &Bound<'_, PyAny>,
        uses: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let args: Bound<'_, PyTuple> = extract_as("HostCallback: args", "a tuple", args)?;
        let kwargs: Bound<'_, PyDict> = extract_as("HostCallback: kwargs", "a dict", kwargs)?;
        let stream = stream::extract(stream, "accelerator.launch")?;
        if !function.is_callable() {
            return Err(new_type_error("accelerator.launch: function", "callable", &function));
        }
        let name = callable_name(&function)?;
        let function = PyCall {
            function: DeferredDrop::new_for_driver(function),
            arguments: DeferredDrop::new_for_driver(args),
            keywords: DeferredDrop::new_for_driver(kwargs),
        };
        let uses = extract_list(uses, "HostCallback: uses")?;
        let range_of = |used: Bound<'_, PyAny>| {
            let (address, bytes, is_written) = used.extract::<(usize, usize, bool)>()?;
            let range = if is_written { ByteRange::written } else { ByteRange::read };
            Ok(range(std::ptr::without_provenance(address), bytes))
        };
        let uses = uses.iter().map(range_of).collect::<PyResult<_>>()?;
        Ok(HostCallback { stream, name, function: Arc::new(function), uses })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A queue that shares the call owns its objects as well.
        let is_only_owner = || Arc::strong_count(&self.function) == 1;
        let call = traverse::traverse(is_only_owner).unwrap_or(false).then_some(&self.function);
        let objects = call.map(|call| [&call.function, &call.arguments, &call.keywords]);
        objects.into_iter().flatten().try_for_each(|object| object.traverse(&visit))
    }

    /// Queue the call. The next wait for the stream reports an exception of the function.
    ///
    /// Raises:
    ///     RuntimeError: The interpreter is being finalized.
    fn queue(&self, py: Python<'_>) -> PyResult<()> {
        let queue = CallbackQueue::current();
        let Some(function) = queue.next_function() else {
            // A daemon thread stops here while the interpreter is finalized; otherwise it would only print a traceback.
            detach(py, || ());
            let message =
                "accelerator.launch: a Python function cannot be queued while the interpreter is finalized";
            return Err(PyRuntimeError::new_err(message));
        };
        queue.functions.lock().insert(function, self.function.clone());
        let (guard, stream) = (FunctionGuard { queue, function }, self.stream.handle().into_py_result(py)?);
        let work = HostFn::new(&self.name, move || call_python(&guard, stream)).with_uses(self.uses.clone());
        detach(py, || self.stream.launch(work)).into_py_result(py)
    }
}

/// A Python thread that runs queued calls, or is about to be started.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct CallbackWorker {
    queue: &'static CallbackQueue,
    started: AtomicBool,
}

/// Park this thread if the interpreter, which no longer starts threads, is finalized within a moment.
#[pyfunction]
fn park_if_finalizing(py: Python<'_>) {
    if !shutdown::is_finalizing_thread() {
        detach(py, shutdown::park_if_finalizing);
    }
}

/// Return a worker that the caller starts a thread for, or None if enough of them are idle.
#[pyfunction]
fn worker_if_needed(py: Python<'_>) -> Option<CallbackWorker> {
    close_if_finalizing(py);
    let queue = CallbackQueue::current();
    let mut state = queue.state.lock();
    let needed = state.idle + state.starting == 0 && !state.closed;
    state.starting += usize::from(needed);
    needed.then(|| CallbackWorker { queue, started: AtomicBool::new(false) })
}

impl CallbackWorker {
    /// The number of workers that remain without calls.
    const MAX_IDLE: usize = 4;

    fn mark_started(&self, state: &mut QueueState) {
        if !self.started.swap(true, Ordering::Relaxed) {
            state.starting = state.starting.saturating_sub(1);
        }
    }

    fn next_pending(&self) -> Option<Arc<PendingCall>> {
        // After a fork in a callback this is the only thread, and its process may end with it.
        if !self.queue.is_current_process() {
            return None;
        }
        let mut state = self.queue.state.lock();
        self.mark_started(&mut state);
        loop {
            if let Some(pending) = state.waiting.pop_front() {
                return Some(pending);
            }
            if state.closed || state.idle >= Self::MAX_IDLE {
                return None;
            }
            state.idle += 1;
            state = self.queue.changed.wait(state);
            state.idle -= 1;
        }
    }
}

#[pymethods]
impl CallbackWorker {
    /// Wait for a call; return None if this thread is no longer needed.
    fn next(&self, py: Python<'_>) -> Option<Call> {
        let pending = detach_to_wait(py, || self.next_pending())?;
        Some(Call { queue: self.queue, pending })
    }
}

impl Drop for CallbackWorker {
    fn drop(&mut self) {
        // Its thread may not have been started.
        if self.queue.is_current_process() {
            self.mark_started(&mut self.queue.state.lock());
        }
    }
}

/// A call that a worker has taken from the queue.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct Call {
    queue: &'static CallbackQueue,
    pending: Arc<PendingCall>,
}

/// The function, its positional and its keyword arguments.
type Callable<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl Call {
    /// Return the function and its arguments; None once the interpreter is about to be finalized.
    fn function<'py>(&self, py: Python<'py>) -> Option<Callable<'py>> {
        let found = self.queue.functions.lock().get(&self.pending.function).cloned()?;
        let (function, arguments) = (found.function.bind(py).clone(), found.arguments.bind(py).clone());
        Some((function, arguments, found.keywords.bind(py).clone()))
    }

    /// Return the state in which the call was launched.
    fn state(&self) -> ThreadState {
        ThreadState(self.pending.state.clone())
    }

    /// Mark this thread as running the function, so that it cannot wait for its stream.
    fn begin(&self) {
        // Cleared by `end`: the function must not have a Rust frame below it.
        std::mem::forget(HostFnScope::enter(self.pending.stream));
        self.pending.running.clone().set();
    }

    /// End the call, with the reason if it failed, and with the exception that it raised.
    #[pyo3(signature = (reason, exception))]
    fn end(&self, reason: &Bound<'_, PyAny>, exception: &Bound<'_, PyAny>) -> PyResult<()> {
        let reason: Option<String> = extract_as("Call.end: reason", "a str or None", reason)?;
        let exception: Option<Bound<'_, PyBaseException>> =
            extract_as("Call.end: exception", "an exception or None", exception)?;
        HostFnScope::clear();
        Running::default().set();
        // In a child that was forked by the function, the waiting stream does not exist.
        if self.queue.is_current_process() {
            let failure = reason.map(|reason| match exception {
                Some(exception) => self.queue.failure(reason, exception.into_any()),
                None => reason.into(),
            });
            self.pending.end(failure.map_or(Ok(()), Err));
        }
        Ok(())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // The thread was stopped during the call and has not ended it.
        if self.queue.is_current_process() {
            self.pending.end(Err("the thread that called it was stopped".into()));
        }
    }
}

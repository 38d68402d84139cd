//! Python functions in the order of a stream.
//!
//! A stream's own thread never runs Python: an interpreter that ends stops threads by unwinding their stacks,
//! which no frame of Rust may stand in the way of. It hands the call to a server, a thread that Python started,
//! and waits for it. Servers serve all streams. One that takes a call while no other is idle starts another first,
//! so functions of different streams run at the same time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use interlock::accelerator::{HostFn, HostFnScope, Stream as CoreStream};
use pyo3::exceptions::{PyException, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::exchange::{Calls, Exchange, Function, Kept, Pending, call_in_python, locked};
use super::stream;
use crate::detached::{close_if_finalizing, detached};
use crate::errors::IntoPyResult;
use crate::released::Released;
use crate::state::ThreadState;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Launch>()?;
    module.add_class::<Server>()?;
    module.add_class::<Call>()?;
    module.add_function(wrap_pyfunction!(stop_if_ending, module)?)?;
    module.add_function(wrap_pyfunction!(server_if_needed, module)?)
}

/// A call of a function to be queued on a stream.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct Launch {
    stream: CoreStream,
    name: String,
    function: Arc<Function>,
}

#[pymethods]
impl Launch {
    #[new]
    fn new(
        stream: &Bound<'_, PyAny>,
        function: Bound<'_, PyAny>,
        args: Bound<'_, PyTuple>,
        kwargs: Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let stream = stream::taken(stream)?;
        if !function.is_callable() {
            let class = function.get_type().name()?;
            let message = format!("accelerator.launch takes a function, got a value of type {class}");
            return Err(PyTypeError::new_err(message));
        }
        let name = match function.getattr("__qualname__") {
            Ok(name) => name.cast_into::<PyString>().ok(),
            // A callable needs no name, but an interrupt passes.
            Err(error) if error.is_instance_of::<PyException>(function.py()) => None,
            Err(interrupt) => return Err(interrupt),
        };
        let name = name.map_or_else(|| function.get_type().name(), Ok)?.to_string_lossy().into_owned();
        let function = Function {
            function: Released::new(function),
            arguments: Released::new(args),
            keywords: Released::new(kwargs),
        };
        Ok(Launch { stream, name, function: Arc::new(function) })
    }

    /// Queues the call. The next wait for the stream reports what the function raises. Raises RuntimeError while the
    /// interpreter is finalized.
    fn queue(&self, py: Python<'_>) -> PyResult<()> {
        let exchange = Exchange::current();
        let Some(function) = exchange.next_function() else {
            // A daemon thread of an interpreter that ends stops here: it would only print a traceback.
            detached(py, || ());
            let message =
                "accelerator.launch: a Python function cannot be queued while the interpreter is finalized";
            return Err(PyRuntimeError::new_err(message));
        };
        locked(&exchange.functions).insert(function, self.function.clone());
        let (kept, stream) = (Kept { exchange, function }, self.stream.handle().into_py_result(py)?);
        let work = HostFn::new(&self.name, move || call_in_python(&kept, stream));
        detached(py, || self.stream.launch(work)).into_py_result(py)
    }
}

/// A thread of Python that makes calls, or is to become one.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct Server {
    exchange: &'static Exchange,
    came: AtomicBool,
}

/// Parks this thread if the interpreter, which no longer starts threads, ends within a moment.
#[pyfunction]
fn stop_if_ending(py: Python<'_>) {
    crate::detached::stop_if_ending(py);
}

/// A server to be given a thread, where none is idle.
#[pyfunction]
fn server_if_needed(py: Python<'_>) -> Option<Server> {
    close_if_finalizing(py);
    let exchange = Exchange::current();
    let mut calls = locked(&exchange.calls);
    let needed = calls.idle + calls.coming == 0 && !calls.closed;
    calls.coming += usize::from(needed);
    needed.then(|| Server { exchange, came: AtomicBool::new(false) })
}

impl Server {
    /// So many stay when there is nothing to do.
    const SPARE: usize = 4;

    fn comes(&self, calls: &mut Calls) {
        if !self.came.swap(true, Ordering::Relaxed) {
            calls.coming = calls.coming.saturating_sub(1);
        }
    }

    fn next_pending(&self) -> Option<Arc<Pending>> {
        // After a fork in a function only this thread is left, and its process may end with it.
        if !self.exchange.is_of_this_process() {
            return None;
        }
        let mut calls = locked(&self.exchange.calls);
        self.comes(&mut calls);
        loop {
            if let Some(pending) = calls.waiting.pop_front() {
                return Some(pending);
            }
            if calls.closed || calls.idle >= Self::SPARE {
                return None;
            }
            calls.idle += 1;
            calls = self.exchange.changed.wait(calls).unwrap_or_else(PoisonError::into_inner);
            calls.idle -= 1;
        }
    }
}

#[pymethods]
impl Server {
    /// Waits for a call; None where this thread is not needed any more.
    fn next(&self, py: Python<'_>) -> Option<Call> {
        let pending = detached(py, || self.next_pending())?;
        Some(Call { exchange: self.exchange, pending })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may never have been given a thread.
        if self.exchange.is_of_this_process() {
            self.comes(&mut locked(&self.exchange.calls));
        }
    }
}

/// A call to be made by the server that took it.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct Call {
    exchange: &'static Exchange,
    pending: Arc<Pending>,
}

/// The function, its arguments and those that are named.
type Called<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl Call {
    /// What is to be called; None once the interpreter is about to end.
    fn function<'py>(&self, py: Python<'py>) -> Option<Called<'py>> {
        let found = locked(&self.exchange.functions).get(&self.pending.function).cloned()?;
        let (function, arguments) = (found.function.bind(py).clone(), found.arguments.bind(py).clone());
        Some((function, arguments, found.keywords.bind(py).clone()))
    }

    /// The state of the thread that launched it.
    fn state(&self) -> ThreadState {
        ThreadState(self.pending.state.clone())
    }

    /// This thread begins to run the function, and so must not wait for its stream.
    fn begin(&self) {
        // Until `end`: no frame of Rust may stand below the function.
        std::mem::forget(HostFnScope::enter(self.pending.stream));
    }

    /// It has returned, or failed for a reason.
    #[pyo3(signature = (reason))]
    fn end(&self, reason: Option<String>) {
        HostFnScope::clear();
        // In a child that was forked by the function the stream that waits is out of reach.
        if self.exchange.is_of_this_process() {
            self.pending.end(reason.map_or(Ok(()), Err));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // A thread that was stopped in the middle of the call won't tell how it ended.
        if self.exchange.is_of_this_process() {
            self.pending.end(Err("the thread that called it was stopped".to_owned()));
        }
    }
}

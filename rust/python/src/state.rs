//! Bindings of `interlock.state`: captured thread states and states of tasks.

use interlock::autograd::Mode;
use interlock::backends::SourceLocation;
use interlock::state;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::autograd::decorated;
use crate::errors::IntoPyResult;
use crate::scope_debug;
use crate::submodule::submodule;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "state")?;
    module.add_class::<ThreadState>()?;
    module.add_class::<StateScope>()?;
    module.add_class::<TaskState>()?;
    module.add_function(wrap_pyfunction!(open_scopes, &module)?)?;
    module.add_function(wrap_pyfunction!(unclosed_scopes, &module)?)?;
    module.add("TRACED", scope_debug::is_on())
}

/// Return where the scopes that are open on any thread or task were entered, as `file:line`, oldest first.
///
/// Raises:
///     NotTracedError: The process was started without `INTERLOCK_DEBUG=1`, so that the lines are not recorded.
#[pyfunction]
fn open_scopes(py: Python<'_>) -> PyResult<Vec<String>> {
    scope_debug::check_traced(py, "open_scopes: the lines that enter scopes")?;
    Ok(state::scope_trace::open_scopes().iter().map(ToString::to_string).collect())
}

/// Return where scopes were entered that have not been exited, as `file:line`: those of threads and tasks that have
/// ended (the first 100 distinct locations), and those that are open. Empty unless the process was started with
/// `INTERLOCK_DEBUG=1`.
#[pyfunction]
fn unclosed_scopes() -> (Vec<String>, Vec<String>) {
    let texts = |sites: Vec<SourceLocation>| sites.iter().map(ToString::to_string).collect();
    let unclosed_scopes = state::scope_trace::unclosed_scopes();
    (texts(unclosed_scopes.ended), texts(unclosed_scopes.still_open))
}

/// The native base class of `interlock.ThreadState`: modes, flags of its scopes, devices and streams of a thread.
#[pyclass(frozen, subclass, module = "interlock._core.state")]
pub(crate) struct ThreadState(pub(crate) state::ThreadState);

#[pymethods]
impl ThreadState {
    /// Capture the state of this thread; `pin` also captures every flag of the process.
    #[new]
    #[pyo3(signature = (*, pin=false))]
    fn new(py: Python<'_>, pin: bool) -> PyResult<Self> {
        scope_debug::warn_suspended_scopes(py)?;
        let captured = if pin { state::ThreadState::capture_pinned() } else { state::ThreadState::capture() };
        Ok(ThreadState(captured))
    }

    /// Return a context manager and decorator that applies the state on the thread that enters it, above all open
    /// scopes.
    fn apply(&self) -> StateScope {
        StateScope(state::StateScope::new(self.0.clone()))
    }

    /// Wrap a function so that the state is active during each call, on any thread.
    ///
    /// Args:
    ///     function: A function. If it is a generator function, a coroutine function or an asynchronous generator
    ///         function, the state is active during each step of its result.
    ///
    /// Returns:
    ///     The wrapped function.
    ///
    /// Raises:
    ///     TypeError: `function` is not callable.
    #[pyo3(signature = (function, /))]
    fn wrap<'py>(&self, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let scope = Bound::new(function.py(), self.apply())?;
        decorated(scope.as_any(), function)
    }

    /// Set the state as the base of this thread, below all open scopes, until the thread ends. For use as the
    /// initializer of worker threads.
    ///
    /// Example:
    ///     >>> from concurrent.futures import ThreadPoolExecutor
    ///     >>> import interlock
    ///     >>> with interlock.no_grad():
    ///     ...     state = interlock.capture()
    ///     >>> with ThreadPoolExecutor(1, initializer=state.install) as pool:
    ///     ...     pool.submit(interlock.is_grad_enabled).result()
    ///     False
    fn install(&self) {
        self.0.install();
    }

    fn __repr__(&self) -> String {
        let name = |on| if on { "True" } else { "False" };
        let modes = Mode::ALL.map(|mode| format!("{}={}", mode.name(), name(self.0.is_on(mode))));
        let flags = self.0.flags().into_iter().map(|(name, value)| format!("{name}={value}"));
        let device = self.0.device().map(|index| format!("device={index}"));
        let streams = Some(self.0.streams()).filter(|streams| !streams.is_empty());
        let streams = streams.map(|streams| format!("streams={streams:?}"));
        let default_device = self.0.default_device().map(|device| format!("default_device={device}"));
        let devices = [device, streams, default_device].into_iter().flatten();
        format!(
            "ThreadState({})",
            modes.into_iter().chain(flags).chain(devices).collect::<Vec<_>>().join(", ")
        )
    }

    /// The state is immutable, so a copy is the object itself.
    fn __copy__<'a, 'py>(slf: &'a Bound<'py, Self>) -> &'a Bound<'py, Self> {
        slf
    }

    fn __deepcopy__<'a, 'py>(slf: &'a Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> &'a Bound<'py, Self> {
        slf
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(format!("a ThreadState cannot be pickled; {PICKLE_CURE}")))
    }
}

/// The cure of an error that a state, or what contains one, cannot be pickled.
const PICKLE_CURE: &str = "copy the flags to other processes with backends.snapshot().install";

/// A scope in which a captured state is active; also a decorator.
#[pyclass(frozen, module = "interlock.state")]
pub(crate) struct StateScope(pub(crate) state::StateScope);

#[pymethods]
impl StateScope {
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        scope_debug::enter(py, self.0.scope(), || self.0.enter())
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        scope_debug::exit(py, self.0.scope())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(format!(
            "wrap and apply: their results cannot be pickled, because they contain a ThreadState; pass the function \
             itself, and {PICKLE_CURE}"
        )))
    }

    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // Calls use their own scope: an exit of this one must find the thread that entered it.
        let calls = Bound::new(slf.py(), StateScope(slf.get().0.clone_unentered()))?;
        decorated(calls.as_any(), function)
    }
}

/// The state of one task. It begins as a copy of the state of the thread that creates it.
#[pyclass(frozen, module = "interlock._core.state")]
struct TaskState(state::TaskState);

#[pymethods]
impl TaskState {
    #[new]
    fn new() -> Self {
        TaskState(state::TaskState::new(&state::ThreadState::capture()))
    }

    /// Activate the task's state instead of the thread's: scopes that are entered and values that are written then stay
    /// with the task. Raises `TaskIsRunningError` within another step of the task.
    ///
    /// A context manager, so that no Rust frame is on the stack during the step: the interpreter ends a daemon thread
    /// by unwinding its stack, and Rust aborts the process if that unwinds Rust frames.
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        self.0.enter_step().into_py_result(py)
    }

    /// Activate the thread's state again.
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.0.exit_step();
    }
}

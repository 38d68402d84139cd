//! A thread's whole state as an object, and states of their own for tasks.

use interlock::autograd::Mode;
use interlock::backends::SourceLocation;
use interlock::state;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::autograd::decorated;
use crate::errors::IntoPyResult;
use crate::submodule::submodule;
use crate::scope_debug;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "state")?;
    module.add_class::<ThreadState>()?;
    module.add_class::<StateScope>()?;
    module.add_class::<TaskState>()?;
    module.add_function(wrap_pyfunction!(open_scopes, &module)?)?;
    module.add_function(wrap_pyfunction!(unclosed_scopes, &module)?)?;
    module.add("TRACED", scope_debug::is_on())
}

/// Where each scope was entered that is open on any thread or task, the first first: `file:line`. Empty
/// unless the process was started with `INTERLOCK_DEBUG=1`.
#[pyfunction]
fn open_scopes() -> Vec<String> {
    state::scope_trace::open_scopes().iter().map(ToString::to_string).collect()
}

/// Where scopes were entered that nobody has left, as `file:line`: those whose thread or task has ended (each
/// place once, the first hundred), and those that are open. Empty unless the process was started with
/// `INTERLOCK_DEBUG=1`.
#[pyfunction]
fn unclosed_scopes() -> (Vec<String>, Vec<String>) {
    let texts = |sites: Vec<SourceLocation>| sites.iter().map(ToString::to_string).collect();
    let unclosed_scopes = state::scope_trace::unclosed_scopes();
    (texts(unclosed_scopes.ended), texts(unclosed_scopes.still_open))
}

/// Everything that a thread decides for itself, as it was when it was captured.
#[pyclass(frozen, subclass, module = "interlock._core.state")]
pub(crate) struct ThreadState(pub(crate) state::ThreadState);

#[pymethods]
impl ThreadState {
    /// Takes the state of this thread; with `pin` every flag of the process is fixed as it is now.
    #[new]
    #[pyo3(signature = (*, pin=false))]
    fn new(py: Python<'_>, pin: bool) -> PyResult<Self> {
        scope_debug::warn_suspended_scopes(py)?;
        let captured = if pin { state::ThreadState::capture_pinned() } else { state::ThreadState::capture() };
        Ok(ThreadState(captured))
    }

    /// A context manager and decorator that puts the state in force on the thread that enters it, over
    /// whatever scopes are open there.
    fn apply(&self) -> StateScope {
        StateScope(state::StateScope::new(self.0.clone()))
    }

    /// `function` with the state in force during each call, wherever it is called; a generator, coroutine or
    /// async generator has it during each resume.
    #[pyo3(signature = (function, /))]
    fn wrap<'py>(&self, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let scope = Bound::new(function.py(), self.apply())?;
        decorated(scope.as_any(), function)
    }

    /// Makes the state what this thread starts from, below whatever scopes are open, until the thread ends:
    /// `ThreadPoolExecutor(initializer=state.install)`.
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
        let places = [device, streams, default_device].into_iter().flatten();
        format!(
            "ThreadState({})",
            modes.into_iter().chain(flags).chain(places).collect::<Vec<_>>().join(", ")
        )
    }

    /// It never changes, so a copy would be as good as it is.
    fn __copy__<'a, 'py>(slf: &'a Bound<'py, Self>) -> &'a Bound<'py, Self> {
        slf
    }

    fn __deepcopy__<'a, 'py>(slf: &'a Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> &'a Bound<'py, Self> {
        slf
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "the state of a thread can't leave its process; give other processes the flags with \
             backends.snapshot().install",
        ))
    }
}

/// A captured state that is put in force while the scope is open; also a decorator.
#[pyclass(frozen, module = "interlock.state")]
struct StateScope(state::StateScope);

#[pymethods]
impl StateScope {
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        scope_debug::enter(py, self.0.scope(), || self.0.enter())
    }

    fn __exit__(
        &self,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        scope_debug::exit(kind.py(), self.0.scope())
    }

    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // Calls have a scope of their own: a leave of this one must find the thread that entered it.
        let calls = Bound::new(slf.py(), StateScope(slf.get().0.clone_unentered()))?;
        decorated(calls.as_any(), function)
    }
}

/// The state of one task. It begins as a copy of the state of the thread that makes it.
#[pyclass(frozen, module = "interlock._core.state")]
struct TaskState(state::TaskState);

#[pymethods]
impl TaskState {
    #[new]
    fn new() -> Self {
        TaskState(state::TaskState::new(&state::ThreadState::capture()))
    }

    /// Puts the task's state in the place of the thread's; what is entered and written then stays with the task.
    /// Raises `TaskIsRunningError` within another step of the task.
    ///
    /// It is a context manager, so that no frame of Rust stands below the step: the interpreter ends a daemon
    /// thread by unwinding its stack, which Rust takes for the end of the process.
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        self.0.enter_step().into_py_result(py)
    }

    /// Puts the thread's state back.
    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.0.exit_step();
    }
}

//! A thread's whole state as an object, and states of their own for tasks.

use interlock::autograd::Mode;
use interlock::state;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::autograd::decorated;
use crate::errors::IntoPython;
use crate::submodule::submodule;
use crate::trace;

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "state")?;
    module.add_class::<ThreadState>()?;
    module.add_class::<StateScope>()?;
    module.add_class::<TaskState>()?;
    module.add_function(wrap_pyfunction!(capture, &module)?)?;
    module.add_function(wrap_pyfunction!(open_scopes, &module)?)?;
    module.add("TRACED", trace::is_on())
}

/// Takes this thread's whole state: the gradient modes, and the flags that its open scopes decide.
///
/// Flags that no scope of this thread decides follow the process wherever the state is put in force. With
/// `pin=True` every flag of the process is fixed as it is now.
#[pyfunction]
#[pyo3(signature = (*, pin=false))]
fn capture(py: Python<'_>, pin: bool) -> PyResult<ThreadState> {
    trace::look(py)?;
    let captured = if pin { state::ThreadState::capture_pinned() } else { state::ThreadState::capture() };
    Ok(ThreadState(captured))
}

/// Where each scope was entered that is open on any thread or task, the first first: `file:line`. Empty
/// unless the process was started with `INTERLOCK_DEBUG=1`.
#[pyfunction]
fn open_scopes() -> Vec<String> {
    state::trace::open_scopes().iter().map(ToString::to_string).collect()
}

/// Everything that a thread decides for itself, as it was when it was captured. It never changes, and may be
/// put in force on any thread, several times.
#[pyclass(frozen, module = "interlock.state")]
struct ThreadState(state::ThreadState);

#[pymethods]
impl ThreadState {
    /// A context manager and decorator that puts the state in force on the thread that enters it, over
    /// whatever scopes are open there.
    fn apply(&self) -> StateScope {
        StateScope(state::StateScope::new(self.0.clone()))
    }

    /// Calls `function` with the state in force, and returns what it returns. A generator or coroutine that it
    /// returns runs without the state: give `wrap` those.
    #[pyo3(signature = (function, /, *arguments, **named))]
    fn run<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.0.run(|| function.call(arguments, named))
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
        format!("ThreadState({})", modes.into_iter().chain(flags).collect::<Vec<_>>().join(", "))
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
        trace::enter(py, self.0.scope(), || self.0.enter())
    }

    fn __exit__(
        &self,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        trace::leave(kind.py(), self.0.scope())
    }

    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // Calls have a scope of their own: a leave of this one must find the thread that entered it.
        let twin = Bound::new(slf.py(), StateScope(slf.get().0.twin()))?;
        decorated(twin.as_any(), function)
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

    /// Calls `function` with the task's state in the place of the thread's; what it enters and writes stays
    /// with the task. Raises `TaskIsRunningError` within another step of the task.
    #[pyo3(signature = (function, /, *arguments))]
    fn step<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.0.step(|| function.call1(arguments)).into_python(function.py())?
    }
}

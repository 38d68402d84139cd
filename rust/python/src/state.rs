//! Bindings of `interlock.state`: captured states, defaults of the process, looks at contexts, and scopes that are left
//! open.

use std::sync::atomic::{AtomicUsize, Ordering};

use interlock::ProcessDefaults;
use interlock::accelerator;
use interlock::autograd::Mode;
use interlock::state::{self};
use interlock_core::base::mutex::Mutex;
use interlock_core::binding::thread::{self as binding, CarriedValues, Entered, ScopeMark};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use pyo3::{PyTraverseError, PyVisit};

use crate::args::{extract_dict, extract_str};
use crate::autograd::decorated;
use crate::call_site::CALL_FOR_CALLERS;
use crate::detach::call_with;
use crate::device::{optional as optional_device, parse_index};
use crate::errors::IntoPyResult;
use crate::held_locks::HeldLocks;
use crate::loaded_libraries::number_of_loads;
use crate::resumes::Resumes;
use crate::scope_group::ScopeGroup;
use crate::scope_warning::{file_and_line, warn};
use crate::state_pickle::{self, Plain};
use crate::submodule::submodule;
#[cfg(feature = "tensor")]
use crate::tensor::traverse_hooks;
use crate::uninterrupted_exit::{BegunAtCreation, UninterruptedExit};
use crate::{context, scope_debug, switches};

pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = submodule(parent, "state")?;
    module.add_class::<ThreadState>()?;
    module.add_class::<StateScope>()?;
    module.add_class::<ScopeBarrier>()?;
    module.add_class::<ScopeGroup>()?;
    module.add_class::<Resumes>()?;
    module.add_class::<CarriedTask>()?;
    module.add_class::<UninterruptedExit>()?;
    module.add_class::<BegunAtCreation>()?;
    module.add_class::<HeldLocks>()?;
    module.add_function(wrap_pyfunction!(set_process_defaults, &module)?)?;
    module.add_function(wrap_pyfunction!(process_defaults, &module)?)?;
    module.add_function(wrap_pyfunction!(open_scopes, &module)?)?;
    module.add_function(wrap_pyfunction!(end_open_scopes, &module)?)?;
    module.add_function(wrap_pyfunction!(unclosed_scopes, &module)?)?;
    module.add_function(wrap_pyfunction!(warn_not_open, &module)?)?;
    module.add_function(wrap_pyfunction!(begin_defaults, &module)?)?;
    module.add_function(wrap_pyfunction!(end_defaults, &module)?)?;
    module.add_function(wrap_pyfunction!(number_of_loads, &module)?)?;
    module.add("CALL_FOR_CALLERS", PyTuple::new(parent.py(), CALL_FOR_CALLERS)?)?;
    module.add("TRACED", scope_debug::is_on())
}

/// Return where the scopes that are open in any context were entered, as `file:line`, oldest first.
///
/// Those of a context that has ended are in the list until the thread that ran it last uses interlock again.
///
/// Raises:
///     NotTracedError: The process was started without `INTERLOCK_DEBUG=1`, so that the lines are not recorded.
#[pyfunction]
fn open_scopes(py: Python<'_>) -> PyResult<Vec<String>> {
    scope_debug::check_traced(py, "open_scopes: the lines that enter scopes")?;
    release_ended_context(py);
    Ok(binding::open_scopes().iter().map(ToString::to_string).collect())
}

/// Exit the scopes that are open in this context, as their `__exit__` would: scopes that the context has inherited end
/// wherever they are open. Return their number.
///
/// For a scope that was entered and lost, in a notebook for example. Writes without a scope and guards of Rust or C code
/// remain.
///
/// Example:
///     >>> import interlock
///     >>> interlock.no_grad().__enter__()
///     >>> interlock.state.end_open_scopes()
///     1
///     >>> interlock.is_grad_enabled()
///     True
#[pyfunction]
fn end_open_scopes() -> usize {
    ScopeMark::default().end_scopes_since().number
}

/// Looks at the current context: until then this thread owns the state of the context that it ran last, which may have
/// ended.
fn release_ended_context(py: Python<'_>) {
    context::sync(py);
}

/// The name of a scope, the file and the line where it was entered, and how often.
type UnclosedScope = (String, String, u32, usize);

/// Return the distinct scopes that have not been exited, each with its name, the file and the line that entered it, and the
/// number of enters: those of threads and contexts that have ended (the first 100), and those that are open. Empty unless the
/// process was started with `INTERLOCK_DEBUG=1`.
#[pyfunction]
fn unclosed_scopes(py: Python<'_>) -> (Vec<UnclosedScope>, Vec<UnclosedScope>) {
    release_ended_context(py);
    let of = |(scope, number): (Entered, usize)| {
        let (file, line) = file_and_line(&scope.site);
        (scope.name.to_string(), file.to_owned(), line, number)
    };
    let texts = |scopes: Vec<(Entered, usize)>| scopes.into_iter().map(of).collect();
    let unclosed_scopes = binding::unclosed_scopes();
    (texts(unclosed_scopes.ended), texts(unclosed_scopes.still_open))
}

/// Warn with `INTERLOCK_DEBUG=1` about the exit of a scope of this name, which is not open.
#[pyfunction]
fn warn_not_open(name: &Bound<'_, PyAny>) -> PyResult<()> {
    scope_debug::warn_not_open(name.py(), &extract_str(name, "warn_not_open: name")?)
}

/// Hide the state of the current context, so that the defaults of the process apply, and return a token for
/// `end_defaults`.
#[pyfunction]
fn begin_defaults(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    context::begin_defaults(py)
}

/// Restore the state that `begin_defaults` has hidden. Return False, without effect, in another context than that of the
/// token.
#[pyfunction]
fn end_defaults(token: &Bound<'_, PyAny>) -> bool {
    context::end_defaults(token.py(), token)
}

/// Without tensors there are no hooks.
#[cfg(not(feature = "tensor"))]
fn traverse_hooks(_state: &state::ThreadState, _visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    Ok(())
}

/// The native base class of `interlock.ThreadState`: modes, flags of scopes, devices and streams.
#[pyclass(frozen, subclass, weakref, module = "interlock._core.state")]
pub(crate) struct ThreadState(pub(crate) state::ThreadState);

#[pymethods]
impl ThreadState {
    /// Capture the current state; `pin` also captures every flag of the process.
    #[new]
    #[pyo3(signature = (*, pin=false))]
    fn new(py: Python<'_>, #[pyo3(from_py_with = switches::thread_state::pin)] pin: bool) -> PyResult<Self> {
        scope_debug::warn_suspended_scopes(py)?;
        let captured = if pin { state::ThreadState::capture_pinned() } else { state::ThreadState::capture() };
        Ok(ThreadState(captured))
    }

    /// Return a context manager and decorator that applies the state in the context that enters it, above all open
    /// scopes.
    fn apply(&self) -> StateScope {
        StateScope(state::StateScope::new(self.0.clone()))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        traverse_hooks(&self.0, &visit)
    }

    /// Set the state as the base of this thread, below all open scopes, until the thread ends, in place of what was
    /// written without a scope on the thread and in its current context. For use as the initializer of worker threads.
    ///
    /// Example:
    ///     >>> from concurrent.futures import ThreadPoolExecutor
    ///     >>> import interlock
    ///     >>> with interlock.no_grad():
    ///     ...     state = interlock.capture()
    ///     >>> with ThreadPoolExecutor(1, initializer=state.install) as pool:
    ///     ...     pool.submit(interlock.is_grad_enabled).result()
    ///     False
    fn install(&self, py: Python<'_>) -> PyResult<()> {
        self.0.install().into_py_result(py)
    }

    /// Return the name and the text of each part of the `repr`.
    #[pyo3(name = "_parts")]
    fn parts(&self) -> Vec<(String, String)> {
        parts(&self.0)
    }

    fn __repr__(&self) -> String {
        text(&self.0)
    }

    /// The state is immutable, so a copy is the object itself.
    fn __copy__<'a, 'py>(slf: &'a Bound<'py, Self>) -> &'a Bound<'py, Self> {
        slf
    }

    fn __deepcopy__<'a, 'py>(slf: &'a Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> &'a Bound<'py, Self> {
        slf
    }

    /// Return the state of a pickle.
    #[classmethod]
    #[pyo3(name = "_restored", signature = (*plain))]
    fn restored<'py>(cls: &Bound<'py, PyType>, plain: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let state = state_pickle::restored("ThreadState", plain)?;
        // The state that it captures is this one.
        state.run(|| call_with(cls.as_any(), ()))
    }

    /// Modes, flags and devices as plain data. TypeError if a stream, hook or recording is active in the state.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Plain<'py>)> {
        let plain = state_pickle::plain(slf.py(), &slf.get().0, "a ThreadState")?;
        Ok((slf.get_type().getattr("_restored")?, plain))
    }
}

/// Returns the `repr` of a state.
fn text(state: &state::ThreadState) -> String {
    let parts: Vec<_> = parts(state).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("ThreadState({})", parts.join(", "))
}

/// Returns the name and the text of each part of the `repr` of a state.
fn parts(state: &state::ThreadState) -> Vec<(String, String)> {
    let text = |on| if on { "True" } else { "False" };
    let modes = Mode::ALL.map(|mode| (mode.name(), text(state.is_on(mode)).to_owned()));
    let flags = state.flags().into_iter().map(|(name, value)| (name, value.to_string()));
    let (streams, pools) = (binding::streams_of(state), binding::mem_pools_of(state));
    let devices = [
        ("device", state.device().map(|index| index.to_string())),
        ("streams", (!streams.is_empty()).then(|| format!("{streams:?}"))),
        ("mem_pools", (!pools.is_empty()).then(|| format!("{pools:?}"))),
        ("default_device", state.default_device().map(|device| device.to_string())),
    ];
    let devices = devices.into_iter().filter_map(|(name, text)| Some((name, text?)));
    modes.into_iter().chain(flags).chain(devices).map(|(name, text)| (name.to_owned(), text)).collect()
}

/// Names a [`StateScope`] in messages.
const APPLY: &str = "ThreadState.apply";

/// A scope in which a captured state is active; also a decorator.
#[pyclass(frozen, module = "interlock.state")]
pub(crate) struct StateScope(pub(crate) state::StateScope);

#[pymethods]
impl StateScope {
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        scope_debug::enter(py, self.0.scope(), || APPLY.into(), || self.0.try_enter())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        traverse_hooks(self.0.state(), &visit)?;
        context::traverse_scope(self.0.scope(), &visit)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        scope_debug::exit(py, self.0.scope(), || APPLY.into())
    }

    fn __repr__(&self) -> String {
        format!("StateScope({})", text(self.0.state()))
    }

    /// Return the scope of a pickle, which is not open.
    #[classmethod]
    #[pyo3(name = "_restored", signature = (*plain))]
    fn restored(_cls: &Bound<'_, PyType>, plain: &Bound<'_, PyTuple>) -> PyResult<Self> {
        Ok(StateScope(state::StateScope::new(state_pickle::restored("StateScope", plain)?)))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Plain<'py>)> {
        let plain = state_pickle::plain(slf.py(), slf.get().0.state(), "the scope of a ThreadState")?;
        Ok((slf.get_type().getattr("_restored")?, plain))
    }

    #[pyo3(signature = (function, /))]
    fn __call__<'py>(slf: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // Calls use their own scope: an exit of this one must find the layer that it pushed.
        let calls = Bound::new(slf.py(), StateScope(slf.get().0.clone_unentered()))?;
        decorated(calls.as_any(), function)
    }
}

/// The carried values of a task: those of its creator at first.
#[pyclass(frozen, module = "interlock._core.state")]
struct CarriedTask(binding::CarriedTask);

#[pymethods]
impl CarriedTask {
    #[new]
    fn new() -> Self {
        CarriedTask(binding::CarriedTask::new(CarriedValues::save()))
    }

    /// Begin a step of the task: its values are those of this thread until `end`.
    fn begin(&self, py: Python<'_>) {
        self.0.begin();
        // Afterwards: hooks of modes find the values of the task.
        context::sync(py);
    }

    /// End the step.
    fn end(&self) {
        self.0.end();
    }
}

/// A context manager that ends the scopes that are left open in its block.
#[pyclass(frozen, module = "interlock._core.state")]
#[derive(Default)]
struct ScopeBarrier {
    marks: Mutex<Vec<ScopeMark>>,
    ended: AtomicUsize,
}

#[pymethods]
impl ScopeBarrier {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The number of scopes that the exits of this object have ended.
    #[getter]
    fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }

    fn __repr__(&self) -> String {
        format!("<interlock.state.scope_barrier: ended={}>", self.ended())
    }

    fn __enter__<'a, 'py>(slf: &'a Bound<'py, Self>) -> &'a Bound<'py, Self> {
        let mark = ScopeMark::new();
        slf.get().marks.lock().push(mark);
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        let mark = self.marks.lock().pop();
        let Some(ended) = mark.map(|mark| mark.end_scopes_since()) else {
            return scope_debug::warn_not_open(py, "scope_barrier");
        };
        self.ended.fetch_add(ended.number, Ordering::Relaxed);
        ended.entered.iter().try_for_each(|scope| {
            let message = format!(
                "the scope of {} entered here was still open at the end of its scope_barrier",
                scope.name
            );
            warn(py, &message, &scope.site)
        })
    }
}

/// Change the values of modes and devices for the process: `values` maps the names of `process_defaults` to values.
#[pyfunction]
fn set_process_defaults(values: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = values.py();
    let mut changes: Vec<Change> = Vec::new();
    for (name, value) in extract_dict(values, "set_process_defaults: values")? {
        changes.push(change_of(&name.extract::<String>()?, &value)?);
    }
    let change =
        |defaults: &mut ProcessDefaults| changes.into_iter().for_each(|change| change.apply(defaults));
    ProcessDefaults::change(change).into_py_result(py)?;
    context::sync(py);
    Ok(())
}

/// A checked argument of [`set_process_defaults`].
enum Change {
    Mode(Mode, Option<bool>),
    InferenceMode(Option<bool>),
    Device(Option<u8>),
    DefaultDevice(Option<accelerator::Device>),
}

impl Change {
    fn apply(self, defaults: &mut ProcessDefaults) {
        match self {
            Change::Mode(mode, on) => defaults.set_mode(mode, on),
            Change::InferenceMode(on) => defaults.set_inference_mode(on),
            Change::Device(index) => defaults.set_device(index),
            Change::DefaultDevice(device) => defaults.set_default_device(device),
        }
    }
}

fn change_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Change> {
    let what = format!("set_process_defaults: {name}");
    let switch = || switches::extract_as::<Option<bool>>(&what, "a bool or None", value);
    Ok(match name {
        "inference_mode" => Change::InferenceMode(switch()?),
        "grad_enabled" => Change::Mode(Mode::Grad, switch()?),
        "multithreading_enabled" => Change::Mode(Mode::Multithreading, switch()?),
        "device_index" if value.is_none() => Change::Device(None),
        "device_index" => {
            Change::Device(Some(parse_index(value, "set_process_defaults", name, "an index or None")?))
        }
        "default_device" => {
            let given = Some(value).filter(|value| !value.is_none());
            Change::DefaultDevice(optional_device(given, "set_process_defaults")?)
        }
        _ => return Err(PyTypeError::new_err(format!("set_process_defaults: unknown name {name}"))),
    })
}

/// Return the values of modes and devices for the process; None where the built-in default applies.
#[pyfunction]
fn process_defaults(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let defaults = ProcessDefaults::current();
    let values = PyDict::new(py);
    values.set_item("grad_enabled", defaults.mode(Mode::Grad))?;
    values.set_item("inference_mode", defaults.mode(Mode::Inference))?;
    values.set_item("multithreading_enabled", defaults.mode(Mode::Multithreading))?;
    values.set_item("device_index", defaults.device())?;
    values.set_item("default_device", defaults.default_device().map(|device| device.to_string()))?;
    Ok(values)
}

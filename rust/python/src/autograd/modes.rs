//! The mode classes. Each has its own `__new__` and `__init__` over a common object
//! ([`mode_object`]), because `no_grad(function)` returns a decorated function, not a `no_grad`.

use std::ffi::{CStr, c_int, c_void};

use interlock::autograd::ModeKind;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::decorated;
use super::mode_object;
use crate::detach::call_with;
use crate::errors::{IntoPyResult, new_type_error};
use crate::raw_types::{ffi_ptr, ffi_status};
use crate::scope_debug;
use crate::switches::extract_bool;

/// A mode class.
trait ModeClass {
    const KIND: ModeKind;
    /// The Python name.
    const NAME: &'static str;
    const DOC: &'static CStr;
    /// The name and the default of the argument.
    const ARGUMENT: (&'static str, Option<bool>) = ("mode", None);
    /// Whether `name(function)` decorates a function.
    const BARE: bool = false;
}

macro_rules! classes {
    ($($class:ident { $($body:tt)* })+) => {
        $(
            struct $class;
            impl ModeClass for $class { $($body)* }
        )+

        pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(add(module, $class::NAME, class::<$class>(module.py())?)?;)+
            Ok(())
        }
    };
}

classes! {
    NoGrad {
        const KIND: ModeKind = ModeKind::NoGrad;
        const NAME: &'static str = "no_grad";
        const DOC: &'static CStr = c"no_grad(orig_func=None)\n--\n\n\
            Disable the recording of the autograd graph in the current context.

            A context manager and a decorator, with or without parentheses. Other threads, including new ones,
            are not affected.

            Args:
                orig_func: The function, if used as a decorator without parentheses. The result is then a function.

            Raises:
                TypeError: `orig_func` is not a function.

            Example:
                >>> import interlock
                >>> x = interlock.ones(2, requires_grad=True)
                >>> with interlock.no_grad():
                ...     (x * 2).requires_grad
                False";
        const ARGUMENT: (&'static str, Option<bool>) = ("orig_func", Some(true));
        const BARE: bool = true;
    }
    EnableGrad {
        const KIND: ModeKind = ModeKind::EnableGrad;
        const NAME: &'static str = "enable_grad";
        const DOC: &'static CStr = c"enable_grad(orig_func=None)\n--\n\n\
            Enable the recording of the autograd graph in the current context, also inside `no_grad`.

            A context manager and a decorator, with or without parentheses. Inference mode is not changed.

            Args:
                orig_func: The function, if used as a decorator without parentheses. The result is then a function.

            Raises:
                TypeError: `orig_func` is not a function.

            Example:
                >>> import interlock
                >>> with interlock.no_grad(), interlock.enable_grad():
                ...     interlock.is_grad_enabled()
                True";
        const ARGUMENT: (&'static str, Option<bool>) = ("orig_func", Some(true));
        const BARE: bool = true;
    }
    SetGradEnabled {
        const KIND: ModeKind = ModeKind::SetGradEnabled;
        const NAME: &'static str = "set_grad_enabled";
        const DOC: &'static CStr = c"set_grad_enabled(mode)\n--\n\n\
            Enable or disable the recording of the autograd graph in the current context.

            A function, a context manager and a decorator. As a function it changes the innermost open scope that
            sets the mode, and ends with that scope. Without such a scope it lasts for the context, in a task
            for the task; `interlock.state.set_process_defaults` sets the mode for all contexts.

            Args:
                mode: Whether operations are recorded.

            Raises:
                TypeError: `mode` is not a bool.

            Example:
                >>> import interlock
                >>> with interlock.set_grad_enabled(False):
                ...     interlock.is_grad_enabled()
                False";
    }
    InferenceMode {
        const KIND: ModeKind = ModeKind::InferenceMode;
        const NAME: &'static str = "inference_mode";
        const DOC: &'static CStr = c"inference_mode(mode=True)\n--\n\n\
            Enable or disable inference mode in the current context.

            Tensors that are created inside are inference tensors: they record neither the autograd graph
            nor their version, and cannot be used where gradients are recorded. `inference_mode(False)`
            inside disables it again.

            A context manager and a decorator, with or without parentheses.

            Args:
                mode: Whether inference mode is enabled, or the function to decorate.

            Raises:
                TypeError: `mode` is neither a bool nor a function.

            Example:
                >>> import interlock
                >>> with interlock.inference_mode():
                ...     interlock.ones(2).is_inference()
                True";
        const ARGUMENT: (&'static str, Option<bool>) = ("mode", Some(true));
        const BARE: bool = true;
    }
    SetMultithreadingEnabled {
        const KIND: ModeKind = ModeKind::SetMultithreadingEnabled;
        const NAME: &'static str = "set_multithreading_enabled";
        const DOC: &'static CStr = c"set_multithreading_enabled(mode)\n--\n\n\
            Allow or forbid a backward pass to use threads other than the calling one.

            interlock's own engine always uses the calling thread. A function, a context manager and a
            decorator.

            Args:
                mode: Whether other threads may be used.

            Raises:
                TypeError: `mode` is not a bool.

            Example:
                >>> import interlock
                >>> with interlock.set_multithreading_enabled(False):
                ...     interlock.autograd.is_multithreading_enabled()
                False";
    }
    ForceOriginalViewTracking {
        const KIND: ModeKind = ModeKind::ForceOriginalViewTracking;
        const NAME: &'static str = "_force_original_view_tracking";
        const DOC: &'static CStr = c"_force_original_view_tracking(mode)\n--\n\n\
            Enable or disable tracking views by replaying the operation that created them.

            A function, a context manager and a decorator.

            Args:
                mode: Whether operations are replayed.

            Raises:
                TypeError: `mode` is not a bool.";
    }
    EnforceGradLayoutPolicy {
        const KIND: ModeKind = ModeKind::EnforceGradLayoutPolicy;
        const NAME: &'static str = "enforce_grad_layout_policy";
        const DOC: &'static CStr = c"enforce_grad_layout_policy(enable=True)\n--\n\n\
            Enable or disable converting an accumulated gradient to the layout of its tensor.

            A function, a context manager and a decorator.

            Args:
                enable: Whether gradients are converted.

            Raises:
                TypeError: `enable` is not a bool.";
        const ARGUMENT: (&'static str, Option<bool>) = ("enable", Some(true));
    }
    AnomalyMode {
        const KIND: ModeKind = ModeKind::DetectAnomaly;
        const NAME: &'static str = "_anomaly_mode";
        const DOC: &'static CStr = c"_anomaly_mode(mode)\n--\n\n\
            Enable or disable the detection of anomalies: nodes store the stack that created them.

            Args:
                mode: Whether anomalies are detected.

            Raises:
                TypeError: `mode` is not a bool.";
    }
    AnomalyCheckNan {
        const KIND: ModeKind = ModeKind::AnomalyCheckNan;
        const NAME: &'static str = "_anomaly_check_nan";
        const DOC: &'static CStr = c"_anomaly_check_nan(mode)\n--\n\n\
            Enable or disable the check for NaN of anomaly detection.

            Args:
                mode: Whether gradients are checked.

            Raises:
                TypeError: `mode` is not a bool.";
    }
}

/// Adds a class to the module, and to `__all__` unless the name is private.
fn add(module: &Bound<'_, PyModule>, name: &str, class: Bound<'_, PyType>) -> PyResult<()> {
    if name.starts_with('_') { module.setattr(name, class) } else { module.add(name, class) }
}

fn class<C: ModeClass>(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let made = mode_object::class("interlock.autograd.grad_mode", C::NAME, C::KIND)?.doc(C::DOC);
    // SAFETY: the two are a newfunc and an initproc.
    let made = unsafe {
        made.slot(ffi::Py_tp_new, new::<C> as ffi::newfunc as *mut c_void)
            .slot(ffi::Py_tp_init, init::<C> as ffi::initproc as *mut c_void)
    };
    made.build(py, &py.get_type::<PyAny>())
}

/// `name(function)` is a decorator without parentheses: it returns the decorated function, and `__init__` is not
/// called. All other arguments are for `__init__`, which a subclass may override.
unsafe extern "C" fn new<C: ModeClass>(
    class: *mut ffi::PyTypeObject,
    arguments: *mut ffi::PyObject,
    named: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this with one of these classes or a subclass, and a tuple.
    unsafe {
        // A bool is not a function to decorate.
        let is_mode = C::KIND.accepts_mode() && only_bool(arguments).is_some();
        if named.is_null() && (ffi::PyTuple_Size(arguments) == 0 || is_mode) {
            return mode_object::allocate(class, C::KIND);
        }
    }
    ffi_ptr(|py| {
        // SAFETY: the interpreter passes a class, a tuple, and a dict or null.
        let (type_object, arguments, named) = unsafe {
            (
                Bound::from_borrowed_ptr(py, class.cast()).cast_into_unchecked::<PyType>(),
                Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>(),
                Bound::from_borrowed_ptr_or_opt(py, named).map(|named| named.cast_into_unchecked::<PyDict>()),
            )
        };
        match bare_function::<C>(&arguments, named.as_ref())? {
            Some(function) => Ok(decorated(&call_with(type_object.as_any(), ())?, &function)?.into_ptr()),
            None => {
                // SAFETY: `class` is one of these classes or a subclass.
                let made = unsafe { mode_object::allocate(class, C::KIND) };
                if made.is_null() { Err(PyErr::fetch(py)) } else { Ok(made) }
            }
        }
    })
}

/// Returns the only argument if it is True or False.
///
/// # Safety
/// `arguments` is a tuple, and this thread is attached to the interpreter.
#[inline]
unsafe fn only_bool(arguments: *mut ffi::PyObject) -> Option<bool> {
    // SAFETY: the item is borrowed from a tuple of one item; the two singletons live as long as the interpreter.
    unsafe {
        if ffi::PyTuple_Size(arguments) != 1 {
            return None;
        }
        let only = ffi::PyTuple_GetItem(arguments, 0);
        if only == ffi::Py_True() { Some(true) } else { (only == ffi::Py_False()).then_some(false) }
    }
}

/// Returns the mode in `arguments` for a class that does not write eagerly, if it can be read without further checks.
///
/// # Safety
/// As for [`only_bool`].
#[inline]
unsafe fn plain_mode<C: ModeClass>(arguments: *mut ffi::PyObject) -> Option<bool> {
    if C::KIND.writes_eagerly() || scope_debug::is_on() {
        return None;
    }
    // SAFETY: as the caller guarantees.
    unsafe { if ffi::PyTuple_Size(arguments) == 0 { C::ARGUMENT.1 } else { only_bool(arguments) } }
}

fn bare_function<'py, C: ModeClass>(
    arguments: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !C::BARE {
        return Ok(None);
    }
    let only = match (arguments.len(), named.filter(|named| !named.is_empty())) {
        (1, None) => arguments.get_item(0)?,
        (0, Some(named)) if named.len() == 1 => match named.get_item(C::ARGUMENT.0)? {
            Some(value) => value,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(can_be_decorated(&only)?.then_some(only))
}

/// Returns whether a value is callable, or a `classmethod`, which is callable on its class.
fn can_be_decorated(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is_callable() || value.is_instance(&value.py().import("builtins")?.getattr("classmethod")?)?)
}

unsafe extern "C" fn init<C: ModeClass>(
    object: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    named: *mut ffi::PyObject,
) -> c_int {
    // SAFETY: the interpreter calls this with a tuple.
    if !C::KIND.accepts_mode() && named.is_null() && unsafe { ffi::PyTuple_Size(arguments) } == 0 {
        return 0;
    }
    if C::KIND.accepts_mode()
        && named.is_null()
        // SAFETY: the interpreter calls this with a tuple.
        && let Some(mode) = unsafe { plain_mode::<C>(arguments) }
    {
        // SAFETY: the interpreter passes an object of this class or a subclass.
        unsafe { mode_object::context(object) }.restore(mode);
        return 0;
    }
    ffi_status(|py| {
        // SAFETY: the interpreter passes an object of this class or a subclass, a tuple, and a dict or null.
        let (context, arguments, named) = unsafe {
            (
                mode_object::context(object),
                Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>(),
                Bound::from_borrowed_ptr_or_opt(py, named).map(|named| named.cast_into_unchecked::<PyDict>()),
            )
        };
        let given = only_argument::<C>(&arguments, named.as_ref())?;
        if !context.kind().accepts_mode() {
            return match given.filter(|given| !given.is_none()) {
                None => Ok(()),
                Some(other) => Err(wrong_type::<C>(&other, "a function to decorate")),
            };
        }
        let mode = match (given, C::ARGUMENT.1) {
            (Some(given), _) => extract_bool(C::NAME, C::ARGUMENT.0, &given)?,
            (None, Some(default)) => default,
            (None, None) => {
                let message = format!("{}() missing 1 required argument: '{}'", C::NAME, C::ARGUMENT.0);
                return Err(PyTypeError::new_err(message));
            }
        };
        scope_debug::warn_suspended_scopes(py)?;
        context.set(mode).into_py_result(py)
    })
}

fn wrong_type<C: ModeClass>(given: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    new_type_error(&format!("{}: {}", C::NAME, C::ARGUMENT.0), allowed, given)
}

/// Returns the argument by position or by name; `None` if it is missing.
fn only_argument<'py, C: ModeClass>(
    arguments: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (name, argument) = (C::NAME, C::ARGUMENT.0);
    let by_name = named.map(|named| named.get_item(argument)).transpose()?.flatten();
    let count = arguments.len() + named.map_or(0, |named| named.len());
    if count > 1 {
        return Err(PyTypeError::new_err(format!(
            "{name}() takes at most 1 argument ({argument}), got {count}"
        )));
    }
    if count == 1 && by_name.is_none() && arguments.is_empty() {
        return Err(PyTypeError::new_err(format!(
            "{name}() got an unexpected keyword argument; it accepts {argument}"
        )));
    }
    Ok(by_name.or_else(|| arguments.get_item(0).ok()))
}

//! The classes of the modes. Each is `__new__` and `__init__` of its own over one kind of object
//! ([`object`](super::object)), because `no_grad(function)` makes no `no_grad`.

use std::ffi::{CStr, c_int, c_void};

use interlock::autograd::ModeKind;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple, PyType};

use super::decorated;
use super::object;
use crate::raw_types::{ffi_ptr, ffi_status};
use crate::trace;

/// One class.
trait Class {
    const MANAGER: ModeKind;
    /// The name in Python.
    const NAME: &'static str;
    const DOC: &'static CStr;
    /// What the argument is called, and the mode where it is left out.
    const ARGUMENT: (&'static str, Option<bool>) = ("mode", None);
    /// Whether `name(function)` decorates the function.
    const BARE: bool = false;
}

macro_rules! classes {
    ($($class:ident { $($body:tt)* })+) => {
        $(
            struct $class;
            impl Class for $class { $($body)* }
        )+

        pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(add(module, $class::NAME, class::<$class>(module.py())?)?;)+
            Ok(())
        }
    };
}

classes! {
    NoGrad {
        const MANAGER: ModeKind = ModeKind::NoGrad;
        const NAME: &'static str = "no_grad";
        const DOC: &'static CStr = c"no_grad(orig_func=None)\n--\n\n\
            Operations inside do not record what a backward pass needs.\n\n\
            A context manager and a decorator, with or without parentheses. It holds for the thread that\n\
            enters it; other threads and new ones are not affected.";
        const ARGUMENT: (&'static str, Option<bool>) = ("orig_func", Some(true));
        const BARE: bool = true;
    }
    EnableGrad {
        const MANAGER: ModeKind = ModeKind::EnableGrad;
        const NAME: &'static str = "enable_grad";
        const DOC: &'static CStr = c"enable_grad(orig_func=None)\n--\n\n\
            Operations inside record what a backward pass needs, also within `no_grad`.\n\n\
            A context manager and a decorator, with or without parentheses. It holds for the thread that\n\
            enters it. Inference mode stays on where it is on.";
        const ARGUMENT: (&'static str, Option<bool>) = ("orig_func", Some(true));
        const BARE: bool = true;
    }
    SetGradEnabled {
        const MANAGER: ModeKind = ModeKind::SetGradEnabled;
        const NAME: &'static str = "set_grad_enabled";
        const DOC: &'static CStr = c"set_grad_enabled(mode)\n--\n\n\
            Records gradients or not: as a function at once, as a context manager inside, as a decorator\n\
            during each call.\n\n\
            As a function it lasts as long as the innermost scope of this thread that decides the mode, or\n\
            for the thread. `mode` is a bool.";
    }
    InferenceMode {
        const MANAGER: ModeKind = ModeKind::InferenceMode;
        const NAME: &'static str = "inference_mode";
        const DOC: &'static CStr = c"inference_mode(mode=True)\n--\n\n\
            Tensors made inside are inference tensors: they record nothing, not even their version, and\n\
            can't be used where gradients are recorded.\n\n\
            `inference_mode(False)` inside it is ordinary again. A context manager and a decorator, with or\n\
            without parentheses. `mode` is a bool.";
        const ARGUMENT: (&'static str, Option<bool>) = ("mode", Some(true));
        const BARE: bool = true;
    }
    SetMultithreadingEnabled {
        const MANAGER: ModeKind = ModeKind::SetMultithreadingEnabled;
        const NAME: &'static str = "set_multithreading_enabled";
        const DOC: &'static CStr = c"set_multithreading_enabled(mode)\n--\n\n\
            Lets a backward pass use other threads, or keeps it on the thread that calls it.\n\n\
            interlock's own engine keeps to that thread in any case. A function, a context manager and a\n\
            decorator. `mode` is a bool.";
    }
    ForceOriginalViewTracking {
        const MANAGER: ModeKind = ModeKind::ForceOriginalViewTracking;
        const NAME: &'static str = "_force_original_view_tracking";
        const DOC: &'static CStr = c"_force_original_view_tracking(mode)\n--\n\n\
            Tracks views by replaying the operation that made them, or not.\n\n\
            A function, a context manager and a decorator. `mode` is a bool.";
    }
    EnforceGradLayoutPolicy {
        const MANAGER: ModeKind = ModeKind::EnforceGradLayoutPolicy;
        const NAME: &'static str = "enforce_grad_layout_policy";
        const DOC: &'static CStr = c"enforce_grad_layout_policy(enable=True)\n--\n\n\
            Brings a gradient into the layout of its tensor when it is accumulated, or leaves it.\n\n\
            A function, a context manager and a decorator. `enable` is a bool.";
        const ARGUMENT: (&'static str, Option<bool>) = ("enable", Some(true));
    }
}

/// Adds a class to the module, and to its `__all__` unless the name is private.
fn add(module: &Bound<'_, PyModule>, name: &str, class: Bound<'_, PyType>) -> PyResult<()> {
    if name.starts_with('_') { module.setattr(name, class) } else { module.add(name, class) }
}

fn class<C: Class>(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let made = object::class("interlock.autograd.grad_mode", C::NAME, C::MANAGER)?.doc(C::DOC);
    // SAFETY: the two are a newfunc and an initproc.
    let made = unsafe {
        made.slot(ffi::Py_tp_new, new::<C> as ffi::newfunc as *mut c_void)
            .slot(ffi::Py_tp_init, init::<C> as ffi::initproc as *mut c_void)
    };
    made.build(py, &py.get_type::<PyAny>())
}

/// `name(function)` is a decorator without parentheses: what comes out is the decorated function, and
/// `__init__` is not called. Anything else is for `__init__`, which a subclass may have of its own.
unsafe extern "C" fn new<C: Class>(
    class: *mut ffi::PyTypeObject,
    arguments: *mut ffi::PyObject,
    named: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this with one of these classes or a subclass, and a tuple.
    unsafe {
        // A mode is no function to decorate.
        let is_mode = C::MANAGER.takes_mode() && only_bool(arguments).is_some();
        if named.is_null() && (ffi::PyTuple_Size(arguments) == 0 || is_mode) {
            return object::allocate(class, C::MANAGER);
        }
    }
    ffi_ptr(|py| {
        // SAFETY: the interpreter lends a class, a tuple, and a dict or null for the call.
        let (type_object, arguments, named) = unsafe {
            (
                Bound::from_borrowed_ptr(py, class.cast()).cast_into_unchecked::<PyType>(),
                Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>(),
                Bound::from_borrowed_ptr_or_opt(py, named).map(|named| named.cast_into_unchecked::<PyDict>()),
            )
        };
        match bare_function::<C>(&arguments, named.as_ref())? {
            Some(function) => Ok(decorated(&type_object.call0()?, &function)?.into_ptr()),
            None => {
                // SAFETY: as above.
                let made = unsafe { object::allocate(class, C::MANAGER) };
                if made.is_null() { Err(PyErr::fetch(py)) } else { Ok(made) }
            }
        }
    })
}

/// The only argument, where that is True or False.
///
/// # Safety
/// `arguments` is a tuple, and this thread is attached to the interpreter.
#[inline]
unsafe fn only_bool(arguments: *mut ffi::PyObject) -> Option<bool> {
    // SAFETY: the item is borrowed from a tuple that has one; the two singletons live as long as the interpreter.
    unsafe {
        if ffi::PyTuple_Size(arguments) != 1 {
            return None;
        }
        let only = ffi::PyTuple_GetItem(arguments, 0);
        if only == ffi::Py_True() { Some(true) } else { (only == ffi::Py_False()).then_some(false) }
    }
}

/// The mode that `arguments` give to an object whose making writes nothing, where that takes no more than a look.
///
/// # Safety
/// As for [`only_bool`].
#[inline]
unsafe fn plain_mode<C: Class>(arguments: *mut ffi::PyObject) -> Option<bool> {
    if C::MANAGER.writes_when_made() || trace::is_on() {
        return None;
    }
    // SAFETY: as the caller says.
    unsafe { if ffi::PyTuple_Size(arguments) == 0 { C::ARGUMENT.1 } else { only_bool(arguments) } }
}

fn bare_function<'py, C: Class>(
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

/// Whether it is called, or becomes something that is once a class has it.
fn can_be_decorated(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.is_callable() || value.is_instance(&value.py().import("builtins")?.getattr("classmethod")?)?)
}

unsafe extern "C" fn init<C: Class>(
    object: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    named: *mut ffi::PyObject,
) -> c_int {
    // SAFETY: the interpreter calls this with a tuple.
    if !C::MANAGER.takes_mode() && named.is_null() && unsafe { ffi::PyTuple_Size(arguments) } == 0 {
        return 0;
    }
    if C::MANAGER.takes_mode()
        && named.is_null()
        // SAFETY: as above.
        && let Some(mode) = unsafe { plain_mode::<C>(arguments) }
    {
        // SAFETY: the interpreter lends an object of this class or a subclass for the call.
        unsafe { object::manager(object) }.recall(mode);
        return 0;
    }
    ffi_status(|py| {
        // SAFETY: the interpreter lends an object of this class or a subclass, a tuple, and a dict or
        // null for the call.
        let (manager, arguments, named) = unsafe {
            (
                object::manager(object),
                Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>(),
                Bound::from_borrowed_ptr_or_opt(py, named).map(|named| named.cast_into_unchecked::<PyDict>()),
            )
        };
        let given = only_argument::<C>(&arguments, named.as_ref())?;
        if !manager.manager().takes_mode() {
            return match given.filter(|given| !given.is_none()) {
                None => Ok(()),
                Some(other) => Err(wrong_type::<C>(&other, "a function to decorate or nothing")),
            };
        }
        let mode = match (given, C::ARGUMENT.1) {
            (Some(given), _) => {
                given.cast::<PyBool>().map_err(|_| wrong_type::<C>(&given, "a bool"))?.is_true()
            }
            (None, Some(default)) => default,
            (None, None) => {
                let message = format!("{}() takes {}, a bool", C::NAME, C::ARGUMENT.0);
                return Err(PyTypeError::new_err(message));
            }
        };
        trace::look(py)?;
        manager.tell(mode);
        Ok(())
    })
}

fn wrong_type<C: Class>(given: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    let class = given.get_type().fully_qualified_name().map(|name| name.to_string()).unwrap_or_default();
    let (name, argument) = (C::NAME, C::ARGUMENT.0);
    PyTypeError::new_err(format!("{name}() takes {argument}, {allowed}, got a value of type {class}"))
}

/// The one argument, by position or by name; None where it is left out.
fn only_argument<'py, C: Class>(
    arguments: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (name, argument) = (C::NAME, C::ARGUMENT.0);
    let by_name = named.map(|named| named.get_item(argument)).transpose()?.flatten();
    let count = arguments.len() + named.map_or(0, |named| named.len());
    if count > 1 {
        return Err(PyTypeError::new_err(format!(
            "{name}() takes at most {argument}, got {count} arguments"
        )));
    }
    if count == 1 && by_name.is_none() && arguments.is_empty() {
        return Err(PyTypeError::new_err(format!("{name}() takes {argument} and no other named argument")));
    }
    Ok(by_name.or_else(|| arguments.get_item(0).ok()))
}

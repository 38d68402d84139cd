//! The object behind every mode class: a [`ModeContext`] that Python enters, leaves and calls.

use std::ffi::c_void;

use interlock::autograd::{ModeContext, ModeKind};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

use super::decorated;
use crate::raw_types::{HeapType, Method, catch_panic, ffi_ptr, ffi_status};
use crate::trace;

#[repr(C)]
struct ModeObject {
    header: ffi::PyObject,
    manager: ModeContext,
}

/// A class of such objects, without `__new__` and `__init__`.
pub(super) fn class(module: &str, name: &str, manager: ModeKind) -> PyResult<HeapType> {
    let mut class = HeapType::new(&format!("{module}.{name}"), size_of::<ModeObject>())?
        .method(c"__enter__", c"__enter__($self)\n--\n\nThe mode holds on this thread until `__exit__`.", Method::NoArgs(enter))
        .method(
            c"__exit__",
            c"__exit__($self, exc_type, exc_value, traceback)\n--\n\nThe innermost layer of this object ends.",
            Method::FastWithKeywords(exit),
        )
        .method(
            c"__reduce_ex__",
            c"What `copy` and `pickle` make it again from; protocols 0 and 1 use the form of protocol 2.",
            Method::Fast(reduce),
        )
        .method(c"__getstate__", c"What a copy must be told, and its attributes.", Method::NoArgs(get_state))
        .method(c"__setstate__", c"Takes that back; nothing is written.", Method::Fast(set_state))
        .method(
            c"clone",
            c"clone($self, /)\n--\n\nA new object of the same class, told the same.",
            Method::NoArgs(clone),
        );
    if manager.takes_mode() {
        class = class.attribute(c"mode", c"What the object was told.", mode, None, std::ptr::null_mut());
    }
    class = class.attribute(
        c"prev",
        c"What the mode was when the object was last told or entered.",
        previous,
        None,
        std::ptr::null_mut(),
    );
    // SAFETY: the functions are a destructor and a ternaryfunc.
    class = unsafe {
        class
            .slot(ffi::Py_tp_dealloc, deallocate as ffi::destructor as *mut c_void)
            .slot(ffi::Py_tp_call, call as ffi::ternaryfunc as *mut c_void)
    };
    if manager == ModeKind::SetGradEnabled {
        // SAFETY: a reprfunc; `str` falls back to it.
        class = unsafe { class.slot(ffi::Py_tp_repr, represent as ffi::reprfunc as *mut c_void) };
    }
    Ok(class)
}

/// A new object, not told anything yet, or null with an error set.
///
/// # Safety
/// `class` is one of [`class`] or a subclass.
#[inline]
pub(super) unsafe fn allocate(class: *mut ffi::PyTypeObject, manager: ModeKind) -> *mut ffi::PyObject {
    // SAFETY: what such a class allocates is a ModeObject at least; the manager is written before
    // anybody can see the object.
    unsafe {
        let made = ffi::PyType_GenericAlloc(class, 0);
        if !made.is_null() {
            (&raw mut (*made.cast::<ModeObject>()).manager).write(ModeContext::new(manager));
        }
        made
    }
}

/// The manager of an object.
///
/// # Safety
/// `object` lives and is of one of the classes of [`class`], or of a subclass.
#[inline]
pub(super) unsafe fn manager<'a>(object: *mut ffi::PyObject) -> &'a ModeContext {
    // SAFETY: such an object was made by `allocate`.
    unsafe { &(*object.cast::<ModeObject>()).manager }
}

unsafe extern "C" fn deallocate(object: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this once, with the last reference to an object of `allocate`. The
    // manager owns nothing that must be dropped. Instances of a heap type own a reference to it.
    unsafe {
        let class = ffi::Py_TYPE(object);
        // A subclass written in Python may have attributes, and is then known to the collector.
        if ffi::PyType_GetFlags(class) & ffi::Py_TPFLAGS_HAVE_GC == 0 {
            ffi::PyObject_Free(object.cast());
        } else {
            ffi::PyObject_GC_Del(object.cast());
        }
        ffi::Py_DECREF(class.cast());
    }
}

// The manager is dropped with its memory.
const _: () = assert!(!std::mem::needs_drop::<ModeContext>());

unsafe extern "C" fn enter(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: a method of these classes; None lives as long as the interpreter.
    catch_panic(|| unsafe {
        let manager = manager(object);
        if trace::is_on() {
            return traced(|py| trace::enter(py, manager.scope(), || manager.enter()));
        }
        manager.enter();
        ffi::Py_NewRef(ffi::Py_None())
    })
}

unsafe extern "C" fn exit(
    object: *mut ffi::PyObject,
    _arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    if count != 3 || !names.is_null() {
        // SAFETY: the interpreter lends a tuple of names or null.
        let checked = ffi_status(|py| unsafe { check_exit(py, count, names) });
        if checked != 0 {
            return std::ptr::null_mut();
        }
    }
    // SAFETY: as for `enter`.
    catch_panic(|| unsafe {
        let manager = manager(object);
        if trace::is_on() {
            return traced(|py| manager.leave_with(|scope| trace::leave(py, scope)));
        }
        manager.leave();
        ffi::Py_NewRef(ffi::Py_None())
    })
}

/// Refuses arguments of `__exit__` that are not its three.
///
/// # Safety
/// `names` is a tuple of str, or null.
#[cold]
unsafe fn check_exit(py: Python<'_>, count: ffi::Py_ssize_t, names: *mut ffi::PyObject) -> PyResult<()> {
    const NAMES: [&str; 3] = ["exc_type", "exc_value", "traceback"];
    let positional = usize::try_from(count).unwrap_or(0);
    // SAFETY: as the caller says.
    let named: Vec<String> = match unsafe { Bound::from_borrowed_ptr_or_opt(py, names) } {
        Some(names) => names.extract()?,
        None => Vec::new(),
    };
    // What is not given in its place must be named, in any order, and nothing else may be.
    let missing = NAMES.iter().skip(positional);
    if positional + named.len() == NAMES.len()
        && missing.into_iter().all(|name| named.iter().any(|one| one == name))
    {
        return Ok(());
    }
    let given = positional + named.len();
    Err(PyTypeError::new_err(format!(
        "__exit__() takes exc_type, exc_value and traceback, got {given} arguments"
    )))
}

#[cold]
#[inline(never)]
fn traced(action: impl FnOnce(Python<'_>) -> PyResult<()>) -> *mut ffi::PyObject {
    ffi_ptr(|py| action(py).map(|()| py.None().into_ptr()))
}

unsafe extern "C" fn clone(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: a method of these classes, called with one of their objects.
        let (object, manager) = unsafe { (Bound::from_borrowed_ptr(py, object), manager(object)) };
        let class = object.get_type();
        let made =
            if manager.manager().takes_mode() { class.call1((manager.mode(),)) } else { class.call0() };
        Ok(made?.into_ptr())
    })
}

/// Python's own reduction of protocols 0 and 1 refuses classes that are not written in Python.
unsafe extern "C" fn reduce(
    object: *mut ffi::PyObject,
    arguments: *mut *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        if count != 1 {
            return Err(PyTypeError::new_err(format!("__reduce_ex__() takes 1 argument, got {count}")));
        }
        // SAFETY: a method of these classes, called with one of their objects and `count` arguments.
        let (object, protocol) = unsafe {
            (Bound::from_borrowed_ptr(py, object), Bound::<PyAny>::from_borrowed_ptr(py, *arguments))
        };
        let protocol = protocol.extract::<i64>()?.max(2);
        Ok(py.get_type::<PyAny>().call_method1("__reduce_ex__", (object, protocol))?.into_ptr())
    })
}

/// For `copy` and `pickle`: a copy is made without `__init__`, which would write.
unsafe extern "C" fn get_state(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: a method of these classes, called with one of their objects.
        let (object, manager) = unsafe { (Bound::from_borrowed_ptr(py, object), manager(object)) };
        // Only objects of a subclass may have attributes.
        let attributes = object.getattr_opt("__dict__")?;
        Ok((manager.mode(), attributes).into_pyobject(py)?.into_any().into_ptr())
    })
}

unsafe extern "C" fn set_state(
    object: *mut ffi::PyObject,
    arguments: *mut *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        if count != 1 {
            return Err(PyTypeError::new_err(format!("__setstate__() takes 1 argument, got {count}")));
        }
        // SAFETY: a method of these classes, called with one of their objects and `count` arguments.
        let (object, manager, state) = unsafe {
            (
                Bound::from_borrowed_ptr(py, object),
                manager(object),
                Bound::<PyAny>::from_borrowed_ptr(py, *arguments),
            )
        };
        let (mode, attributes): (bool, Option<Bound<'_, PyDict>>) = state.extract()?;
        if let Some(attributes) = attributes {
            object.getattr("__dict__")?.cast::<PyDict>()?.update(attributes.as_mapping())?;
        }
        manager.recall(mode);
        Ok(py.None().into_ptr())
    })
}

/// Used as a decorator.
unsafe extern "C" fn call(
    object: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    named: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: the interpreter lends an object of these classes, a tuple, and a dict or null.
        let (scope, manager, arguments, named) = unsafe {
            (
                Bound::from_borrowed_ptr(py, object),
                manager(object),
                Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>(),
                Bound::from_borrowed_ptr_or_opt(py, named),
            )
        };
        let function = match arguments.len() {
            1 if named.is_none_or(|named| named.is_empty().unwrap_or(false)) => arguments.get_item(0)?,
            _ => return Err(PyTypeError::new_err("a mode is called with one function to decorate")),
        };
        manager.decorate();
        let calls = if is_exactly_ours(object) { twin(py, object)? } else { scope };
        Ok(decorated(&calls, &function)?.into_ptr())
    })
}

/// Whether the object is of a class made here, and of no subclass.
fn is_exactly_ours(object: *mut ffi::PyObject) -> bool {
    // SAFETY: called with a live object; its deallocator is inherited unless Python made the class.
    unsafe { ffi::PyType_GetSlot(ffi::Py_TYPE(object), ffi::Py_tp_dealloc) == deallocate as *mut c_void }
}

/// An object told the same, for the calls of a decorated function: a leave of the decorator itself must
/// find the thread that entered it. Nothing is written.
fn twin(py: Python<'_>, object: *mut ffi::PyObject) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: `object` is of one of these classes; the new one is not shared yet when it gets its manager.
    unsafe {
        let made = allocate(ffi::Py_TYPE(object), manager(object).manager());
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        (&raw mut (*made.as_ptr().cast::<ModeObject>()).manager).write(manager(object).twin());
        Ok(made)
    }
}

unsafe extern "C" fn mode(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: an attribute of these classes.
    ffi_ptr(|py| Ok(PyBool::new(py, unsafe { manager(object) }.mode()).to_owned().into_any().into_ptr()))
}

unsafe extern "C" fn previous(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: an attribute of these classes.
    ffi_ptr(|py| Ok(PyBool::new(py, unsafe { manager(object) }.previous()).to_owned().into_any().into_ptr()))
}

unsafe extern "C" fn represent(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: a method of these classes, called with one of their objects.
        let (object, manager) = unsafe { (Bound::from_borrowed_ptr(py, object), manager(object)) };
        let class = object.get_type();
        let mode = if manager.mode() { "True" } else { "False" };
        let text = format!("{}.{}(mode={mode})", class.module()?, class.qualname()?);
        Ok(PyString::new(py, &text).into_any().into_ptr())
    })
}

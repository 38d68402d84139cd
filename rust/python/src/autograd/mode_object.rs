//! The object of every mode class: a [`ModeContext`] that Python enters, exits and calls.

use std::ffi::c_void;

use interlock::autograd::{ModeContext, ModeKind};
use interlock_core::binding::modes::{enter_present, serialized_context};
use interlock_core::binding::thread::{PresentContext, exit_present};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

use super::decorated;
use crate::detach::call_with;
use crate::errors::{IntoPyResult, exception, new_type_error, type_name};
use crate::raise_later;
use crate::raw_types::{Header, HeapType, Method, ObjectMemory, catch_panic, ffi_ptr};
use crate::scope_debug;

#[repr(C)]
struct ModeObject {
    header: Header,
    context: ModeContext,
}

/// For instances of the mode classes, and of subclasses without attributes.
static OBJECTS: ObjectMemory = ObjectMemory::new(size_of::<ModeObject>());

/// Creates a mode class without `__new__` and `__init__`.
pub(super) fn class(module: &str, name: &str, kind: ModeKind) -> PyResult<HeapType> {
    let mut class = HeapType::new(&format!("{module}.{name}"), size_of::<ModeObject>())?
        .method(
            c"__enter__",
            c"__enter__($self)\n--\n\nSet the mode in the current context until `__exit__`.",
            Method::NoArgs(enter),
        )
        .method(
            c"__exit__",
            c"__exit__($self, exc_type, exc_value, traceback)\n--\n\nRemove the innermost layer of this object.",
            Method::FastWithKeywords(exit),
        )
        .method(
            c"__reduce_ex__",
            c"Support `copy` and `pickle`; protocols 0 and 1 use the form of protocol 2.",
            Method::Fast(reduce),
        )
        .method(c"__getstate__", c"Return the mode and the attributes.", Method::NoArgs(get_state))
        .method(
            c"__setstate__",
            c"Restore the mode and the attributes, without a write.",
            Method::Fast(set_state),
        )
        .method(
            c"clone",
            c"clone($self, /)\n--\n\nReturn a new object of the same class with the same mode.",
            Method::NoArgs(clone),
        );
    if kind.accepts_mode() {
        class = class.attribute(c"mode", c"The mode that the object sets.", mode, None, std::ptr::null_mut());
    }
    class = class.attribute(
        c"prev",
        c"The mode before the object last set it.",
        previous,
        None,
        std::ptr::null_mut(),
    );
    // SAFETY: the functions are a destructor, a ternaryfunc and a reprfunc, which `str` falls back to.
    class = unsafe {
        class
            .slot(ffi::Py_tp_dealloc, deallocate as ffi::destructor as *mut c_void)
            .slot(ffi::Py_tp_call, call as ffi::ternaryfunc as *mut c_void)
            .slot(ffi::Py_tp_repr, represent as ffi::reprfunc as *mut c_void)
    };
    Ok(class)
}

/// Allocates an object with the default mode. Returns null with an error set if memory runs out.
///
/// # Safety
/// `class` was created by [`class`] or is a subclass.
#[inline]
pub(super) unsafe fn allocate(class: *mut ffi::PyTypeObject, kind: ModeKind) -> *mut ffi::PyObject {
    // SAFETY: an instance of such a class begins with a ModeObject; the context is written before other code can access
    // the object. Only attached threads use it, and the GIL admits one at a time (`gil::ensure_enabled`).
    unsafe {
        let made =
            if is_collected(class) { ffi::PyType_GenericAlloc(class, 0) } else { OBJECTS.allocate(class) };
        if !made.is_null() {
            (&raw mut (*made.cast::<ModeObject>()).context).write(serialized_context(kind));
        }
        made
    }
}

/// Returns the context of an object.
///
/// # Safety
/// `object` is alive and an instance of a class that [`class`] created, or of a subclass.
#[inline]
pub(super) unsafe fn context<'a>(object: *mut ffi::PyObject) -> &'a ModeContext {
    // SAFETY: `allocate` created the object.
    unsafe { &(*object.cast::<ModeObject>()).context }
}

/// Returns whether the garbage collector tracks the instances of a class: a subclass written in Python, if its instances are
/// larger, because they may have attributes.
///
/// # Safety
/// `class` is a live class.
#[inline]
unsafe fn is_collected(class: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { ffi::PyType_GetFlags(class) & ffi::Py_TPFLAGS_HAVE_GC != 0 }
}

unsafe extern "C" fn deallocate(object: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this once, with the last reference to an object of `allocate`. Instances of a heap
    // type own a reference to it.
    unsafe {
        (&raw mut (*object.cast::<ModeObject>()).context).drop_in_place();
        let class = ffi::Py_TYPE(object);
        if is_collected(class) {
            ffi::PyObject_GC_Del(object.cast());
            ffi::Py_DECREF(class.cast());
        } else {
            OBJECTS.free(object);
        }
    }
}

unsafe extern "C" fn enter(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: a method of these classes; None lives as long as the interpreter.
    catch_panic(|| unsafe {
        let context = context(object);
        if scope_debug::is_on() {
            return traced(|py| {
                let name = || type_name(&Bound::from_borrowed_ptr(py, object));
                scope_debug::enter(py, context.scope(), name, || context.try_enter())
            });
        }
        raise_later::forget();
        match enter_present(context, || PresentContext::known_at_hand()) {
            Ok(()) if raise_later::is_used() => {
                traced(|py| scope_debug::exit_if_interrupted(py, context.scope()))
            }
            Ok(()) => ffi::Py_NewRef(ffi::Py_None()),
            Err(error) => traced(|py| Err(exception(py, &error))),
        }
    })
}

unsafe extern "C" fn exit(
    object: *mut ffi::PyObject,
    _arguments: *const *mut ffi::PyObject,
    _count: ffi::Py_ssize_t,
    _names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: as for `enter`.
    catch_panic(|| unsafe {
        let context = context(object);
        if scope_debug::is_on() {
            return traced(|py| {
                let name = || type_name(&Bound::from_borrowed_ptr(py, object));
                context.exit_with(|scope| scope_debug::exit(py, scope, name))
            });
        }
        context.exit_with(|scope| exit_present(scope, PresentContext::known_at_hand()));
        ffi::Py_NewRef(ffi::Py_None())
    })
}

#[cold]
#[inline(never)]
fn traced(action: impl FnOnce(Python<'_>) -> PyResult<()>) -> *mut ffi::PyObject {
    ffi_ptr(|py| action(py).map(|()| py.None().into_ptr()))
}

unsafe extern "C" fn clone(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: a method of these classes, called with one of their objects.
        let (object, context) = unsafe { (Bound::from_borrowed_ptr(py, object), context(object)) };
        let class = object.get_type();
        let made = if context.kind().accepts_mode() {
            call_with(class.as_any(), (context.mode(),))
        } else {
            call_with(class.as_any(), ())
        };
        Ok(made?.into_ptr())
    })
}

/// `object.__reduce_ex__` fails for protocols 0 and 1 if the class is not written in Python.
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
        let Ok(given) = protocol.extract::<i64>() else {
            return Err(new_type_error("__reduce_ex__: protocol", "an int", &protocol));
        };
        let protocol = given.max(2);
        Ok(py.get_type::<PyAny>().call_method1("__reduce_ex__", (object, protocol))?.into_ptr())
    })
}

/// Used by `copy` and `pickle`: a copy is created without `__init__`, which would write.
unsafe extern "C" fn get_state(object: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: a method of these classes, called with one of their objects.
        let (object, context) = unsafe { (Bound::from_borrowed_ptr(py, object), context(object)) };
        // Only objects of a subclass may have attributes.
        let attributes = object.getattr_opt("__dict__")?;
        Ok((context.mode(), attributes).into_pyobject(py)?.into_any().into_ptr())
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
        let (object, context, state) = unsafe {
            (
                Bound::from_borrowed_ptr(py, object),
                context(object),
                Bound::<PyAny>::from_borrowed_ptr(py, *arguments),
            )
        };
        let Ok((mode, attributes)) = state.extract::<(bool, Option<Bound<'_, PyDict>>)>() else {
            let wanted = "a bool and a dict or None, as __reduce_ex__ returns them";
            return Err(new_type_error("__setstate__: state", wanted, &state));
        };
        if let Some(attributes) = attributes {
            object.getattr("__dict__")?.cast::<PyDict>()?.update(attributes.as_mapping())?;
        }
        context.restore(mode);
        Ok(py.None().into_ptr())
    })
}

/// Decorates a function.
unsafe extern "C" fn call(
    object: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    named: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: the interpreter passes an object of these classes, a tuple, and a dict or null.
        let (scope, context, arguments, named) = unsafe {
            (
                Bound::from_borrowed_ptr(py, object),
                context(object),
                Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>(),
                Bound::from_borrowed_ptr_or_opt(py, named),
            )
        };
        let count = arguments.len() + named.map_or(Ok(0), |named| named.len())?;
        let (1, Ok(function)) = (count, arguments.get_item(0)) else {
            return Err(PyTypeError::new_err(format!(
                "{}.__call__() takes 1 argument (the function to decorate), got {count}",
                type_name(&scope)
            )));
        };
        context.revoke_write().into_py_result(py)?;
        let calls = if is_exactly_ours(object) { clone_unentered(py, object)? } else { scope };
        Ok(decorated(&calls, &function)?.into_ptr())
    })
}

/// Returns whether the object is an instance of a mode class, not of a subclass.
fn is_exactly_ours(object: *mut ffi::PyObject) -> bool {
    // SAFETY: called with a live object; its deallocator is inherited unless Python code created the class.
    unsafe { ffi::PyType_GetSlot(ffi::Py_TYPE(object), ffi::Py_tp_dealloc) == deallocate as *mut c_void }
}

/// Returns an unentered copy for the calls of a decorated function: an exit of the decorator itself must find
/// the layer that it pushed. Writes nothing.
fn clone_unentered(py: Python<'_>, object: *mut ffi::PyObject) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: `object` is an instance of one of these classes; no other code can access the new object before its
    // context is written.
    unsafe {
        let made = allocate(ffi::Py_TYPE(object), context(object).kind());
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        (&raw mut (*made.as_ptr().cast::<ModeObject>()).context).write(context(object).clone_unentered());
        Ok(made)
    }
}

unsafe extern "C" fn mode(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: an attribute of these classes.
    ffi_ptr(|py| Ok(PyBool::new(py, unsafe { context(object) }.mode()).to_owned().into_any().into_ptr()))
}

unsafe extern "C" fn previous(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: an attribute of these classes.
    ffi_ptr(|py| Ok(PyBool::new(py, unsafe { context(object) }.previous()).to_owned().into_any().into_ptr()))
}

unsafe extern "C" fn represent(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: a method of these classes, called with one of their objects.
        let (object, context) = unsafe { (Bound::from_borrowed_ptr(py, object), context(object)) };
        let class = object.get_type();
        let argument = match (context.kind().accepts_mode(), context.mode()) {
            (false, _) => "",
            (true, true) => "mode=True",
            (true, false) => "mode=False",
        };
        let text = format!("{}.{}({argument})", class.module()?, class.qualname()?);
        Ok(PyString::new(py, &text).into_any().into_ptr())
    })
}

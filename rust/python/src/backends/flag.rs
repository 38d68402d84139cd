//! A flag as an object: the native base of `interlock.backends.Flag`, whose `value` is read as fast as an attribute of
//! a module.

use std::ffi::{c_int, c_void};

use interlock::backends::FlagSpec;
use interlock_core::binding::flags::{FlagScopeBuilder, Purpose};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::scopes::FlagScope;
use super::values;
use crate::call_site;
use crate::context::sync;
use crate::errors::IntoPyResult;
use crate::raw_types::{Header, HeapType, Method, catch_panic, ffi_ptr};

#[repr(C)]
struct FlagObject {
    header: Header,
    spec: &'static FlagSpec,
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let class = HeapType::new("interlock._core.backends.FlagHandle", size_of::<FlagObject>())?
        .doc(c"FlagHandle(name)\n--\n\nThe flag with this dotted name.")
        .attribute(c"name", c"The dotted name.", name, None, std::ptr::null_mut())
        .attribute(
            c"value",
            c"The active value in the current context.\n\n\
            Assigning sets the flag in the innermost open scope that sets it, else for the process.\n\
            `del` unsets the flag.\n\n\
            Raises:\n    FlagTypeError: The value has the wrong type.\n\
            \x20   FlagValueError: The flag does not accept the value.\n\
            \x20   FlagsFrozenError: Flags are frozen.\n\
            \x20   UnknownFlagError: The flag was unregistered.",
            value,
            Some(set_value),
            std::ptr::null_mut(),
        )
        .method(
            c"override",
            c"override($self, /, value)\n--\n\n\
            Return a context manager and decorator that sets the flag in the context that enters it.\n\n\
            Args:\n    value: The value.\n\n\
            Raises:\n    FlagTypeError: The value has the wrong type.\n\
            \x20   FlagValueError: The flag does not accept the value.",
            Method::FastWithKeywords(override_value),
        );
    // SAFETY: the two are a newfunc and a destructor.
    let class = unsafe {
        class
            .slot(ffi::Py_tp_new, new as ffi::newfunc as *mut c_void)
            .slot(ffi::Py_tp_dealloc, deallocate as ffi::destructor as *mut c_void)
    };
    module.add("FlagHandle", class.build(py, &py.get_type::<PyAny>())?)
}

/// Returns the flag of an object.
///
/// # Safety
/// `object` is alive and was created by [`new`].
#[inline]
unsafe fn spec_of(object: *mut ffi::PyObject) -> &'static FlagSpec {
    // SAFETY: such an object begins with a FlagObject.
    unsafe { (*object.cast::<FlagObject>()).spec }
}

unsafe extern "C" fn new(
    class: *mut ffi::PyTypeObject,
    arguments: *mut ffi::PyObject,
    named: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: the interpreter passes a tuple, and a dict or null.
        let (arguments, named) = unsafe {
            (
                Bound::from_borrowed_ptr(py, arguments).cast_into_unchecked::<PyTuple>(),
                Bound::from_borrowed_ptr_or_opt(py, named).map(|named| named.cast_into_unchecked::<PyDict>()),
            )
        };
        let by_name = named.as_ref().map(|named| named.get_item("name")).transpose()?.flatten();
        let given = arguments.len() + named.as_ref().map_or(0, |named| named.len());
        let (Some(name), 1) = (by_name.or_else(|| arguments.get_item(0).ok()), given) else {
            return Err(PyTypeError::new_err(format!("Flag() takes 1 argument (name), got {given}")));
        };
        let spec = values::named(&name, "Flag: name")?;
        // SAFETY: `class` is the class of `register` or a subclass, so its instances begin with a FlagObject. The
        // reference is written before other code can see the object.
        unsafe {
            let made = ffi::PyType_GenericAlloc(class, 0);
            if made.is_null() {
                return Err(PyErr::fetch(py));
            }
            (&raw mut (*made.cast::<FlagObject>()).spec).write(spec);
            Ok(made)
        }
    })
}

unsafe extern "C" fn deallocate(object: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this once, with the last reference to an object of `new`, which needs no drop.
    // Instances of a heap type own a reference to it.
    unsafe {
        let class = ffi::Py_TYPE(object);
        // A subclass written in Python may have attributes, and is then tracked by the garbage collector.
        if ffi::PyType_GetFlags(class) & ffi::Py_TPFLAGS_HAVE_GC == 0 {
            ffi::PyObject_Free(object.cast());
        } else {
            ffi::PyObject_GC_Del(object.cast());
        }
        ffi::Py_DECREF(class.cast());
    }
}

unsafe extern "C" fn name(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: an attribute of the class.
    let name = unsafe { spec_of(object) }.name();
    // SAFETY: the interpreter called this function, so this thread is attached; the text has this length.
    unsafe { ffi::PyUnicode_FromStringAndSize(name.as_ptr().cast(), name.len() as ffi::Py_ssize_t) }
}

unsafe extern "C" fn value(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: an attribute of the class.
    let spec = unsafe { spec_of(object) };
    // SAFETY: the interpreter called this function, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    catch_panic(|| {
        if spec.is_unregistered() {
            return ffi_ptr(|py| {
                spec.check_registered().into_py_result(py)?;
                Ok(py.None().into_ptr())
            });
        }
        values::new_reference(spec, sync(py).read(spec))
    })
}

unsafe extern "C" fn set_value(
    object: *mut ffi::PyObject,
    value: *mut ffi::PyObject,
    _: *mut c_void,
) -> c_int {
    // SAFETY: an attribute of the class; the interpreter passes a value, or null for `del`.
    unsafe { values::assign(spec_of(object), value) }
}

unsafe extern "C" fn override_value(
    object: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    ffi_ptr(|py| {
        // SAFETY: a method of the class; the interpreter passes a tuple of names or null.
        let (spec, names) = unsafe {
            (
                spec_of(object),
                Bound::from_borrowed_ptr_or_opt(py, names)
                    .map(|names| names.cast_into_unchecked::<PyTuple>()),
            )
        };
        let given = usize::try_from(count).unwrap_or(0) + names.as_ref().map_or(0, |names| names.len());
        let is_value = match &names {
            Some(names) => names.iter().all(|name| name.eq("value").unwrap_or(false)),
            None => true,
        };
        if given != 1 || !is_value {
            return Err(PyTypeError::new_err(format!("override() takes 1 argument (value), got {given}")));
        }
        // SAFETY: the interpreter passes one argument, by position or by name.
        let value = unsafe { Bound::<PyAny>::from_borrowed_ptr(py, *arguments) };
        let mut scope = FlagScopeBuilder::new(Purpose::Named, 1);
        scope.add(spec, &values::from_py_of(spec, &value)?).into_py_result(py)?;
        Ok(Bound::new(py, FlagScope(scope.build(call_site::current_if_tracing(py))))?.into_any().into_ptr())
    })
}

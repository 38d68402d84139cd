//! The forms of an operation in Python.
//!
//! PyO3 compiles a function for each of its functions, which converts arguments and catches panics. A form is a constant and a
//! jump to one function that all forms share.

use pyo3::ffi;
use pyo3::impl_::trampoline::{MethodDef, fastcall_cfunction_with_keywords as fastcall};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyTuple, PyType};

use super::Outcome;
use super::arguments::Arguments;
use super::signature::Signature;

/// Converts the arguments of a call and runs the operation.
pub(in crate::tensor) type Run = for<'a, 'py> fn(&Arguments<'a, 'py>) -> Outcome<Bound<'py, PyAny>>;

/// A function of a module, or a method of the class `Tensor`.
pub(in crate::tensor) struct Form {
    signature: Signature,
    run: Run,
    entry: ffi::PyCFunctionFastWithKeywords,
}

/// An operation with its forms.
pub(in crate::tensor) trait Declared {
    /// The functions and methods, under all names of the operation.
    const FORMS: &'static [Form];
}

impl Form {
    /// Returns the form with index `I` of an operation.
    pub const fn new<T: Declared, const I: usize>(signature: Signature, run: Run) -> Self {
        Form { signature, run, entry: entry::<T, I> }
    }

    /// Returns the name in Python.
    pub fn name(&self) -> &'static str {
        self.signature.function()
    }

    /// Returns whether the form is a method.
    pub fn is_method(&self) -> bool {
        self.signature.is_method
    }

    /// Returns the function, which is defined in a module.
    pub fn function<'py>(&'static self, module: &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyAny>> {
        let name = module.name()?;
        // SAFETY: the definition lives as long as the process.
        unsafe {
            let function = ffi::PyCFunction_NewEx(self.definition(), module.as_ptr(), name.as_ptr());
            Bound::from_owned_ptr_or_err(module.py(), function)
        }
    }

    /// Returns the method of a class, whose instances all are tensors.
    pub fn method<'py>(&'static self, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the definition lives as long as the process.
        unsafe {
            let method = ffi::PyDescr_NewMethod(class.as_type_ptr(), self.definition());
            Bound::from_owned_ptr_or_err(class.py(), method)
        }
    }

    /// Returns a definition that lives as long as the process.
    fn definition(&'static self) -> *mut ffi::PyMethodDef {
        Box::leak(Box::new(ffi::PyMethodDef {
            ml_name: self.signature.texts.as_ptr().cast(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: self.entry },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: self.signature.doc().as_ptr().cast(),
        }))
    }
}

/// The function that the interpreter calls for a form.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
unsafe extern "C" fn entry<T: Declared, const I: usize>(
    object: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: guaranteed by the caller, which is the interpreter.
    unsafe { enter(object, args, count, names, const { &T::FORMS[I] }) }
}

/// A call of a form.
struct Call {
    form: &'static Form,
    object: *mut ffi::PyObject,
}

/// Calls a form.
///
/// # Safety
/// The arguments are those of the interpreter.
#[inline(never)]
unsafe extern "C" fn enter(
    object: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
    form: &'static Form,
) -> *mut ffi::PyObject {
    let call = Call { form, object };
    // SAFETY: the function of `Enter` gets what is passed here. PyO3 only passes the first pointer on.
    unsafe { fastcall::<Enter>((&raw const call).cast_mut().cast(), args, count, names) }
}

/// What PyO3 calls, attached and with a guard that turns panics into exceptions.
struct Enter;

impl MethodDef<fastcall::Func> for Enter {
    const METH: fastcall::Func = run;
}

/// Runs the operation of a call.
///
/// # Safety
/// `call` points to a [`Call`]; the other arguments are those of the interpreter.
unsafe fn run(
    py: Python<'_>,
    call: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> PyResult<*mut ffi::PyObject> {
    // SAFETY: guaranteed by the caller, which holds references to the objects while this function runs.
    unsafe {
        let call = &*call.cast::<Call>();
        let signature = &call.form.signature;
        let arguments =
            Arguments::from_fastcall(py, signature, call.object, args, count.unsigned_abs(), names)?;
        Ok((call.form.run)(&arguments)?.into_ptr())
    }
}

/// Calls a function with these arguments, without an object of Python for it.
pub(in crate::tensor) fn call_function<'py>(
    signature: &'static Signature,
    run: Run,
    args: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let borrowed: Vec<_> = args.iter_borrowed().collect();
    let named: Vec<_> = named.into_iter().flatten().collect();
    Ok(run(&Arguments::of_function(args.py(), signature, &borrowed, &named)?)?)
}

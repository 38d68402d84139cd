//! The arguments of a call.

use std::slice;

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use pyo3::{Borrowed, ffi};

use super::argument::{ArgumentName, FromArgument, defaulted, required};
use super::ints::Variadic;
use super::signature::{MAX_ARGUMENTS, Signature};
use super::{Arg, OptionalArg, Outcome, TensorRef};
use crate::tensor::Tensor;

/// An argument of a call.
pub(super) type Passed<'a, 'py> = Borrowed<'a, 'py, PyAny>;

/// The arguments of a call by position, with the tensor of a method. One that the program does not pass is absent.
pub(in crate::tensor) struct Arguments<'a, 'py> {
    py: Python<'py>,
    signature: &'static Signature,
    passed: [Option<Passed<'a, 'py>>; MAX_ARGUMENTS],
    /// The separate arguments of a variadic parameter.
    separate: &'a [Passed<'a, 'py>],
}

impl<'a, 'py> Arguments<'a, 'py> {
    /// Assigns what the interpreter passes to a form to the parameters: the tensor of a method, the arguments, how many of
    /// them are passed by position, and a tuple of the names of the others, or null.
    ///
    /// # Safety
    /// It is what the interpreter passes to a function with the flags `METH_FASTCALL | METH_KEYWORDS`, and lives for `'a`.
    #[inline]
    pub unsafe fn from_fastcall(
        py: Python<'py>,
        signature: &'static Signature,
        object: *mut ffi::PyObject,
        args: *const *mut ffi::PyObject,
        count: usize,
        names: *mut ffi::PyObject,
    ) -> PyResult<Self> {
        let array = |start: usize, count: usize| match count {
            0 => &[][..],
            // SAFETY: guaranteed by the caller; an argument is represented as a pointer.
            _ => unsafe { slice::from_raw_parts(args.add(start).cast::<Passed<'a, 'py>>(), count) },
        };
        // SAFETY: guaranteed by the caller.
        let (object, names) =
            unsafe { (Borrowed::from_ptr_or_opt(py, object), Borrowed::from_ptr_or_opt(py, names)) };
        let object = object.filter(|_| signature.is_method);
        let mut bound = Self::by_position(py, signature, object, array(0, count))?;
        if let Some(names) = names {
            // SAFETY: guaranteed by the caller.
            let names = unsafe { names.cast_unchecked::<PyTuple>() };
            for (name, argument) in names.iter_borrowed().zip(array(count, names.len())) {
                bound.add(&name, *argument, count)?;
            }
        }
        bound.complete(count)
    }

    /// Assigns the arguments of a call of a function to its parameters.
    pub fn of_function(
        py: Python<'py>,
        signature: &'static Signature,
        args: &'a [Passed<'a, 'py>],
        named: &'a [(Bound<'py, PyAny>, Bound<'py, PyAny>)],
    ) -> PyResult<Self> {
        let mut bound = Self::by_position(py, signature, None, args)?;
        for (name, argument) in named {
            bound.add(name, argument.as_borrowed(), args.len())?;
        }
        bound.complete(args.len())
    }

    /// Assigns the arguments that are passed by position.
    #[inline]
    fn by_position(
        py: Python<'py>,
        signature: &'static Signature,
        object: Option<Passed<'a, 'py>>,
        args: &'a [Passed<'a, 'py>],
    ) -> PyResult<Self> {
        let (args, separate) = args.split_at_checked(signature.positional()).unwrap_or((args, &[]));
        if !separate.is_empty() && !signature.is_variadic {
            return Err(signature.too_many(args.len() + separate.len()));
        }
        let mut passed = [None; MAX_ARGUMENTS];
        let given = object.into_iter().chain(args.iter().copied());
        passed.iter_mut().zip(given).for_each(|(slot, argument)| *slot = Some(argument));
        Ok(Arguments { py, signature, passed, separate })
    }

    /// Assigns an argument that is passed by name, after `count` arguments by position.
    fn add(&mut self, name: &Bound<'py, PyAny>, argument: Passed<'a, 'py>, count: usize) -> PyResult<()> {
        let signature = self.signature;
        let name = name.cast::<PyString>()?;
        // A text with surrogates is no name of an argument.
        let text = name.to_str().unwrap_or_default();
        let Some(found) = signature.find(text) else {
            return Err(signature.unexpected(name));
        };
        match self.passed.get_mut(found.position + signature.own()) {
            Some(slot @ None) => {
                *slot = Some(argument);
                Ok(())
            }
            _ => Err(signature.passed_twice(&found, count)),
        }
    }

    /// Checks that the required arguments are passed, `count` of all by position.
    #[inline]
    fn complete(self, count: usize) -> PyResult<Self> {
        let signature = self.signature;
        if count >= signature.required() {
            return Ok(self);
        }
        let is_passed = |position: usize| self.get(position + signature.own()).is_some();
        let is_complete = (0..signature.required()).all(is_passed);
        if is_complete { Ok(self) } else { Err(signature.missing(is_passed)) }
    }

    /// Returns the token of the attached thread.
    pub fn py(&self) -> Python<'py> {
        self.py
    }

    /// Returns the name of the form.
    pub fn op(&self) -> &'static str {
        self.signature.function()
    }

    /// Returns the argument at a position.
    fn get(&self, position: usize) -> OptionalArg<'_, 'py> {
        self.passed.get(position)?.as_deref()
    }

    /// Converts a required argument.
    #[inline(never)]
    pub fn required<'b, T: FromArgument<'b, 'py>>(
        &'b self,
        position: usize,
        name: &'static str,
    ) -> Outcome<T> {
        Ok(required(self.name(name), self.present(position)?)?)
    }

    /// Converts an argument that may be absent.
    #[inline(never)]
    pub fn defaulted<'b, T: FromArgument<'b, 'py>>(
        &'b self,
        position: usize,
        name: &'static str,
        default: T,
    ) -> Outcome<T> {
        Ok(defaulted(self.name(name), self.get(position), default)?)
    }

    /// Returns an argument that may be absent or None.
    pub fn optional(&self, position: usize) -> OptionalArg<'_, 'py> {
        self.get(position).filter(|given| !given.is_none())
    }

    /// Converts ints that are passed as separate arguments, or as one tuple or list, also by name. A form without separate
    /// arguments has one argument instead.
    pub fn variadic<'b, T: Variadic + FromArgument<'b, 'py>>(
        &'b self,
        position: usize,
        name: &'static str,
    ) -> Outcome<T> {
        let name = self.name(name);
        if !self.signature.is_variadic {
            return Ok(required(name, self.present(position)?)?);
        }
        Ok(T::from_separate(self.py, name, self.separate, self.optional(position))?)
    }

    /// Returns the tensor that an in-place form changes.
    pub fn target(&self, name: &'static str) -> Outcome<Bound<'py, Tensor>> {
        let given = self.object()?;
        Ok(given.cast().cloned().map_err(|_| self.name(name).type_error(TensorRef::WANTED, given))?)
    }

    /// Returns the first argument.
    pub fn object(&self) -> Outcome<Arg<'_, 'py>> {
        Ok(self.present(0)?)
    }

    /// Returns the separate arguments of a variadic parameter.
    pub fn separate(&self) -> &[Passed<'a, 'py>] {
        self.separate
    }

    /// Returns a required argument.
    fn present(&self, position: usize) -> PyResult<Arg<'_, 'py>> {
        let is_passed = |position: usize| self.get(position + self.signature.own()).is_some();
        self.get(position).ok_or_else(|| self.signature.missing(is_passed))
    }

    /// Returns the name of an argument in errors.
    fn name(&self, argument: &'static str) -> ArgumentName {
        ArgumentName::new(self.op(), argument)
    }
}

//! Extraction of arguments: tensors, scalars, ints and sizes.
//!
//! `what` names the function and its argument for errors, such as "zeros: size".

use std::fmt::Display;

use interlock_tensor::{MAX_DIMENSIONS, Scalar, Tensor as CoreTensor};
use pyo3::exceptions::PyOverflowError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyIterator, PyTuple};

use super::{ReadTensor, Tensor, fallible_alloc};
use crate::detach::call_method;
use crate::errors::{new_argument_error, new_exception, new_type_error};
use crate::py_int;

/// An argument of any type.
pub(super) type Arg<'a, 'py> = &'a Bound<'py, PyAny>;

/// An argument that may be absent or None.
pub(super) type OptionalArg<'a, 'py> = Option<Arg<'a, 'py>>;

/// Returns the exception for an int that int64 cannot hold.
fn err_int64_overflow(what: impl Display, given: &Bound<'_, PyInt>) -> PyErr {
    new_argument_error(given.py(), what, "be an int that int64 can hold", py_int::text(given))
}

/// Extracts a tensor.
pub(super) fn extract_tensor(what: impl Display, given: &Bound<'_, PyAny>) -> PyResult<CoreTensor> {
    match given.cast::<Tensor>() {
        Ok(tensor) => Ok(tensor.core().clone()),
        Err(_) => Err(new_type_error(&what.to_string(), "a Tensor", given)),
    }
}

/// Extracts a tensor or None.
pub(super) fn extract_optional_tensor(what: &str, given: Arg<'_, '_>) -> PyResult<Option<CoreTensor>> {
    match given.cast::<Tensor>() {
        Ok(tensor) => Ok(Some(tensor.core().clone())),
        Err(_) if given.is_none() => Ok(None),
        Err(_) => Err(new_type_error(what, "a Tensor or None", given)),
    }
}

/// Returns an iterator over an argument. Exceptions of its `__iter__` propagate.
pub(super) fn try_iter_arg<'py>(
    what: &str,
    wanted: &str,
    given: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyIterator>> {
    let class = given.get_type();
    if class.hasattr("__iter__")? {
        return given.try_iter();
    }
    // The creation of an iterator over a sequence runs no code of the object. A mapping, such as a NumPy scalar, has
    // none.
    given.try_iter().map_err(|_| new_type_error(what, wanted, given))
}

/// Extracts the items of an iterable.
pub(super) fn extract_items<'py, T>(
    what: &str,
    wanted: &str,
    given: &Bound<'py, PyAny>,
    one: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let items = try_iter_arg(what, wanted, given)?;
    fallible_alloc::try_collect(given.py(), items.map(|item| one(&item?)))
}

/// Extracts the tensors of an iterable. An error for an item names the iterable.
pub(super) fn extract_tensors(
    what: &str,
    wanted: &str,
    given: &Bound<'_, PyAny>,
) -> PyResult<Vec<CoreTensor>> {
    extract_items(what, wanted, given, |item| match item.cast::<Tensor>() {
        Ok(tensor) => Ok(tensor.core().clone()),
        Err(_) => Err(new_type_error(what, wanted, item)),
    })
}

/// A Python bool, float or int.
pub(super) enum PyNumber<'py> {
    Bool(bool),
    Float(f64),
    Int(Bound<'py, PyInt>),
}

impl<'py> PyNumber<'py> {
    fn from_builtin(given: &Bound<'py, PyAny>) -> Option<Self> {
        if let Ok(value) = given.cast::<PyBool>() {
            Some(PyNumber::Bool(value.is_true()))
        } else if let Ok(value) = given.cast::<PyFloat>() {
            Some(PyNumber::Float(value.value()))
        } else {
            given.cast::<PyInt>().ok().map(|value| PyNumber::Int(value.clone()))
        }
    }

    /// Returns a Python or NumPy scalar that is known to be one.
    pub fn from_scalar(given: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        match Self::from_builtin(given) {
            Some(plain) => Ok(Some(plain)),
            None => Ok(Self::from_builtin(&call_method(given, intern!(given.py(), "item"), ())?)),
        }
    }

    /// Extracts a Python or NumPy scalar. Returns `None` for other objects. Exceptions of the object's own code
    /// propagate.
    pub fn extract(given: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let plain = Self::from_builtin(given);
        if plain.is_some() {
            return Ok(plain);
        }
        // NumPy scalars are registered as numbers; arrays and tensors are not.
        if given.hasattr("dtype")? && given.hasattr("item")? && given.hasattr("__array_priority__")? {
            let ndim = given.getattr_opt("ndim")?.and_then(|ndim| ndim.cast_into::<PyInt>().ok());
            let is_scalar = ndim.and_then(|ndim| py_int::int64(&ndim)) == Some(0);
            if is_scalar && !given.is_instance_of::<Tensor>() {
                return Ok(Self::from_builtin(&call_method(given, intern!(given.py(), "item"), ())?));
            }
        }
        Ok(None)
    }

    /// Converts the number, which is an argument of an operation, to a float.
    pub fn float(&self, what: impl Display) -> PyResult<f64> {
        match self {
            PyNumber::Bool(value) => Ok(f64::from(u8::from(*value))),
            PyNumber::Float(value) => Ok(*value),
            PyNumber::Int(given) => py_int::float64(given).ok_or_else(|| {
                let given = py_int::text(given);
                PyOverflowError::new_err(format!(
                    "{what} must be a number that a float can hold, got {given}"
                ))
            }),
        }
    }

    /// Converts the number to a [`Scalar`]. As in PyTorch, ints that 64 bits cannot hold raise OverflowError. Ints
    /// that only an unsigned 64-bit integer can hold raise ArgumentError.
    pub fn scalar(&self, what: impl Display) -> PyResult<Scalar> {
        match self {
            PyNumber::Bool(value) => Ok(Scalar::Bool(*value)),
            PyNumber::Float(value) => Ok(Scalar::Float(*value)),
            PyNumber::Int(given) => py_int::int64(given).map(Scalar::Int).ok_or_else(|| {
                let error = err_int64_overflow(what, given);
                match py_int::uint64(given) {
                    Some(_) => error,
                    None => PyOverflowError::new_err(error.value(given.py()).to_string()),
                }
            }),
        }
    }
}

/// Returns the element of a tensor, which must have one.
pub(super) fn scalar_of_tensor(
    what: impl Display,
    wanted: &str,
    tensor: &CoreTensor,
    py: Python<'_>,
) -> PyResult<Scalar> {
    if tensor.numel() == 1 {
        return super::scalars::item(py, tensor);
    }
    let shape = PyTuple::new(py, tensor.shape())?;
    Err(new_exception(py, "ShapeError", format!("{what} must be {wanted}, got shape {shape}")))
}

/// Extracts an int. Returns `None` for other objects, also bools and floats.
pub(super) fn try_extract_int(what: impl Display, given: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if given.is_instance_of::<PyBool>() || given.is_instance_of::<PyFloat>() {
        return Ok(None);
    }
    let Some(index) = py_int::index_of_argument(given)? else { return Ok(None) };
    py_int::int64(&index).map(Some).ok_or_else(|| err_int64_overflow(what, &index))
}

/// Extracts an int. Bools and floats are not accepted.
pub(super) fn extract_int(what: &str, given: &Bound<'_, PyAny>) -> PyResult<i64> {
    try_extract_int(what, given)?.ok_or_else(|| new_type_error(what, "an int", given))
}

/// Converts sizes of a new tensor. Raises `ShapeError` for too many dimensions and `ArgumentError` for negative sizes.
pub(super) fn checked_sizes(py: Python<'_>, what: impl Display, sizes: &[i64]) -> PyResult<Vec<usize>> {
    if sizes.len() > MAX_DIMENSIONS {
        let message = format!("{what} must have at most {MAX_DIMENSIONS} dimensions, got {}", sizes.len());
        return Err(new_exception(py, "ShapeError", message));
    }
    let size = |&size: &i64| {
        usize::try_from(size).map_err(|_| new_argument_error(py, &what, "not be negative", size))
    };
    sizes.iter().map(size).collect()
}

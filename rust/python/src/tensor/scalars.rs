//! Conversion of elements to Python numbers.

use interlock_tensor::{Scalar, Tensor as CoreTensor};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};

use super::call::{maybe_detach, work_size};
use super::{ReadTensor, Tensor};
use crate::errors::{new_type_error, shown};

/// Returns the only element of a tensor. Waits for the element of a device tensor.
pub(super) fn item(py: Python<'_>, tensor: &CoreTensor) -> PyResult<Scalar> {
    item_for(py, "item", tensor)
}

/// Returns the only element like [`item`], for a function that errors name.
pub(super) fn item_for(py: Python<'_>, op: &'static str, tensor: &CoreTensor) -> PyResult<Scalar> {
    // Reading one element of CPU memory is fast.
    let work_size = if tensor.is_on_device() { super::call::DETACH_THRESHOLD } else { 1 };
    maybe_detach(py, op, work_size, || tensor.item_for(op))
}

/// Converts a scalar to a Python number.
pub(super) fn object(py: Python<'_>, value: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Scalar::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Float(value) => value.into_pyobject(py)?.into_any(),
    })
}

/// Converts a scalar to a Python number, or returns `None` with an exception set: PyO3's conversion panics if memory
/// runs out.
fn number(py: Python<'_>, value: Scalar) -> Option<Bound<'_, PyAny>> {
    let result = match value {
        Scalar::Bool(value) => return Some(PyBool::new(py, value).to_owned().into_any()),
        // SAFETY: this thread is attached to the interpreter.
        Scalar::Int(value) => unsafe { ffi::PyLong_FromLongLong(value) },
        // SAFETY: as for `PyLong_FromLongLong`.
        Scalar::Float(value) => unsafe { ffi::PyFloat_FromDouble(value) },
    };
    // SAFETY: the result is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_opt(py, result) }
}

/// Converts the next elements to nested lists of a shape, or returns `None` with an exception set.
fn nested<'py>(
    py: Python<'py>,
    shape: &[usize],
    elements: &mut impl Iterator<Item = Scalar>,
) -> Option<Bound<'py, PyAny>> {
    /// Items of a list between two checks for signals.
    const SIGNAL_CHECK_INTERVAL: isize = 1 << 16;
    let Some((&size, rest)) = shape.split_first() else {
        return number(py, elements.next().unwrap_or(Scalar::Int(0)));
    };
    let size = isize::try_from(size).unwrap_or(isize::MAX);
    // SAFETY: the result is a new reference, or null with an exception set.
    let list = unsafe { Bound::from_owned_ptr_or_opt(py, ffi::PyList_New(size)) }?;
    for index in 0..size {
        let item = nested(py, rest, elements)?;
        // SAFETY: the list is new, has this index, and takes ownership of the reference.
        if unsafe { ffi::PyList_SetItem(list.as_ptr(), index, item.into_ptr()) } != 0 {
            return None;
        }
        if index % SIGNAL_CHECK_INTERVAL == SIGNAL_CHECK_INTERVAL - 1
            && let Err(raised) = py.check_signals()
        {
            raised.restore(py);
            return None;
        }
    }
    Some(list)
}

#[pymethods]
impl Tensor {
    /// Return the only element as a bool, an int or a float.
    ///
    /// For a device tensor this waits for the queued work.
    ///
    /// Raises:
    ///     ShapeError: The tensor does not have exactly one element.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([2.5]).item()
    ///     2.5
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, item(py, &self.core(py))?)
    }

    /// Return the elements as nested lists, or the element itself for a 0-d tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).tolist()
    ///     [[1, 2], [3, 4]]
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = &*self.core(py);
        let mut elements = maybe_detach(py, "tolist", work_size(tensor), || tensor.to_scalars())?.into_iter();
        // Incomplete lists are dropped before the exception is fetched, which needs some memory.
        nested(py, tensor.shape(), &mut elements).ok_or_else(|| PyErr::fetch(py))
    }

    /// Format the element of a 0-d tensor as a Python number. Other tensors accept only the empty
    /// format, which returns `str(tensor)`.
    fn __format__<'py>(
        slf: &Bound<'py, Self>,
        format_spec: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let format_spec: &Bound<'py, PyString> = format_spec
            .cast()
            .map_err(|_| new_type_error("__format__: format_spec", "a str", format_spec))?;
        if slf.core().ndim() == 0 {
            return object(py, item(py, &slf.core())?)?.call_method1("__format__", (format_spec,));
        }
        if format_spec.len()? == 0 {
            return Ok(slf.str()?.into_any());
        }
        Err(PyTypeError::new_err(format!(
            "__format__: format_spec must be empty for a tensor with dimensions, got {}; item() returns a number",
            shown(format_spec)?
        )))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(item_for(py, "bool", &self.core(py))?.cast::<f64>() != 0.0)
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(item_for(py, "float", &self.core(py))?.cast())
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match item_for(py, "int", &self.core(py))? {
            Scalar::Float(value) if value.is_nan() => {
                Err(PyValueError::new_err("int: the element must be finite, got nan"))
            }
            Scalar::Float(value) if value.is_infinite() => {
                Err(PyOverflowError::new_err(format!("int: the element must be finite, got {value}")))
            }
            Scalar::Float(value) => value.into_pyobject(py)?.call_method0("__int__"),
            value => object(py, value)?.call_method0("__int__"),
        }
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<i64> {
        let tensor = &*self.core(py);
        let is_integer = tensor.numel() == 1 && !tensor.dtype().is_floating_point();
        match is_integer.then(|| item(py, tensor)).transpose()? {
            Some(Scalar::Int(value)) => Ok(value),
            Some(Scalar::Bool(value)) => Ok(value.into()),
            _ => Err(PyTypeError::new_err(format!(
                "__index__: the tensor must be an integer tensor with one element, got {} of shape {}",
                tensor.dtype(),
                PyTuple::new(py, tensor.shape())?
            ))),
        }
    }
}

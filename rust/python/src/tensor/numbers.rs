//! Elements as Python's numbers.

use interlock_tensor::{Scalar, Tensor as CoreTensor};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList};

use super::{Tensor, call, weight};

/// The one element; that of a device is waited for.
pub(super) fn item(py: Python<'_>, tensor: &CoreTensor) -> PyResult<Scalar> {
    // One element is read quickly, wherever it lies here.
    call(py, if tensor.is_on_device() { super::LONG } else { 1 }, || tensor.item())
}

pub(super) fn object(py: Python<'_>, value: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Scalar::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Float(value) => value.into_pyobject(py)?.into_any(),
    })
}

impl Tensor {
    fn single(&self, py: Python<'_>, what: &str) -> PyResult<Scalar> {
        if self.0.numel() == 1 {
            return item(py, &self.0);
        }
        Err(PyRuntimeError::new_err(format!(
            "{what} of a tensor of shape {:?} is ambiguous: exactly one element is needed",
            self.0.shape()
        )))
    }
}

#[pymethods]
impl Tensor {
    /// The one element as a bool, an int or a float.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, item(py, &self.0)?)
    }

    /// The elements as nested lists; without dimensions, the element itself.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let elements = call(py, weight(&self.0), || self.0.to_scalars())?;
        let mut items = elements.into_iter().map(|value| object(py, value)).collect::<PyResult<Vec<_>>>()?;
        // From the innermost dimension outwards, each size makes lists of what there is so far.
        let shape = self.0.shape();
        for (dim, &size) in shape.iter().enumerate().rev() {
            let count: usize = shape.iter().take(dim).product();
            let mut rest = items.into_iter();
            items = (0..count)
                .map(|_| PyList::new(py, rest.by_ref().take(size).collect::<Vec<_>>()).map(Bound::into_any))
                .collect::<PyResult<_>>()?;
        }
        items.into_iter().next().ok_or_else(|| PyRuntimeError::new_err("the tensor has no elements"))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.single(py, "the truth value")?.cast::<f64>() != 0.0)
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.single(py, "the float")?.cast())
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.single(py, "the int")? {
            Scalar::Float(value) if value.is_nan() => Err(PyValueError::new_err("nan is no int")),
            Scalar::Float(value) if value.is_infinite() => {
                Err(PyOverflowError::new_err("infinity is no int"))
            }
            Scalar::Float(value) => value.into_pyobject(py)?.call_method0("__int__"),
            value => object(py, value)?.call_method0("__int__"),
        }
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<i64> {
        let is_integer = self.0.numel() == 1 && !self.0.dtype().is_floating_point();
        match is_integer.then(|| item(py, &self.0)).transpose()? {
            Some(Scalar::Int(value)) => Ok(value),
            Some(Scalar::Bool(value)) => Ok(value.into()),
            _ => Err(PyTypeError::new_err("only integer tensors of a single element can be an index")),
        }
    }
}

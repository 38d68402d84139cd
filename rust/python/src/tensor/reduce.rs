//! Reductions, softmax and loss functions.

use interlock_tensor::{DType, Reduction, Tensor as CoreTensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::args::{extract_dtype, extract_int, extract_int_or_ints};
use super::{Tensor, run_op, work_size};

type OptionalArg<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub(super) fn dims(given: OptionalArg<'_, '_>) -> PyResult<Option<Vec<i64>>> {
    given.map(|dims| extract_int_or_ints("dim", dims)).transpose()
}

pub(super) fn dim(given: OptionalArg<'_, '_>) -> PyResult<Option<i64>> {
    given.map(|dim| extract_int("dim", dim)).transpose()
}

pub(super) fn sum(
    py: Python<'_>,
    input: &CoreTensor,
    over: OptionalArg<'_, '_>,
    keepdim: bool,
    to: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let (dims, dtype) = (dims(over)?, extract_dtype(to)?);
    run_op(py, work_size(input), || {
        let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.cast(dtype))?;
        let sum = input.sum(dims.as_deref(), keepdim)?;
        // Bools are summed as int64.
        if dtype == Some(DType::Bool) { sum.cast(DType::Bool) } else { Ok(sum) }
    })
}

pub(super) fn mean(
    py: Python<'_>,
    input: &CoreTensor,
    over: OptionalArg<'_, '_>,
    keepdim: bool,
    to: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let (dims, dtype) = (dims(over)?, extract_dtype(to)?);
    run_op(py, work_size(input), || {
        let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.cast(dtype))?;
        input.mean(dims.as_deref(), keepdim)
    })
}

pub(super) fn log_softmax(
    py: Python<'_>,
    input: &CoreTensor,
    dim: i64,
    to: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let dtype = extract_dtype(to)?;
    run_op(py, work_size(input), || {
        let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.cast(dtype))?;
        input.log_softmax(dim)
    })
}

pub(super) fn softmax(
    py: Python<'_>,
    input: &CoreTensor,
    dim: i64,
    to: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let dtype = extract_dtype(to)?;
    run_op(py, work_size(input), || {
        let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.cast(dtype))?;
        input.softmax(dim)
    })
}

pub(super) fn reduction(name: &str) -> PyResult<Reduction> {
    match name {
        "none" => Ok(Reduction::None),
        "mean" => Ok(Reduction::Mean),
        "sum" => Ok(Reduction::Sum),
        _ => Err(PyValueError::new_err(format!("reduction must be 'none', 'mean' or 'sum', got {name:?}"))),
    }
}

#[pymethods]
impl Tensor {
    /// Return the sum of all elements, or over `dim`, an int or several. Integers and bools are summed as int64.
    #[pyo3(signature = (dim = None, keepdim = false, *, dtype = None))]
    fn sum(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        keepdim: bool,
        dtype: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        self::sum(py, &self.0, dim, keepdim, dtype)
    }

    /// Return the mean of all elements, or over `dim`, an int or several. Only for floating-point tensors.
    #[pyo3(signature = (dim = None, keepdim = false, *, dtype = None))]
    fn mean(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        keepdim: bool,
        dtype: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        self::mean(py, &self.0, dim, keepdim, dtype)
    }

    /// Return the index of the maximum, among all elements in row-major order or along `dim`.
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn argmax(&self, py: Python<'_>, dim: OptionalArg<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
        let dim = self::dim(dim)?;
        run_op(py, work_size(&self.0), || self.0.argmax(dim, keepdim))
    }

    /// Return the index of the minimum, among all elements in row-major order or along `dim`.
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn argmin(&self, py: Python<'_>, dim: OptionalArg<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
        let dim = self::dim(dim)?;
        run_op(py, work_size(&self.0), || self.0.argmin(dim, keepdim))
    }

    /// Return the maximum of all elements.
    fn max(&self, py: Python<'_>) -> PyResult<Tensor> {
        run_op(py, work_size(&self.0), || self.0.max())
    }

    /// Return the minimum of all elements.
    fn min(&self, py: Python<'_>) -> PyResult<Tensor> {
        run_op(py, work_size(&self.0), || self.0.min())
    }

    /// Return the maximum over `dim`, an int or several. Equal maxima share the gradient.
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn amax(&self, py: Python<'_>, dim: OptionalArg<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
        let dims = dims(dim)?;
        run_op(py, work_size(&self.0), || self.0.amax(dims.as_deref(), keepdim))
    }

    /// Return the minimum over `dim`, an int or several. Equal minima share the gradient.
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn amin(&self, py: Python<'_>, dim: OptionalArg<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
        let dims = dims(dim)?;
        run_op(py, work_size(&self.0), || self.0.amin(dims.as_deref(), keepdim))
    }

    /// Return the logarithm of the softmax along `dim`.
    #[pyo3(signature = (dim, dtype = None))]
    fn log_softmax(&self, dim: &Bound<'_, PyAny>, dtype: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        self::log_softmax(dim.py(), &self.0, extract_int("dim", dim)?, dtype)
    }

    /// Return the exponentials of the elements, normalized to a sum of 1 along `dim`.
    #[pyo3(signature = (dim, dtype = None))]
    fn softmax(&self, dim: &Bound<'_, PyAny>, dtype: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        self::softmax(dim.py(), &self.0, extract_int("dim", dim)?, dtype)
    }
}

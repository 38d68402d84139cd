//! Reductions and softmax.

use interlock_tensor::{DType, Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::args::{OptionalArg, extract_dtype, extract_int, extract_int_or_ints};
use super::{Tensor, run_op, work_size};
use crate::switches;

/// Extracts one or more optional dimensions.
pub(super) fn dims(what: &str, given: OptionalArg<'_, '_>) -> PyResult<Option<Vec<i64>>> {
    given.map(|dims| extract_int_or_ints(what, dims)).transpose()
}

/// Extracts an optional dimension.
pub(super) fn dim(what: &str, given: OptionalArg<'_, '_>) -> PyResult<Option<i64>> {
    given.map(|dim| extract_int(what, dim)).transpose()
}

/// Runs an operation on the tensor as `dtype`, to which the result is converted: integers are reduced to int64.
pub(super) fn converted(
    input: &CoreTensor,
    dtype: Option<DType>,
    operation: impl FnOnce(&CoreTensor) -> Result<CoreTensor>,
) -> Result<CoreTensor> {
    match dtype {
        Some(dtype) => operation(&input.cast(dtype)?)?.cast(dtype),
        None => operation(input),
    }
}

pub(super) fn sum(
    py: Python<'_>,
    input: &CoreTensor,
    over: OptionalArg<'_, '_>,
    keepdim: bool,
    to: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let (dims, dtype) = (dims("sum: dim", over)?, extract_dtype("sum", to)?);
    run_op(py, "sum", work_size(input), || {
        converted(input, dtype, |input| input.sum(dims.as_deref(), keepdim))
    })
}

pub(super) fn mean(
    py: Python<'_>,
    input: &CoreTensor,
    over: OptionalArg<'_, '_>,
    keepdim: bool,
    to: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let (dims, dtype) = (dims("mean: dim", over)?, extract_dtype("mean", to)?);
    run_op(py, "mean", work_size(input), || {
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
    let dtype = extract_dtype("log_softmax", to)?;
    run_op(py, "log_softmax", work_size(input), || {
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
    let dtype = extract_dtype("softmax", to)?;
    run_op(py, "softmax", work_size(input), || {
        let input = dtype.map_or_else(|| Ok(input.clone()), |dtype| input.cast(dtype))?;
        input.softmax(dim)
    })
}

pub(super) fn softmin(
    py: Python<'_>,
    input: &CoreTensor,
    dim: i64,
    to: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let dtype = extract_dtype("softmin", to)?;
    run_op(py, "softmin", work_size(input), || {
        let input = input.neg()?;
        dtype.map_or_else(|| Ok(input.clone()), |dtype| input.cast(dtype))?.softmax(dim)
    })
}

#[pymethods]
impl Tensor {
    /// Return the sum of all elements, or over one or several dimensions.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///     dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1, 2], [3, 4]])
    ///     >>> x.sum(), x.sum(0)
    ///     (tensor(10), tensor([4, 6]))
    #[pyo3(signature = (dim = None, keepdim = false, *, dtype = None))]
    fn sum(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::sum::keepdim)] keepdim: bool,
        dtype: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        self::sum(py, &self.0, dim, keepdim, dtype)
    }

    /// Return the mean of all elements, or over one or several dimensions. The mean of no elements is NaN.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///     dtype: The floating-point dtype to convert the elements to first. None means no change.
    ///
    /// Raises:
    ///     DTypeError: The elements are not floating point, and `dtype` does not convert them.
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1.0, 2.0], [3.0, 4.0]])
    ///     >>> x.mean(1)
    ///     tensor([1.5000, 3.5000])
    #[pyo3(signature = (dim = None, keepdim = false, *, dtype = None))]
    fn mean(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::mean::keepdim)] keepdim: bool,
        dtype: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        self::mean(py, &self.0, dim, keepdim, dtype)
    }

    /// Return the logarithm of the softmax along a dimension; accurate also where the softmax underflows.
    ///
    /// Args:
    ///     dim: The dimension along which the softmax sums to 1.
    ///     dtype: The floating-point dtype to convert the elements to first. None means no change.
    ///
    /// Raises:
    ///     DTypeError: The elements are not floating point, and `dtype` does not convert them.
    ///     IndexError: The tensor does not have dimension `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1.0, 2.0]).log_softmax(0)
    ///     tensor([-1.3133, -0.3133])
    #[pyo3(signature = (dim, dtype = None))]
    fn log_softmax(&self, dim: &Bound<'_, PyAny>, dtype: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        self::log_softmax(dim.py(), &self.0, extract_int("log_softmax: dim", dim)?, dtype)
    }

    /// Return the exponentials of the elements, normalized to a sum of 1 along a dimension.
    ///
    /// Args:
    ///     dim: The dimension along which the result sums to 1.
    ///     dtype: The floating-point dtype to convert the elements to first. None means no change.
    ///
    /// Raises:
    ///     DTypeError: The elements are not floating point, and `dtype` does not convert them.
    ///     IndexError: The tensor does not have dimension `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([0.0, 0.0]).softmax(0)
    ///     tensor([0.5000, 0.5000])
    #[pyo3(signature = (dim, dtype = None))]
    fn softmax(&self, dim: &Bound<'_, PyAny>, dtype: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        self::softmax(dim.py(), &self.0, extract_int("softmax: dim", dim)?, dtype)
    }
}

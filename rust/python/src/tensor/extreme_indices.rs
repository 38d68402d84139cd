//! Indices of maxima and minima.

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;

use super::args::{OptionalArg, extract_tensor};
use super::reduce::dim;
use super::{Tensor, run_op, work_size};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(argmax, module)?)?;
    module.add_function(wrap_pyfunction!(argmin, module)?)
}

fn argmax_of(
    py: Python<'_>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    keepdim: bool,
) -> PyResult<Tensor> {
    let dim = self::dim("argmax: dim", dim)?;
    run_op(py, "argmax", work_size(input), || input.argmax(dim, keepdim))
}

fn argmin_of(
    py: Python<'_>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    keepdim: bool,
) -> PyResult<Tensor> {
    let dim = self::dim("argmin: dim", dim)?;
    run_op(py, "argmin", work_size(input), || input.argmin(dim, keepdim))
}

#[pymethods]
impl Tensor {
    /// Return the index of the maximum, among all elements or along a dimension.
    ///
    /// Args:
    ///     dim: The dimension. None means all elements, which are counted in row-major order.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Returns:
    ///     An int64 tensor. Of equal elements the first index counts; NaN counts as the maximum.
    ///
    /// Raises:
    ///     DTypeError: The tensor is a bool tensor.
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     IndexError: The reduced dimension has size 0.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
    ///     >>> x.argmax(), x.argmax(1)
    ///     (tensor(2), tensor([1, 0]))
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn argmax(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::argmax::keepdim)] keepdim: bool,
    ) -> PyResult<Tensor> {
        argmax_of(py, &self.0, dim, keepdim)
    }

    /// Return the index of the minimum, among all elements or along a dimension.
    ///
    /// Args:
    ///     dim: The dimension. None means all elements, which are counted in row-major order.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Returns:
    ///     An int64 tensor. Of equal elements the first index counts; NaN counts as the minimum.
    ///
    /// Raises:
    ///     DTypeError: The tensor is a bool tensor.
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     IndexError: The reduced dimension has size 0.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1, 5], [7, 2]])
    ///     >>> x.argmin(), x.argmin(1)
    ///     (tensor(0), tensor([0, 1]))
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn argmin(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::argmin::keepdim)] keepdim: bool,
    ) -> PyResult<Tensor> {
        argmin_of(py, &self.0, dim, keepdim)
    }
}

/// Return the index of the maximum, among all elements or along a dimension.
///
/// Args:
///     input: The tensor.
///     dim: The dimension. None means all elements, which are counted in row-major order.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Returns:
///     An int64 tensor. Of equal elements the first index counts; NaN counts as the maximum.
///
/// Raises:
///     DTypeError: The tensor is a bool tensor.
///     IndexError: The tensor does not have dimension `dim`.
///     IndexError: The reduced dimension has size 0.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.argmax(x), interlock.argmax(x, 1)
///     (tensor(2), tensor([1, 0]))
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn argmax(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::argmax::keepdim)] keepdim: bool,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("argmax: input", input)?;
    argmax_of(input.py(), &tensor, dim, keepdim)
}

/// Return the index of the minimum, among all elements or along a dimension.
///
/// Args:
///     input: The tensor.
///     dim: The dimension. None means all elements, which are counted in row-major order.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Returns:
///     An int64 tensor. Of equal elements the first index counts; NaN counts as the minimum.
///
/// Raises:
///     DTypeError: The tensor is a bool tensor.
///     IndexError: The tensor does not have dimension `dim`.
///     IndexError: The reduced dimension has size 0.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 5], [7, 2]])
///     >>> interlock.argmin(x), interlock.argmin(x, 1)
///     (tensor(0), tensor([0, 1]))
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn argmin(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::argmin::keepdim)] keepdim: bool,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("argmin: input", input)?;
    argmin_of(input.py(), &tensor, dim, keepdim)
}

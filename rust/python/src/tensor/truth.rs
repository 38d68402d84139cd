//! Reductions of truth values, and comparisons of whole tensors.

use interlock_tensor::{Tensor as CoreTensor, Tolerance};
use pyo3::prelude::*;

use super::args::{OptionalArg, extract_tensor};
use super::numeric_args::floats;
use super::reduce::dims;
use super::{Tensor, maybe_detach, run_op, work_size, work_size_of};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(all, module)?)?;
    module.add_function(wrap_pyfunction!(any, module)?)?;
    module.add_function(wrap_pyfunction!(count_nonzero, module)?)?;
    module.add_function(wrap_pyfunction!(equal, module)?)?;
    module.add_function(wrap_pyfunction!(isclose, module)?)?;
    module.add_function(wrap_pyfunction!(allclose, module)?)
}

fn all_of(py: Python<'_>, input: &CoreTensor, dim: OptionalArg<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
    let dims = dims("all: dim", dim)?;
    run_op(py, "all", work_size(input), || input.all_over(dims.as_deref(), keepdim))
}

fn any_of(py: Python<'_>, input: &CoreTensor, dim: OptionalArg<'_, '_>, keepdim: bool) -> PyResult<Tensor> {
    let dims = dims("any: dim", dim)?;
    run_op(py, "any", work_size(input), || input.any_over(dims.as_deref(), keepdim))
}

fn count_nonzero_of(py: Python<'_>, input: &CoreTensor, dim: OptionalArg<'_, '_>) -> PyResult<Tensor> {
    let dims = dims("count_nonzero: dim", dim)?;
    run_op(py, "count_nonzero", work_size(input), || input.count_nonzero(dims.as_deref()))
}

fn equal_of(py: Python<'_>, input: &CoreTensor, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    let other = extract_tensor("equal: other", other)?;
    maybe_detach(py, "equal", work_size_of(&[input, &other]), || input.same(&other))
}

fn isclose_of(
    py: Python<'_>,
    input: &CoreTensor,
    other: &Bound<'_, PyAny>,
    rtol: f64,
    atol: f64,
    equal_nan: bool,
) -> PyResult<Tensor> {
    let other = extract_tensor("isclose: other", other)?;
    let size = work_size_of(&[input, &other]);
    run_op(py, "isclose", size, || input.isclose(&other, Tolerance { rtol, atol, equal_nan }))
}

fn allclose_of(
    py: Python<'_>,
    input: &CoreTensor,
    other: &Bound<'_, PyAny>,
    rtol: f64,
    atol: f64,
    equal_nan: bool,
) -> PyResult<bool> {
    let other = extract_tensor("allclose: other", other)?;
    let size = work_size_of(&[input, &other]);
    maybe_detach(py, "allclose", size, || input.allclose(&other, Tolerance { rtol, atol, equal_nan }))
}

#[pymethods]
impl Tensor {
    /// Return whether all elements are nonzero, of all elements or over one or several dimensions. NaN is nonzero.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Returns:
    ///     A bool tensor; of a uint8 tensor a uint8 tensor, as in PyTorch. An empty tuple as `dim` reduces no
    ///     dimension.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[0, 1], [2, 3]])
    ///     >>> x.all(), x.all(0)
    ///     (tensor(False), tensor([False,  True]))
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn all(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::all::keepdim)] keepdim: bool,
    ) -> PyResult<Tensor> {
        all_of(py, &self.0, dim, keepdim)
    }

    /// Return whether any element is nonzero, of all elements or over one or several dimensions. NaN is nonzero.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Returns:
    ///     A bool tensor; of a uint8 tensor a uint8 tensor, as in PyTorch. An empty tuple as `dim` reduces no
    ///     dimension.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[0, 1], [2, 3]])
    ///     >>> x.any(), x.any(0)
    ///     (tensor(True), tensor([True, True]))
    #[pyo3(signature = (dim = None, keepdim = false))]
    fn any(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::any::keepdim)] keepdim: bool,
    ) -> PyResult<Tensor> {
        any_of(py, &self.0, dim, keepdim)
    }

    /// Return the number of nonzero elements, of all elements or over one or several dimensions.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
    ///
    /// Returns:
    ///     An int64 tensor.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[0, 1], [2, 3]])
    ///     >>> x.count_nonzero()
    ///     tensor(3)
    #[pyo3(signature = (dim = None))]
    fn count_nonzero(&self, py: Python<'_>, dim: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        count_nonzero_of(py, &self.0, dim)
    }

    /// Return whether two tensors have the same shape and equal elements. NaN equals nothing.
    ///
    /// For device tensors this waits for the queued work.
    ///
    /// Args:
    ///     other: The other tensor.
    ///
    /// Raises:
    ///     RuntimeError: The tensors are on different devices.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([1, 2])
    ///     >>> x.equal(interlock.tensor([1, 2]))
    ///     True
    #[pyo3(signature = (other))]
    fn equal(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        equal_of(py, &self.0, other)
    }

    /// Return a bool tensor that is True where the elements differ by at most `atol + rtol * abs(other)`.
    ///
    /// Args:
    ///     other: The other tensor.
    ///     rtol: The relative tolerance.
    ///     atol: The absolute tolerance.
    ///     equal_nan: Whether NaN is close to NaN.
    ///
    /// Returns:
    ///     A bool tensor. Infinities are close only to themselves.
    ///
    /// Raises:
    ///     DTypeError: The dtypes differ.
    ///     ArgumentError: A tolerance is negative.
    ///     ShapeError: The shapes cannot be broadcast.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([1.0, 2.0])
    ///     >>> x.isclose(interlock.tensor([1.000001, 2.1]))
    ///     tensor([ True, False])
    #[pyo3(signature = (other, rtol = 1e-5, atol = 1e-8, equal_nan = false))]
    fn isclose(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = floats::isclose::rtol)] rtol: f64,
        #[pyo3(from_py_with = floats::isclose::atol)] atol: f64,
        #[pyo3(from_py_with = switches::isclose::equal_nan)] equal_nan: bool,
    ) -> PyResult<Tensor> {
        isclose_of(py, &self.0, other, rtol, atol, equal_nan)
    }

    /// Return whether all elements are close, as by `isclose`.
    ///
    /// For device tensors this waits for the queued work.
    ///
    /// Args:
    ///     other: The other tensor.
    ///     rtol: The relative tolerance.
    ///     atol: The absolute tolerance.
    ///     equal_nan: Whether NaN is close to NaN.
    ///
    /// Raises:
    ///     DTypeError: The dtypes differ.
    ///     ArgumentError: A tolerance is negative.
    ///     ShapeError: The shapes cannot be broadcast.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([1.0, 2.0])
    ///     >>> x.allclose(interlock.tensor([1.000001, 2.0]))
    ///     True
    #[pyo3(signature = (other, rtol = 1e-5, atol = 1e-8, equal_nan = false))]
    fn allclose(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = floats::allclose::rtol)] rtol: f64,
        #[pyo3(from_py_with = floats::allclose::atol)] atol: f64,
        #[pyo3(from_py_with = switches::allclose::equal_nan)] equal_nan: bool,
    ) -> PyResult<bool> {
        allclose_of(py, &self.0, other, rtol, atol, equal_nan)
    }
}

/// Return whether all elements are nonzero, of all elements or over one or several dimensions. NaN is nonzero.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Returns:
///     A bool tensor; of a uint8 tensor a uint8 tensor, as in PyTorch. An empty tuple as `dim` reduces no
///     dimension.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[0, 1], [2, 3]])
///     >>> interlock.all(x), interlock.all(x, 0)
///     (tensor(False), tensor([False,  True]))
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn all(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::all::keepdim)] keepdim: bool,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("all: input", input)?;
    all_of(input.py(), &tensor, dim, keepdim)
}

/// Return whether any element is nonzero, of all elements or over one or several dimensions. NaN is nonzero.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Returns:
///     A bool tensor; of a uint8 tensor a uint8 tensor, as in PyTorch. An empty tuple as `dim` reduces no
///     dimension.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[0, 1], [2, 3]])
///     >>> interlock.any(x), interlock.any(x, 0)
///     (tensor(True), tensor([True, True]))
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false))]
fn any(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::any::keepdim)] keepdim: bool,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("any: input", input)?;
    any_of(input.py(), &tensor, dim, keepdim)
}

/// Return the number of nonzero elements, of all elements or over one or several dimensions.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
///
/// Returns:
///     An int64 tensor.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[0, 1], [2, 3]])
///     >>> interlock.count_nonzero(x)
///     tensor(3)
#[pyfunction]
#[pyo3(signature = (input, dim = None))]
fn count_nonzero(input: &Bound<'_, PyAny>, dim: OptionalArg<'_, '_>) -> PyResult<Tensor> {
    let tensor = extract_tensor("count_nonzero: input", input)?;
    count_nonzero_of(input.py(), &tensor, dim)
}

/// Return whether two tensors have the same shape and equal elements. NaN equals nothing.
///
/// For device tensors this waits for the queued work.
///
/// Args:
///     input: The tensor.
///     other: The other tensor.
///
/// Raises:
///     RuntimeError: The tensors are on different devices.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1, 2])
///     >>> interlock.equal(x, interlock.tensor([1, 2]))
///     True
#[pyfunction]
#[pyo3(signature = (input, other))]
fn equal(input: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    let tensor = extract_tensor("equal: input", input)?;
    equal_of(input.py(), &tensor, other)
}

/// Return a bool tensor that is True where the elements differ by at most `atol + rtol * abs(other)`.
///
/// Args:
///     input: The tensor.
///     other: The other tensor.
///     rtol: The relative tolerance.
///     atol: The absolute tolerance.
///     equal_nan: Whether NaN is close to NaN.
///
/// Returns:
///     A bool tensor. Infinities are close only to themselves.
///
/// Raises:
///     DTypeError: The dtypes differ.
///     ArgumentError: A tolerance is negative.
///     ShapeError: The shapes cannot be broadcast.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0])
///     >>> interlock.isclose(x, interlock.tensor([1.000001, 2.1]))
///     tensor([ True, False])
#[pyfunction]
#[pyo3(signature = (input, other, rtol = 1e-5, atol = 1e-8, equal_nan = false))]
fn isclose(
    input: &Bound<'_, PyAny>,
    other: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = floats::isclose::rtol)] rtol: f64,
    #[pyo3(from_py_with = floats::isclose::atol)] atol: f64,
    #[pyo3(from_py_with = switches::isclose::equal_nan)] equal_nan: bool,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("isclose: input", input)?;
    isclose_of(input.py(), &tensor, other, rtol, atol, equal_nan)
}

/// Return whether all elements are close, as by `isclose`.
///
/// For device tensors this waits for the queued work.
///
/// Args:
///     input: The tensor.
///     other: The other tensor.
///     rtol: The relative tolerance.
///     atol: The absolute tolerance.
///     equal_nan: Whether NaN is close to NaN.
///
/// Raises:
///     DTypeError: The dtypes differ.
///     ArgumentError: A tolerance is negative.
///     ShapeError: The shapes cannot be broadcast.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0])
///     >>> interlock.allclose(x, interlock.tensor([1.000001, 2.0]))
///     True
#[pyfunction]
#[pyo3(signature = (input, other, rtol = 1e-5, atol = 1e-8, equal_nan = false))]
fn allclose(
    input: &Bound<'_, PyAny>,
    other: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = floats::allclose::rtol)] rtol: f64,
    #[pyo3(from_py_with = floats::allclose::atol)] atol: f64,
    #[pyo3(from_py_with = switches::allclose::equal_nan)] equal_nan: bool,
) -> PyResult<bool> {
    let tensor = extract_tensor("allclose: input", input)?;
    allclose_of(input.py(), &tensor, other, rtol, atol, equal_nan)
}

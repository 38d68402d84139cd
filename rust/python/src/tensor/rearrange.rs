//! Copies with the elements in another order, repeated, or partly replaced by zeros.

use interlock_tensor::Tensor as CoreTensor;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::{OptionalArg, extract_int, extract_ints_or_named, extract_tensor};
use super::inplace::{PySelf, run_inplace};
use super::numeric_args::{ints, lists};
use super::{Tensor, reduce, run_op, work_size};
use crate::errors::new_exception;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(roll, module)?)?;
    module.add_function(wrap_pyfunction!(tile, module)?)?;
    module.add_function(wrap_pyfunction!(repeat_interleave, module)?)?;
    module.add_function(wrap_pyfunction!(tril, module)?)?;
    module.add_function(wrap_pyfunction!(triu, module)?)?;
    module.add_function(wrap_pyfunction!(trace, module)?)
}

/// Like [`extract_ints_or_named`]; one of the arguments must be passed.
pub(super) fn required_ints(
    what: &str,
    args: &Bound<'_, PyTuple>,
    named: OptionalArg<'_, '_>,
) -> PyResult<Vec<i64>> {
    if args.is_empty() && named.is_none() {
        return Err(PyTypeError::new_err(format!(
            "{what} must be ints, or one tuple or list of them, got nothing"
        )));
    }
    extract_ints_or_named(what, args, named)
}

/// Repeats elements as often as an int or a tensor says. `output_size` is checked if it is passed.
fn repeat_interleave_by(
    py: Python<'_>,
    x: &CoreTensor,
    repeats: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    output_size: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let dim = reduce::dim("repeat_interleave: dim", dim)?;
    let what = "repeat_interleave: output_size";
    let expected = output_size.map(|size| extract_int(what, size)).transpose()?;
    let out = if let Ok(counts) = repeats.cast::<Tensor>() {
        let counts = &counts.get().0;
        run_op(py, "repeat_interleave", super::DETACH_THRESHOLD, || x.repeat_interleave_each(counts, dim))?
    } else {
        let count = extract_int("repeat_interleave: repeats", repeats)?;
        let total = work_size(x).saturating_mul(usize::try_from(count).unwrap_or(0));
        run_op(py, "repeat_interleave", total, || x.repeat_interleave(count, dim))?
    };
    let at =
        dim.and_then(|dim| usize::try_from(dim.rem_euclid(i64::try_from(out.0.ndim()).ok()?.max(1))).ok());
    let size = out.0.shape().get(at.unwrap_or(0)).copied();
    match expected {
        Some(expected) if usize::try_from(expected).ok() != size => {
            let size = size.unwrap_or(0);
            let message = format!("{what} must be the size of the result, {size}, got {expected}");
            Err(new_exception(py, "ArgumentError", message))
        }
        _ => Ok(out),
    }
}

#[pymethods]
impl Tensor {
    /// Return a copy with the elements moved along dimensions. Those that are moved beyond the end come first.
    ///
    /// Args:
    ///     shifts: The distance for each dimension; a negative one moves elements to the front.
    ///     dims: The dimension or dimensions. None means that the elements are moved in row-major order.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have one of the dimensions.
    ///     ArgumentError: The numbers of shifts and dimensions differ.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.arange(4).roll(1)
    ///     tensor([3, 0, 1, 2])
    #[pyo3(signature = (shifts, dims = None))]
    fn roll(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = lists::roll::shifts)] shifts: Vec<i64>,
        dims: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        let dims = reduce::dims("roll: dims", dims)?.unwrap_or_default();
        run_op(py, "roll", work_size(x), || x.roll(&shifts, &dims))
    }

    /// Return a copy in which dimensions are repeated.
    ///
    /// Args:
    ///     args: How often each dimension is repeated, as separate ints or as one tuple or list. Numbers beyond those of the
    ///         dimensions are the sizes of new dimensions, which come first.
    ///     repeats: The numbers as a tuple or list, by name instead of `args`.
    ///
    /// Raises:
    ///     ArgumentError: A number is negative, or there are fewer numbers than dimensions.
    ///     OutOfMemoryError: Not enough memory is available.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).repeat(2, 2)
    ///     tensor([[1, 2, 1, 2],
    ///             [1, 2, 1, 2]])
    #[pyo3(signature = (*args, repeats = None))]
    fn repeat(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        repeats: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        let repeats = required_ints("repeat: repeats", args, repeats)?;
        run_op(py, "repeat", super::DETACH_THRESHOLD, || x.repeat(&repeats))
    }

    /// Return a copy in which dimensions are repeated. Of fewer numbers than dimensions, the last is for the last dimension.
    ///
    /// Args:
    ///     args: How often each dimension is repeated, as separate ints or as one tuple or list.
    ///     dims: The numbers as a tuple or list, by name instead of `args`.
    ///
    /// Raises:
    ///     ArgumentError: A number is negative.
    ///     OutOfMemoryError: Not enough memory is available.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1], [2]]).tile(2)
    ///     tensor([[1, 1],
    ///             [2, 2]])
    #[pyo3(signature = (*args, dims = None))]
    fn tile(&self, py: Python<'_>, args: &Bound<'_, PyTuple>, dims: OptionalArg<'_, '_>) -> PyResult<Tensor> {
        let x = &self.0;
        let dims = required_ints("tile: dims", args, dims)?;
        run_op(py, "tile", super::DETACH_THRESHOLD, || x.tile(&dims))
    }

    /// Return a copy in which elements along a dimension are repeated, each one several times in a row.
    ///
    /// Args:
    ///     repeats: How often each element is repeated: an int, or an integer tensor with a number for each index of the dimension.
    ///         A tensor on a device is waited for.
    ///     dim: The dimension. None means that the tensor is flattened first.
    ///     output_size: The size of the dimension in the result, which is checked.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: A number is negative, or `output_size` is not that of the result.
    ///     ShapeError: `repeats` is a tensor that does not have a number for each index.
    ///     DTypeError: `repeats` is not an integer tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).repeat_interleave(2)
    ///     tensor([1, 1, 2, 2])
    #[pyo3(signature = (repeats, dim = None, *, output_size = None))]
    fn repeat_interleave(
        &self,
        py: Python<'_>,
        repeats: &Bound<'_, PyAny>,
        dim: OptionalArg<'_, '_>,
        output_size: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        repeat_interleave_by(py, x, repeats, dim, output_size)
    }

    /// Return the lower triangle of a matrix, or of each matrix of a batch: a copy with zeros above a diagonal.
    ///
    /// Args:
    ///     diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
    ///
    /// Raises:
    ///     ShapeError: The tensor has fewer than two dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).tril()
    ///     tensor([[1, 0],
    ///             [3, 4]])
    #[pyo3(signature = (diagonal = 0))]
    fn tril(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = ints::tril::diagonal)] diagonal: i64,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "tril", work_size(x), || x.tril(diagonal))
    }

    /// In-place version of `tril`.
    ///
    /// Args:
    ///     diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     ShapeError: The tensor has fewer than two dimensions.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    #[pyo3(signature = (diagonal = 0))]
    fn tril_<'py>(
        slf: Bound<'py, Self>,
        #[pyo3(from_py_with = ints::tril_::diagonal)] diagonal: i64,
    ) -> PySelf<'py> {
        run_inplace("tril_", slf, &|x| x.tril_(diagonal).map(drop))
    }

    /// Return the upper triangle of a matrix, or of each matrix of a batch: a copy with zeros below a diagonal.
    ///
    /// Args:
    ///     diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
    ///
    /// Raises:
    ///     ShapeError: The tensor has fewer than two dimensions.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).triu()
    ///     tensor([[1, 2],
    ///             [0, 4]])
    #[pyo3(signature = (diagonal = 0))]
    fn triu(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = ints::triu::diagonal)] diagonal: i64,
    ) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "triu", work_size(x), || x.triu(diagonal))
    }

    /// In-place version of `triu`.
    ///
    /// Args:
    ///     diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     ShapeError: The tensor has fewer than two dimensions.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    #[pyo3(signature = (diagonal = 0))]
    fn triu_<'py>(
        slf: Bound<'py, Self>,
        #[pyo3(from_py_with = ints::triu_::diagonal)] diagonal: i64,
    ) -> PySelf<'py> {
        run_inplace("triu_", slf, &|x| x.triu_(diagonal).map(drop))
    }

    /// Return the sum of the diagonal of a matrix.
    ///
    /// Raises:
    ///     ShapeError: The tensor is not a matrix.
    ///     DTypeError: The tensor is a bool tensor.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([[1, 2], [3, 4]]).trace()
    ///     tensor(5)
    fn trace(&self, py: Python<'_>) -> PyResult<Tensor> {
        let x = &self.0;
        run_op(py, "trace", work_size(x), || x.trace())
    }
}

/// Return a copy with the elements moved along dimensions. Those that are moved beyond the end come first.
///
/// Args:
///     input: The tensor.
///     shifts: The distance for each dimension; a negative one moves elements to the front.
///     dims: The dimension or dimensions. None means that the elements are moved in row-major order.
///
/// Raises:
///     IndexError: The tensor does not have one of the dimensions.
///     ArgumentError: The numbers of shifts and dimensions differ.
///
/// Example:
///     >>> import interlock
///     >>> interlock.roll(interlock.tensor([[1, 2], [3, 4]]), 1, 0)
///     tensor([[3, 4],
///             [1, 2]])
#[pyfunction]
#[pyo3(signature = (input, shifts, dims = None))]
fn roll(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = lists::roll::shifts)] shifts: Vec<i64>,
    dims: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("roll: input", input)?;
    let dims = reduce::dims("roll: dims", dims)?.unwrap_or_default();
    run_op(py, "roll", work_size(x), || x.roll(&shifts, &dims))
}

/// Return a copy in which dimensions are repeated. Of fewer numbers than dimensions, the last is for the last dimension.
///
/// Args:
///     input: The tensor.
///     dims: How often each dimension is repeated.
///
/// Raises:
///     ArgumentError: A number is negative.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.tile(interlock.tensor([1, 2]), (2,))
///     tensor([1, 2, 1, 2])
#[pyfunction]
fn tile(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = lists::tile::dims)] dims: Vec<i64>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("tile: input", input)?;
    run_op(py, "tile", super::DETACH_THRESHOLD, || x.tile(&dims))
}

/// Return a copy in which elements along a dimension are repeated, each one several times in a row.
///
/// Args:
///     input: The tensor.
///     repeats: How often each element is repeated: an int, or an integer tensor with a number for each index of the dimension.
///         A tensor on a device is waited for.
///     dim: The dimension. None means that the tensor is flattened first.
///     output_size: The size of the dimension in the result, which is checked.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: A number is negative, or `output_size` is not that of the result.
///     ShapeError: `repeats` is a tensor that does not have a number for each index.
///     DTypeError: `repeats` is not an integer tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.repeat_interleave(interlock.tensor([1, 2]), interlock.tensor([1, 3]))
///     tensor([1, 2, 2, 2])
#[pyfunction]
#[pyo3(signature = (input, repeats, dim = None, *, output_size = None))]
fn repeat_interleave(
    input: &Bound<'_, PyAny>,
    repeats: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    output_size: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("repeat_interleave: input", input)?;
    repeat_interleave_by(py, x, repeats, dim, output_size)
}

/// Return the lower triangle of a matrix, or of each matrix of a batch: a copy with zeros above a diagonal.
///
/// Args:
///     input: The tensor.
///     diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
///
/// Raises:
///     ShapeError: The tensor has fewer than two dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.tril(interlock.tensor([[1, 2], [3, 4]]), -1)
///     tensor([[0, 0],
///             [3, 0]])
#[pyfunction]
#[pyo3(signature = (input, diagonal = 0))]
fn tril(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::tril::diagonal)] diagonal: i64,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("tril: input", input)?;
    run_op(py, "tril", work_size(x), || x.tril(diagonal))
}

/// Return the upper triangle of a matrix, or of each matrix of a batch: a copy with zeros below a diagonal.
///
/// Args:
///     input: The tensor.
///     diagonal: The last diagonal that is kept: 0 is the main diagonal, positive ones are above it.
///
/// Raises:
///     ShapeError: The tensor has fewer than two dimensions.
///
/// Example:
///     >>> import interlock
///     >>> interlock.triu(interlock.tensor([[1, 2], [3, 4]]), -1)
///     tensor([[1, 2],
///             [3, 4]])
#[pyfunction]
#[pyo3(signature = (input, diagonal = 0))]
fn triu(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = ints::triu::diagonal)] diagonal: i64,
) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("triu: input", input)?;
    run_op(py, "triu", work_size(x), || x.triu(diagonal))
}

/// Return the sum of the diagonal of a matrix.
///
/// Args:
///     input: The tensor.
///
/// Raises:
///     ShapeError: The tensor is not a matrix.
///     DTypeError: The tensor is a bool tensor.
///
/// Example:
///     >>> import interlock
///     >>> interlock.trace(interlock.tensor([[1, 2], [3, 4]]))
///     tensor(5)
#[pyfunction]
fn trace(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = input.py();
    let x = &extract_tensor("trace: input", input)?;
    run_op(py, "trace", work_size(x), || x.trace())
}

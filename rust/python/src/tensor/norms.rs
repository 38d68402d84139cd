//! Products, norms and sums of exponentials.

use interlock_tensor::Tensor as CoreTensor;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::args::{OptionalArg, extract_dtype, extract_int_or_ints, extract_scalar, extract_tensor};
use super::reduce::{converted, dim, dims};
use super::{Tensor, run_op, work_size};
use crate::errors::{new_exception, shown};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(norm, module)?)?;
    module.add_function(wrap_pyfunction!(logsumexp, module)?)?;
    module.add_function(wrap_pyfunction!(prod, module)?)
}

/// Extracts the order of a norm.
fn order(given: OptionalArg<'_, '_>) -> PyResult<f64> {
    let Some(given) = given else { return Ok(2.0) };
    let Ok(name) = given.cast::<PyString>() else {
        return Ok(extract_scalar("norm: p", given)?.cast());
    };
    if &*name.to_string_lossy() == "fro" {
        return Ok(2.0);
    }
    let message = format!("norm: p must be a number or 'fro', got {}", shown(name)?);
    Err(new_exception(given.py(), "ArgumentError", message))
}

fn norm_of(
    py: Python<'_>,
    input: &CoreTensor,
    p: OptionalArg<'_, '_>,
    dim: OptionalArg<'_, '_>,
    keepdim: bool,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let order = order(p)?;
    let (dims, dtype) = (dims("norm: dim", dim)?, extract_dtype("norm", dtype)?);
    run_op(py, "norm", work_size(input), || input.norm(order, dims.as_deref(), keepdim, dtype))
}

fn logsumexp_of(
    py: Python<'_>,
    input: &CoreTensor,
    dim: &Bound<'_, PyAny>,
    keepdim: bool,
) -> PyResult<Tensor> {
    let dims = extract_int_or_ints("logsumexp: dim", dim)?;
    run_op(py, "logsumexp", work_size(input), || input.logsumexp(&dims, keepdim))
}

fn prod_of(
    py: Python<'_>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    keepdim: bool,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let (dim, dtype) = (self::dim("prod: dim", dim)?, extract_dtype("prod", dtype)?);
    run_op(py, "prod", work_size(input), || converted(input, dtype, |input| input.prod(dim, keepdim)))
}

#[pymethods]
impl Tensor {
    /// Return the vector norm of all elements, or over one or several dimensions.
    ///
    /// It is the root of order `p` of the sum of the powers of absolute values, the number of nonzero elements for
    /// order 0, and the largest or smallest absolute value for an infinite order. The gradient is 0 where the norm
    /// is 0.
    ///
    /// Args:
    ///     p: The order: a number, an infinity, or "fro" for 2. None means 2.
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///     dtype: The floating-point dtype to convert the elements to first, which must not be narrower. None means
    ///         no change.
    ///
    /// Raises:
    ///     DTypeError: The elements are not floating point, or `dtype` is narrower.
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///     ArgumentError: `p` is another text.
    ///     ShapeError: `p` is infinite and there are no elements to reduce.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([3.0, 4.0])
    ///     >>> x.norm(), x.norm(1)
    ///     (tensor(5.), tensor(7.))
    #[pyo3(signature = (p = None, dim = None, keepdim = false, dtype = None))]
    fn norm(
        &self,
        py: Python<'_>,
        p: OptionalArg<'_, '_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::norm::keepdim)] keepdim: bool,
        dtype: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        norm_of(py, &self.0, p, dim, keepdim, dtype)
    }

    /// Return the logarithm of the sum of the exponentials over one or several dimensions.
    ///
    /// It is accurate also where an exponential overflows. Integers are converted to float32.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([1000.0, 1000.0])
    ///     >>> x.logsumexp(0)
    ///     tensor(1000.6932)
    #[pyo3(signature = (dim, keepdim = false))]
    fn logsumexp(
        &self,
        py: Python<'_>,
        dim: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = switches::logsumexp::keepdim)] keepdim: bool,
    ) -> PyResult<Tensor> {
        logsumexp_of(py, &self.0, dim, keepdim)
    }

    /// Return the product of all elements, or along a dimension. The product of no elements is 1.
    ///
    /// Args:
    ///     dim: The dimension. None means all elements.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///     dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no
    ///         change.
    ///
    /// Raises:
    ///     IndexError: The tensor does not have dimension `dim`.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([[1, 2], [3, 4]])
    ///     >>> x.prod(), x.prod(0)
    ///     (tensor(24), tensor([3, 8]))
    #[pyo3(signature = (dim = None, keepdim = false, *, dtype = None))]
    fn prod(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::prod::keepdim)] keepdim: bool,
        dtype: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        prod_of(py, &self.0, dim, keepdim, dtype)
    }
}

/// Return the vector norm of all elements, or over one or several dimensions.
///
/// It is the root of order `p` of the sum of the powers of absolute values, the number of nonzero elements for
/// order 0, and the largest or smallest absolute value for an infinite order. The gradient is 0 where the norm is
/// 0.
///
/// Args:
///     input: The tensor.
///     p: The order: a number, an infinity, or "fro" for 2. None means 2.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all.
///     keepdim: Whether reduced dimensions remain, with size 1.
///     dtype: The floating-point dtype to convert the elements to first, which must not be narrower. None means no
///         change.
///
/// Raises:
///     DTypeError: The elements are not floating point, or `dtype` is narrower.
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     ArgumentError: `p` is another text.
///     ShapeError: `p` is infinite and there are no elements to reduce.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([3.0, 4.0])
///     >>> interlock.norm(x), interlock.norm(x, 1)
///     (tensor(5.), tensor(7.))
#[pyfunction]
#[pyo3(signature = (input, p = None, dim = None, keepdim = false, dtype = None))]
fn norm(
    input: &Bound<'_, PyAny>,
    p: OptionalArg<'_, '_>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::norm::keepdim)] keepdim: bool,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("norm: input", input)?;
    norm_of(input.py(), &tensor, p, dim, keepdim, dtype)
}

/// Return the logarithm of the sum of the exponentials over one or several dimensions.
///
/// It is accurate also where an exponential overflows. Integers are converted to float32.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list.
///     keepdim: Whether reduced dimensions remain, with size 1.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1000.0, 1000.0])
///     >>> interlock.logsumexp(x, 0)
///     tensor(1000.6932)
#[pyfunction]
#[pyo3(signature = (input, dim, keepdim = false))]
fn logsumexp(
    input: &Bound<'_, PyAny>,
    dim: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = switches::logsumexp::keepdim)] keepdim: bool,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("logsumexp: input", input)?;
    logsumexp_of(input.py(), &tensor, dim, keepdim)
}

/// Return the product of all elements, or along a dimension. The product of no elements is 1.
///
/// Args:
///     input: The tensor.
///     dim: The dimension. None means all elements.
///     keepdim: Whether reduced dimensions remain, with size 1.
///     dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.
///
/// Raises:
///     IndexError: The tensor does not have dimension `dim`.
///     TypeError: `input` is not a tensor.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([[1, 2], [3, 4]])
///     >>> interlock.prod(x), interlock.prod(x, 0)
///     (tensor(24), tensor([3, 8]))
#[pyfunction]
#[pyo3(signature = (input, dim = None, keepdim = false, *, dtype = None))]
fn prod(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::prod::keepdim)] keepdim: bool,
    dtype: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("prod: input", input)?;
    prod_of(input.py(), &tensor, dim, keepdim, dtype)
}

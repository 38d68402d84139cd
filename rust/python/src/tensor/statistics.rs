//! Variances and standard deviations.

use ::std::ffi::CString;

use interlock_tensor::{Scalar, Tensor as CoreTensor};
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::args::{OptionalArg, extract_scalar, extract_tensor};
use super::reduce::dims;
use super::{Tensor, maybe_detach, run_op, work_size};
use crate::{scope_debug, switches};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(var, module)?)?;
    module.add_function(wrap_pyfunction!(self::std, module)?)?;
    module.add_function(wrap_pyfunction!(var_mean, module)?)?;
    module.add_function(wrap_pyfunction!(std_mean, module)?)
}

/// The arguments of a variance.
struct Spread {
    dims: Option<Vec<i64>>,
    correction: Scalar,
}

impl Spread {
    /// Extracts `dim`, `unbiased` and `correction`. As in PyTorch a bool in place of the dimensions is `unbiased`.
    fn of(
        op: &str,
        (dim, unbiased, correction): (OptionalArg<'_, '_>, Option<bool>, OptionalArg<'_, '_>),
    ) -> PyResult<Self> {
        let (dim, unbiased) = match dim.map(|dim| dim.cast::<PyBool>()) {
            Some(Ok(first)) => (None, Some(first.is_true())),
            _ => (dim, unbiased),
        };
        let correction = match (unbiased, correction) {
            (Some(_), Some(_)) => {
                let message = format!("{op}: unbiased and correction must not both be given");
                return Err(PyTypeError::new_err(message));
            }
            (None, Some(correction)) => extract_scalar(&format!("{op}: correction"), correction)?,
            (unbiased, None) => Scalar::Int(unbiased.unwrap_or(true).into()),
        };
        Ok(Spread { dims: dims(&format!("{op}: dim"), dim)?, correction })
    }
}

/// Issues PyTorch's warning for a variance that is divided by 0.
fn warn_degrees_of_freedom(
    py: Python<'_>,
    op: &str,
    input: &CoreTensor,
    dims: Option<&[i64]>,
    correction: Scalar,
) -> PyResult<()> {
    // Other errors are those of the operation.
    if !input.dtype().is_floating_point()
        || input.degrees_of_freedom(dims, correction).is_ok_and(|degrees| degrees > 0.0)
        || input.degrees_of_freedom(dims, correction).is_err()
    {
        return Ok(());
    }
    let message = format!("{op}: the correction must be less than the number of reduced elements");
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(message)?, 1)
}

fn var_of(
    py: Python<'_>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    unbiased: Option<bool>,
    keepdim: bool,
    correction: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let Spread { dims, correction } = Spread::of("var", (dim, unbiased, correction))?;
    warn_degrees_of_freedom(py, "var", input, dims.as_deref(), correction)?;
    run_op(py, "var", work_size(input), || input.var(dims.as_deref(), correction, keepdim))
}

fn std_of(
    py: Python<'_>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    unbiased: Option<bool>,
    keepdim: bool,
    correction: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let Spread { dims, correction } = Spread::of("std", (dim, unbiased, correction))?;
    warn_degrees_of_freedom(py, "std", input, dims.as_deref(), correction)?;
    run_op(py, "std", work_size(input), || input.std(dims.as_deref(), correction, keepdim))
}

fn var_mean_of(
    py: Python<'_>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    unbiased: Option<bool>,
    keepdim: bool,
    correction: OptionalArg<'_, '_>,
) -> PyResult<(Tensor, Tensor)> {
    let Spread { dims, correction } = Spread::of("var_mean", (dim, unbiased, correction))?;
    warn_degrees_of_freedom(py, "var_mean", input, dims.as_deref(), correction)?;
    scope_debug::warn_suspended_scopes(py)?;
    let both = maybe_detach(py, "var_mean", work_size(input), || {
        let spread = input.var(dims.as_deref(), correction, keepdim)?;
        Ok((spread, input.mean(dims.as_deref(), keepdim)?))
    })?;
    Ok((Tensor(both.0), Tensor(both.1)))
}

fn std_mean_of(
    py: Python<'_>,
    input: &CoreTensor,
    dim: OptionalArg<'_, '_>,
    unbiased: Option<bool>,
    keepdim: bool,
    correction: OptionalArg<'_, '_>,
) -> PyResult<(Tensor, Tensor)> {
    let Spread { dims, correction } = Spread::of("std_mean", (dim, unbiased, correction))?;
    warn_degrees_of_freedom(py, "std_mean", input, dims.as_deref(), correction)?;
    scope_debug::warn_suspended_scopes(py)?;
    let both = maybe_detach(py, "std_mean", work_size(input), || {
        let spread = input.std(dims.as_deref(), correction, keepdim)?;
        Ok((spread, input.mean(dims.as_deref(), keepdim)?))
    })?;
    Ok((Tensor(both.0), Tensor(both.1)))
}

#[pymethods]
impl Tensor {
    /// Return the variance of all elements, or over one or several dimensions.
    ///
    /// The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
    /// `UserWarning` is issued if that is not positive.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is
    ///         `unbiased`.
    ///     unbiased: Whether the correction is 1, or 0. Not together with `correction`.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///     correction: What is subtracted from the number of elements. None means 1.
    ///
    /// Raises:
    ///     DTypeError: The elements are not floating point.
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///     TypeError: Both `unbiased` and `correction` are given.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
    ///     >>> x.var(), x.var(correction=0)
    ///     (tensor(7.), tensor(4.6667))
    #[pyo3(signature = (dim = None, unbiased = None, keepdim = false, *, correction = None))]
    fn var(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::var::unbiased)] unbiased: Option<bool>,
        #[pyo3(from_py_with = switches::var::keepdim)] keepdim: bool,
        correction: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        var_of(py, &self.0, dim, unbiased, keepdim, correction)
    }

    /// Return the standard deviation of all elements, or over one or several dimensions.
    ///
    /// The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
    /// `UserWarning` is issued if that is not positive. The gradient is 0 where the result is 0.
    ///
    /// Args:
    ///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is
    ///         `unbiased`.
    ///     unbiased: Whether the correction is 1, or 0. Not together with `correction`.
    ///     keepdim: Whether reduced dimensions remain, with size 1.
    ///     correction: What is subtracted from the number of elements. None means 1.
    ///
    /// Raises:
    ///     DTypeError: The elements are not floating point.
    ///     IndexError: The tensor does not have dimension `dim`.
    ///     ArgumentError: `dim` names a dimension twice.
    ///     TypeError: Both `unbiased` and `correction` are given.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
    ///     >>> x.std(), x.std(correction=0)
    ///     (tensor(2.6458), tensor(2.1602))
    #[pyo3(signature = (dim = None, unbiased = None, keepdim = false, *, correction = None))]
    fn std(
        &self,
        py: Python<'_>,
        dim: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::std::unbiased)] unbiased: Option<bool>,
        #[pyo3(from_py_with = switches::std::keepdim)] keepdim: bool,
        correction: OptionalArg<'_, '_>,
    ) -> PyResult<Tensor> {
        std_of(py, &self.0, dim, unbiased, keepdim, correction)
    }
}

/// Return the variance of all elements, or over one or several dimensions.
///
/// The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
/// `UserWarning` is issued if that is not positive.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
///     unbiased: Whether the correction is 1, or 0. Not together with `correction`.
///     keepdim: Whether reduced dimensions remain, with size 1.
///     correction: What is subtracted from the number of elements. None means 1.
///
/// Raises:
///     DTypeError: The elements are not floating point.
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     TypeError: Both `unbiased` and `correction` are given.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
///     >>> interlock.var(x), interlock.var(x, correction=0)
///     (tensor(7.), tensor(4.6667))
#[pyfunction]
#[pyo3(signature = (input, dim = None, unbiased = None, keepdim = false, *, correction = None))]
fn var(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::var::unbiased)] unbiased: Option<bool>,
    #[pyo3(from_py_with = switches::var::keepdim)] keepdim: bool,
    correction: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("var: input", input)?;
    var_of(input.py(), &tensor, dim, unbiased, keepdim, correction)
}

/// Return the standard deviation of all elements, or over one or several dimensions.
///
/// The sum of the squared deviations from the mean is divided by the number of elements less the correction. A
/// `UserWarning` is issued if that is not positive. The gradient is 0 where the result is 0.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
///     unbiased: Whether the correction is 1, or 0. Not together with `correction`.
///     keepdim: Whether reduced dimensions remain, with size 1.
///     correction: What is subtracted from the number of elements. None means 1.
///
/// Raises:
///     DTypeError: The elements are not floating point.
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     TypeError: Both `unbiased` and `correction` are given.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
///     >>> interlock.std(x), interlock.std(x, correction=0)
///     (tensor(2.6458), tensor(2.1602))
#[pyfunction]
#[pyo3(signature = (input, dim = None, unbiased = None, keepdim = false, *, correction = None))]
fn std(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::std::unbiased)] unbiased: Option<bool>,
    #[pyo3(from_py_with = switches::std::keepdim)] keepdim: bool,
    correction: OptionalArg<'_, '_>,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("std: input", input)?;
    std_of(input.py(), &tensor, dim, unbiased, keepdim, correction)
}

/// Return the variance and the mean of all elements, or over one or several dimensions.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
///     unbiased: Whether the correction is 1, or 0. Not together with `correction`.
///     keepdim: Whether reduced dimensions remain, with size 1.
///     correction: What is subtracted from the number of elements. None means 1.
///
/// Returns:
///     The results of `var` and of `mean`.
///
/// Raises:
///     DTypeError: The elements are not floating point.
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     TypeError: Both `unbiased` and `correction` are given.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
///     >>> interlock.var_mean(x)
///     (tensor(7.), tensor(3.))
#[pyfunction]
#[pyo3(signature = (input, dim = None, unbiased = None, keepdim = false, *, correction = None))]
fn var_mean(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::var_mean::unbiased)] unbiased: Option<bool>,
    #[pyo3(from_py_with = switches::var_mean::keepdim)] keepdim: bool,
    correction: OptionalArg<'_, '_>,
) -> PyResult<(Tensor, Tensor)> {
    let tensor = extract_tensor("var_mean: input", input)?;
    var_mean_of(input.py(), &tensor, dim, unbiased, keepdim, correction)
}

/// Return the standard deviation and the mean of all elements, or over one or several dimensions.
///
/// Args:
///     input: The tensor.
///     dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.
///     unbiased: Whether the correction is 1, or 0. Not together with `correction`.
///     keepdim: Whether reduced dimensions remain, with size 1.
///     correction: What is subtracted from the number of elements. None means 1.
///
/// Returns:
///     The results of `std` and of `mean`.
///
/// Raises:
///     DTypeError: The elements are not floating point.
///     IndexError: The tensor does not have dimension `dim`.
///     ArgumentError: `dim` names a dimension twice.
///     TypeError: Both `unbiased` and `correction` are given.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.tensor([1.0, 2.0, 6.0])
///     >>> interlock.std_mean(x)
///     (tensor(2.6458), tensor(3.))
#[pyfunction]
#[pyo3(signature = (input, dim = None, unbiased = None, keepdim = false, *, correction = None))]
fn std_mean(
    input: &Bound<'_, PyAny>,
    dim: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::std_mean::unbiased)] unbiased: Option<bool>,
    #[pyo3(from_py_with = switches::std_mean::keepdim)] keepdim: bool,
    correction: OptionalArg<'_, '_>,
) -> PyResult<(Tensor, Tensor)> {
    let tensor = extract_tensor("std_mean: input", input)?;
    std_mean_of(input.py(), &tensor, dim, unbiased, keepdim, correction)
}

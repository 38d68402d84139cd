//! Activation functions.

use interlock_tensor::{GeluApproximation, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::args::{extract_float, extract_tensor, extract_tensor_object};
use super::inplace::{PySelf, run_inplace};
use super::{Tensor, run_op, work_size};
use crate::errors::{new_exception, new_type_error, shown};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(gelu, module)?)?;
    module.add_function(wrap_pyfunction!(silu, module)?)?;
    module.add_function(wrap_pyfunction!(softplus, module)?)?;
    module.add_function(wrap_pyfunction!(logsigmoid, module)?)?;
    module.add_function(wrap_pyfunction!(relu_, module)?)
}

/// Extracts the argument `approximate` of `gelu`.
fn approximation(given: &Bound<'_, PyAny>) -> PyResult<GeluApproximation> {
    let what = "gelu: approximate";
    let Ok(name) = given.cast::<PyString>() else { return Err(new_type_error(what, "a str", given)) };
    match &*name.to_string_lossy() {
        "none" => Ok(GeluApproximation::None),
        "tanh" => Ok(GeluApproximation::Tanh),
        _ => {
            let message = format!("{what} must be 'none' or 'tanh', got {}", shown(name)?);
            Err(new_exception(given.py(), "ArgumentError", message))
        }
    }
}

fn beta(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    extract_float("softplus: beta", given)
}

fn threshold(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    extract_float("softplus: threshold", given)
}

/// Return each element times the probability that a standard normal variable is at most the element.
///
/// `x * (1 + erf(x / sqrt(2))) / 2`, from Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)" (2016). The
/// approximation is `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))`.
///
/// Args:
///     input: A floating-point tensor.
///     approximate: "none", or "tanh" for the approximation.
///
/// Returns:
///     A tensor of the shape and dtype of `input`.
///
/// Raises:
///     ArgumentError: `approximate` has another value.
///     DTypeError: `input` is not floating point.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.gelu(interlock.tensor([-1.0, 0.0, 1.0]))
///     tensor([-0.1587,  0.0000,  0.8413])
#[pyfunction]
#[pyo3(
    signature = (input, approximate = GeluApproximation::None),
    text_signature = "(input, approximate='none')"
)]
fn gelu(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = approximation)] approximate: GeluApproximation,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("gelu: input", input)?;
    run_op(input.py(), "gelu", work_size(&tensor), || tensor.gelu(approximate))
}

/// Return each element times its logistic function, `x / (1 + exp(-x))`, also called swish.
///
/// Args:
///     input: A floating-point tensor.
///     inplace: Whether `input` itself is changed and returned.
///
/// Returns:
///     A tensor of the shape and dtype of `input`.
///
/// Raises:
///     DTypeError: `input` is not floating point.
///     RuntimeError: `inplace` is True for a leaf that requires grad while gradients are enabled, or for a tensor whose
///         elements overlap.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.silu(interlock.tensor([-1.0, 0.0, 1.0]))
///     tensor([-0.2689,  0.0000,  0.7311])
#[pyfunction]
#[pyo3(signature = (input, inplace = false))]
fn silu<'py>(
    input: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = switches::silu::inplace)] inplace: bool,
) -> PySelf<'py> {
    let object = extract_tensor_object("silu: input", input)?;
    if inplace {
        return run_inplace("silu", object, &|target| target.silu_().map(drop));
    }
    let tensor: &CoreTensor = &object.get().0;
    Bound::new(input.py(), run_op(input.py(), "silu", work_size(tensor), || tensor.silu())?)
}

/// Return a smooth form of `relu`, `log(1 + exp(beta * x)) / beta` of each element x.
///
/// Args:
///     input: A floating-point tensor.
///     beta: The sharpness. The result approaches `relu` as it grows.
///     threshold: Elements x with `beta * x` above it are returned as they are.
///
/// Returns:
///     A tensor of the shape and dtype of `input`.
///
/// Raises:
///     DTypeError: `input` is not floating point.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.softplus(interlock.tensor([-1.0, 0.0, 30.0]))
///     tensor([ 0.3133,  0.6931, 30.0000])
#[pyfunction]
#[pyo3(signature = (input, beta = 1.0, threshold = 20.0), text_signature = "(input, beta=1, threshold=20)")]
fn softplus(
    input: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = self::beta)] beta: f64,
    #[pyo3(from_py_with = self::threshold)] threshold: f64,
) -> PyResult<Tensor> {
    let tensor = extract_tensor("softplus: input", input)?;
    run_op(input.py(), "softplus", work_size(&tensor), || tensor.softplus(beta, threshold))
}

/// Return the logarithm of the logistic function of each element, `-log(1 + exp(-x))`.
///
/// It is accurate also where the logistic function underflows.
///
/// Args:
///     input: A floating-point tensor.
///
/// Returns:
///     A tensor of the shape and dtype of `input`.
///
/// Raises:
///     DTypeError: `input` is not floating point.
///
/// Example:
///     >>> import interlock
///     >>> from interlock.nn import functional
///     >>> functional.logsigmoid(interlock.tensor([-1000.0, 0.0]))
///     tensor([-1.0000e+03, -6.9315e-01])
#[pyfunction]
fn logsigmoid(input: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let tensor = extract_tensor("logsigmoid: input", input)?;
    run_op(input.py(), "logsigmoid", work_size(&tensor), || tensor.log_sigmoid())
}

/// Replace each negative element by 0: the in-place version of `relu`.
///
/// Args:
///     input: The tensor, of any dtype except bool.
///
/// Returns:
///     The tensor itself.
///
/// Raises:
///     DTypeError: `input` is a bool tensor.
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
///
/// Example:
///     >>> import interlock
///     >>> interlock.relu_(interlock.tensor([-1, 2]))
///     tensor([0, 2])
#[pyfunction]
fn relu_<'py>(input: &Bound<'py, PyAny>) -> PySelf<'py> {
    run_inplace("relu_", extract_tensor_object("relu_: input", input)?, &|target| target.relu_().map(drop))
}

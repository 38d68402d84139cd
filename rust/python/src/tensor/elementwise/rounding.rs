//! `round` and `nan_to_num`.

use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::prelude::*;

use super::{NewTensor, OptionalArg, compute, replace};
use crate::tensor::Tensor;
use crate::tensor::args::{extract_int, extract_scalar, extract_tensor, extract_tensor_object};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(round, module)?)?;
    module.add_function(wrap_pyfunction!(round_, module)?)?;
    module.add_function(wrap_pyfunction!(nan_to_num, module)?)?;
    module.add_function(wrap_pyfunction!(nan_to_num_, module)?)
}

/// Round each element to the nearest integer or decimal place, and ties to the even one.
///
/// Args:
///     input: The tensor, of any dtype except bool.
///     decimals: The number of decimal places of floating-point elements; negative for tens, hundreds and so on.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Raises:
///     DTypeError: The tensor is a bool tensor, or `decimals` is not 0 and the elements are integers.
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.round(interlock.tensor([0.5, 1.5, 2.25]), decimals=1)
///     tensor([0.5000, 1.5000, 2.2000])
#[pyfunction]
#[pyo3(signature = (input, *, decimals = None, out = None))]
fn round<'py>(
    input: &Bound<'py, PyAny>,
    decimals: OptionalArg<'_, 'py>,
    out: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    let (tensor, decimals) =
        (extract_tensor("round: input", input)?, decimal_places("round: decimals", decimals)?);
    compute(input.py(), "round", &[&tensor], out, || tensor.round_to(decimals))
}

/// In-place version of `round`.
///
/// Args:
///     input: The tensor, which is changed; of any dtype except bool.
///     decimals: The number of decimal places; None means 0.
///
/// Returns:
///     `input` itself.
///
/// Raises:
///     DTypeError: The tensor is a bool tensor, or `decimals` is not 0 and the elements are integers.
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
///
/// Example:
///     >>> import interlock
///     >>> interlock.round_(interlock.tensor([0.5, 1.5]))
///     tensor([0., 2.])
#[pyfunction]
#[pyo3(signature = (input, *, decimals = None))]
fn round_<'py>(input: &Bound<'py, PyAny>, decimals: OptionalArg<'_, 'py>) -> NewTensor<'py> {
    Tensor::round_(extract_tensor_object("round_: input", input)?, decimals)
}

fn decimal_places(what: &str, given: OptionalArg<'_, '_>) -> PyResult<i64> {
    given.map_or(Ok(0), |given| extract_int(what, given))
}

/// The replacements of `nan_to_num`.
#[derive(Clone, Copy)]
struct Replacements {
    nan: Option<f64>,
    posinf: Option<f64>,
    neginf: Option<f64>,
}

impl Replacements {
    fn extract(
        op: &str,
        nan: OptionalArg<'_, '_>,
        posinf: OptionalArg<'_, '_>,
        neginf: OptionalArg<'_, '_>,
    ) -> PyResult<Self> {
        let number = |argument: &str, given: OptionalArg<'_, '_>| {
            given
                .map(|given| extract_scalar(&format!("{op}: {argument}"), given).map(|number| number.cast()))
                .transpose()
        };
        Ok(Replacements {
            nan: number("nan", nan)?,
            posinf: number("posinf", posinf)?,
            neginf: number("neginf", neginf)?,
        })
    }

    fn apply(self, tensor: &CoreTensor) -> Result<CoreTensor> {
        tensor.nan_to_num(self.nan, self.posinf, self.neginf)
    }
}

/// Replace NaN and infinities by numbers. Integers and bools are unchanged.
///
/// Args:
///     input: The tensor.
///     nan: The number that replaces NaN; None means 0.
///     posinf: The number that replaces infinity; None means the largest number of the dtype.
///     neginf: The number that replaces minus infinity; None means the smallest number of the dtype.
///     out: The tensor that receives the result, and is returned; None for a new one.
///
/// Raises:
///     RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.
///
/// Example:
///     >>> import interlock
///     >>> interlock.nan_to_num(interlock.tensor([float("nan"), float("inf"), 1.0]), posinf=5)
///     tensor([0., 5., 1.])
#[pyfunction]
#[pyo3(signature = (input, nan = None, posinf = None, neginf = None, *, out = None))]
fn nan_to_num<'py>(
    input: &Bound<'py, PyAny>,
    nan: OptionalArg<'_, 'py>,
    posinf: OptionalArg<'_, 'py>,
    neginf: OptionalArg<'_, 'py>,
    out: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    let tensor = extract_tensor("nan_to_num: input", input)?;
    let replacements = Replacements::extract("nan_to_num", nan, posinf, neginf)?;
    compute(input.py(), "nan_to_num", &[&tensor], out, || replacements.apply(&tensor))
}

/// In-place version of `nan_to_num`.
///
/// Args:
///     input: The tensor, which is changed.
///     nan: The number that replaces NaN; None means 0.
///     posinf: The number that replaces infinity; None means the largest number of the dtype.
///     neginf: The number that replaces minus infinity; None means the smallest number of the dtype.
///
/// Returns:
///     `input` itself.
///
/// Raises:
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
///
/// Example:
///     >>> import interlock
///     >>> interlock.nan_to_num_(interlock.tensor([float("nan"), 1.0]))
///     tensor([0., 1.])
#[pyfunction]
#[pyo3(signature = (input, nan = None, posinf = None, neginf = None))]
fn nan_to_num_<'py>(
    input: &Bound<'py, PyAny>,
    nan: OptionalArg<'_, 'py>,
    posinf: OptionalArg<'_, 'py>,
    neginf: OptionalArg<'_, 'py>,
) -> NewTensor<'py> {
    Tensor::nan_to_num_(extract_tensor_object("nan_to_num_: input", input)?, nan, posinf, neginf)
}

#[pymethods]
impl Tensor {
    /// Round each element to the nearest integer or decimal place, and ties to the even one.
    ///
    /// See `interlock.round`.
    ///
    /// Args:
    ///     decimals: The number of decimal places; None means 0.
    #[pyo3(signature = (*, decimals = None))]
    fn round<'py>(&self, py: Python<'py>, decimals: OptionalArg<'_, 'py>) -> NewTensor<'py> {
        let decimals = decimal_places("round: decimals", decimals)?;
        compute(py, "round", &[&self.0], None, || self.0.round_to(decimals))
    }

    /// In-place version of `round`.
    ///
    /// Args:
    ///     decimals: The number of decimal places; None means 0.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     DTypeError: The tensor is a bool tensor, or `decimals` is not 0 and the elements are integers.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    #[pyo3(signature = (*, decimals = None))]
    fn round_<'py>(slf: Bound<'py, Self>, decimals: OptionalArg<'_, 'py>) -> NewTensor<'py> {
        let decimals = decimal_places("round_: decimals", decimals)?;
        replace("round_", slf, &[], &|target| target.round_to(decimals))
    }

    /// Replace NaN and infinities by numbers. Integers and bools are unchanged.
    ///
    /// See `interlock.nan_to_num`.
    ///
    /// Args:
    ///     nan: The number that replaces NaN; None means 0.
    ///     posinf: The number that replaces infinity; None means the largest number of the dtype.
    ///     neginf: The number that replaces minus infinity; None means the smallest number of the dtype.
    #[pyo3(signature = (nan = None, posinf = None, neginf = None))]
    fn nan_to_num<'py>(
        &self,
        py: Python<'py>,
        nan: OptionalArg<'_, 'py>,
        posinf: OptionalArg<'_, 'py>,
        neginf: OptionalArg<'_, 'py>,
    ) -> NewTensor<'py> {
        let replacements = Replacements::extract("nan_to_num", nan, posinf, neginf)?;
        compute(py, "nan_to_num", &[&self.0], None, || replacements.apply(&self.0))
    }

    /// In-place version of `nan_to_num`.
    ///
    /// Args:
    ///     nan: The number that replaces NaN; None means 0.
    ///     posinf: The number that replaces infinity; None means the largest number of the dtype.
    ///     neginf: The number that replaces minus infinity; None means the smallest number of the dtype.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    #[pyo3(signature = (nan = None, posinf = None, neginf = None))]
    fn nan_to_num_<'py>(
        slf: Bound<'py, Self>,
        nan: OptionalArg<'_, 'py>,
        posinf: OptionalArg<'_, 'py>,
        neginf: OptionalArg<'_, 'py>,
    ) -> NewTensor<'py> {
        let replacements = Replacements::extract("nan_to_num_", nan, posinf, neginf)?;
        replace("nan_to_num_", slf, &[], &|target| replacements.apply(target))
    }
}

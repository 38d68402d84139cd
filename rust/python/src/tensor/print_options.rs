//! How tensors are printed: `set_printoptions`.

use interlock_tensor::{PrintOptions, Scalar};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::args::{Arg, PyNumber};
use super::operation::{ArgumentName, required};
use crate::errors::{new_argument_error, shown};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_printoptions, module)?)?;
    // Not in `__all__`: private.
    module.setattr("_print_options", wrap_pyfunction!(_print_options, module)?)
}

/// Returns the arguments of `set_printoptions` that set what is set now.
#[pyfunction]
fn _print_options(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let PrintOptions { precision, threshold, edgeitems, linewidth, sci_mode } = PrintOptions::of_process();
    let options = PyDict::new(py);
    options.set_item("precision", precision)?;
    match threshold {
        usize::MAX => options.set_item("threshold", f64::INFINITY)?,
        _ => options.set_item("threshold", threshold)?,
    }
    options.set_item("edgeitems", edgeitems)?;
    options.set_item("linewidth", linewidth)?;
    options.set_item("sci_mode", sci_mode)?;
    Ok(options)
}

/// Set how tensors are printed, in the whole process.
///
/// Options that are None keep their values, except `sci_mode`.
///
/// Args:
///     precision: The number of digits behind the point, 4 by default.
///     threshold: Tensors with more elements are summarized, 1000 by default. `inf` means never.
///     edgeitems: The number of items that a summary shows at both ends of each dimension, 3 by default.
///     linewidth: The number of characters of a line, 80 by default.
///     profile: Values for all four, before the other arguments are applied: "default", "short" (`precision` and `edgeitems`
///         2) or "full" (no summaries).
///     sci_mode: Whether numbers have an exponent. None means where they need one.
///
/// Raises:
///     TypeError: An argument has another type.
///     ArgumentError: A number is negative, `precision` is greater than 1000, or `profile` is unknown.
///
/// Example:
///     >>> import interlock
///     >>> interlock.set_printoptions(precision=2, threshold=5)
///     >>> interlock.tensor([2 / 3]), interlock.arange(10)
///     (tensor([0.67]), tensor([0, 1, 2,  ..., 7, 8, 9]))
///     >>> interlock.set_printoptions(profile="default")
#[pyfunction]
#[pyo3(signature = (
    precision = None, threshold = None, edgeitems = None, linewidth = None, profile = None, sci_mode = None
))]
fn set_printoptions(
    py: Python<'_>,
    precision: Option<&Bound<'_, PyAny>>,
    threshold: Option<&Bound<'_, PyAny>>,
    edgeitems: Option<&Bound<'_, PyAny>>,
    linewidth: Option<&Bound<'_, PyAny>>,
    profile: Option<&Bound<'_, PyAny>>,
    sci_mode: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let mut options = profile.map_or(Ok(PrintOptions::of_process()), of_profile)?;
    let limit = PrintOptions::MAX_PRECISION;
    if let Some(given) = precision {
        options.precision = count("precision", given)?;
        if options.precision > limit {
            let expected = format_args!("be at most {limit}");
            return Err(new_argument_error(py, name("precision"), expected, options.precision));
        }
    }
    if let Some(given) = threshold {
        options.threshold = count_or_infinity("threshold", given)?;
    }
    if let Some(given) = edgeitems {
        options.edgeitems = count("edgeitems", given)?;
    }
    if let Some(given) = linewidth {
        options.linewidth = count("linewidth", given)?;
    }
    options.sci_mode = sci_mode.map(|given| required(name("sci_mode"), given)).transpose()?;
    options.make_default();
    Ok(())
}

fn name(argument: &'static str) -> ArgumentName {
    ArgumentName::new("set_printoptions", argument)
}

/// Returns the options of a profile.
fn of_profile(profile: Arg<'_, '_>) -> PyResult<PrintOptions> {
    let default = PrintOptions::DEFAULT;
    let wanted = "\"default\", \"short\" or \"full\"";
    let Ok(text) = profile.cast::<PyString>() else {
        return Err(name("profile").type_error(wanted, profile));
    };
    match &*text.to_string_lossy() {
        "default" => Ok(default),
        "short" => Ok(PrintOptions { precision: 2, edgeitems: 2, ..default }),
        "full" => Ok(PrintOptions { threshold: usize::MAX, ..default }),
        _ => {
            let expected = format_args!("be {wanted}");
            Err(new_argument_error(profile.py(), name("profile"), expected, shown(profile)?))
        }
    }
}

/// Converts an int that is not negative.
fn count(argument: &'static str, given: Arg<'_, '_>) -> PyResult<usize> {
    let number: i64 = required(name(argument), given)?;
    usize::try_from(number).map_err(|_| err_negative(argument, given.py(), number))
}

fn err_negative(argument: &'static str, py: Python<'_>, given: impl std::fmt::Display) -> PyErr {
    new_argument_error(py, name(argument), "not be negative", given)
}

/// Converts a number that is not negative, such as infinity.
fn count_or_infinity(argument: &'static str, given: Arg<'_, '_>) -> PyResult<usize> {
    match PyNumber::extract(given)? {
        Some(PyNumber::Float(number)) if number >= 0.0 => Ok(number as usize),
        Some(PyNumber::Float(number)) => Err(err_negative(argument, given.py(), Scalar::Float(number))),
        _ => count(argument, given),
    }
}

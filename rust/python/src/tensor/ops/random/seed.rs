//! The seed of random numbers.

use pyo3::prelude::*;

use crate::errors::new_exception;
use crate::py_int;

pub(in crate::tensor) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(manual_seed, module)?)
}

/// Set the seed of the random numbers of the process.
///
/// After the same seed, the same calls return the same numbers, on every thread and device.
///
/// Args:
///     seed: An int from -2**63 to 2**64 - 1.
///
/// Raises:
///     TypeError: `seed` is not an int.
///     ArgumentError: `seed` is out of range.
///
/// Example:
///     >>> import interlock
///     >>> interlock.manual_seed(7)
///     >>> x = interlock.rand(3)
///     >>> interlock.manual_seed(7)
///     >>> (interlock.rand(3) == x).min().item()
///     True
#[pyfunction]
fn manual_seed(seed: &Bound<'_, PyAny>) -> PyResult<()> {
    let what = "manual_seed: seed";
    let index = py_int::extract_index(what, "an int", seed)?;
    let number = py_int::int64(&index).map(i64::cast_unsigned).or_else(|| py_int::uint64(&index));
    let Some(number) = number else {
        let message = format!("{what} must be from -2**63 to 2**64 - 1, got {}", py_int::text(&index));
        return Err(new_exception(seed.py(), "ArgumentError", message));
    };
    interlock_tensor::manual_seed(number);
    Ok(())
}

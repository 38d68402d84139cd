//! The seed of random numbers.

use pyo3::prelude::*;

use crate::tensor::generator::{default_generator, extract_seed};

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
/// Returns:
///     The default generator of the CPU.
///
/// Raises:
///     TypeError: `seed` is not an int.
///     ArgumentError: `seed` is out of range.
///
/// Example:
///     >>> import interlock
///     >>> generator = interlock.manual_seed(7)
///     >>> x = interlock.rand(3)
///     >>> generator.manual_seed(7).initial_seed()
///     7
///     >>> (interlock.rand(3) == x).min().item()
///     True
#[pyfunction]
fn manual_seed<'py>(seed: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    interlock_tensor::manual_seed(extract_seed("manual_seed: seed", seed)?);
    default_generator(seed.py())
}

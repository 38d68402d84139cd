//! The seed and the state of the random numbers of the CPU.

use interlock_tensor::{Generator, Placement};
use pyo3::prelude::*;

use crate::tensor::Tensor;
use crate::tensor::generator::{default_generator, extract_seed, extract_state, state_tensor};
use crate::tensor::operation::ArgumentName;

pub(in crate::tensor) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(manual_seed, module)?)?;
    module.add_function(wrap_pyfunction!(initial_seed, module)?)?;
    module.add_function(wrap_pyfunction!(get_rng_state, module)?)?;
    module.add_function(wrap_pyfunction!(set_rng_state, module)?)
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

/// Return the seed of the default generator of the CPU that was set last.
///
/// Example:
///     >>> import interlock
///     >>> _ = interlock.manual_seed(7)
///     >>> interlock.initial_seed()
///     7
#[pyfunction]
fn initial_seed() -> u64 {
    Generator::of(Placement::Cpu).initial_seed()
}

/// Return the state of the default generator of the CPU: a tensor of bytes on the CPU.
///
/// States of PyTorch have other bytes and another size. `accelerator.random` has the states of devices.
///
/// Example:
///     >>> import interlock
///     >>> state = interlock.get_rng_state()
///     >>> drawn = interlock.rand(3)
///     >>> interlock.set_rng_state(state)
///     >>> interlock.equal(interlock.rand(3), drawn)
///     True
#[pyfunction]
fn get_rng_state(py: Python<'_>) -> PyResult<Tensor> {
    state_tensor(py, "get_rng_state", Generator::of(Placement::Cpu))
}

/// Set the state of the default generator of the CPU.
///
/// Args:
///     new_state: A result of `get_rng_state`, or of `Generator.get_state`.
///
/// Raises:
///     TypeError: `new_state` is not a tensor of dtype `uint8`.
///     ArgumentError: `new_state` has another size than states have.
///
/// Example:
///     See `get_rng_state`.
#[pyfunction]
fn set_rng_state(new_state: &Bound<'_, PyAny>) -> PyResult<()> {
    let state = extract_state(ArgumentName::new("set_rng_state", "new_state"), new_state)?;
    Generator::of(Placement::Cpu).set_state(state);
    Ok(())
}

//! Native parts of `accelerator.random` and `utils.checkpoint`: the default generators of random numbers.

use interlock::accelerator::internal::resolve_device;
use interlock_tensor::{Generator, GeneratorState, GeneratorStates as CoreStates};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::accelerator::optional_device;
use crate::detach::detach;
use crate::errors::IntoPyResult;
use crate::switches::extract_as;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Not in `__all__`: private.
    module.setattr("_GeneratorStates", module.py().get_type::<GeneratorStates>())?;
    module.setattr("_RNG_STATE_BYTES", GeneratorState::BYTES)?;
    module.setattr("_initial_seed", wrap_pyfunction!(_initial_seed, module)?)?;
    module.setattr("_get_rng_state", wrap_pyfunction!(_get_rng_state, module)?)?;
    module.setattr("_set_rng_state", wrap_pyfunction!(_set_rng_state, module)?)
}

/// The states of the generators of the CPU and of all devices.
#[pyclass(frozen, module = "interlock._core.tensor", name = "_GeneratorStates")]
struct GeneratorStates(CoreStates);

#[pymethods]
impl GeneratorStates {
    /// Capture the present states.
    #[new]
    fn new() -> Self {
        GeneratorStates(CoreStates::capture())
    }

    /// Set the states.
    fn restore(&self) {
        self.0.restore();
    }
}

/// Returns the generator of a device, which was passed to `operation`; `None` means the current device.
fn generator_of(
    py: Python<'_>,
    device: Option<&Bound<'_, PyAny>>,
    operation: &'static str,
) -> PyResult<&'static Generator> {
    let device = optional_device(device, operation)?;
    let device = detach(py, || resolve_device(device, operation)).into_py_result(py)?;
    Ok(Generator::of(device.into()))
}

/// Return the seed that the generator of a device was given last.
#[pyfunction]
#[pyo3(signature = (device, /))]
fn _initial_seed(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    Ok(generator_of(py, device, "accelerator.random.initial_seed")?.initial_seed())
}

/// Return the state of the generator of a device.
#[pyfunction]
#[pyo3(signature = (device, /))]
fn _get_rng_state<'py>(py: Python<'py>, device: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyBytes>> {
    let generator = generator_of(py, device, "accelerator.random.get_rng_state")?;
    Ok(PyBytes::new(py, &generator.state().to_bytes()))
}

/// Set the state of the generator of a device.
#[pyfunction]
#[pyo3(signature = (state, device, /))]
fn _set_rng_state(
    py: Python<'_>,
    state: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let state = extract_as("accelerator.random.set_rng_state: new_state", "the bytes of a state", state)?;
    let generator = generator_of(py, device, "accelerator.random.set_rng_state")?;
    generator.set_state(GeneratorState::from_bytes(state));
    Ok(())
}

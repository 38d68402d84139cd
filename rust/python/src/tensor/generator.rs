//! The class `Generator`, and native parts of `accelerator.random` and `utils.checkpoint`: the default generators of random
//! numbers.

use interlock::accelerator::Device as CoreDevice;
use interlock::accelerator::resolve_device;
use interlock_tensor::{
    DType, Error, Generator, GeneratorState, GeneratorStates as CoreStates, Placement, Result,
    Tensor as CoreTensor,
};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

use super::call::{maybe_detach, work_size};
use super::operation::{Arg, ArgumentName, FromArgument, required};
use super::{Tensor, TensorRef};
use crate::accelerator::{Device, optional_device, parse};
use crate::detach::{call_method, detach};
use crate::errors::{IntoPyResult, new_argument_error};
use crate::py_int;
use crate::switches::extract_as;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Not in `__all__`: private.
    module.setattr("_GeneratorStates", module.py().get_type::<GeneratorStates>())?;
    module.setattr("_RNG_STATE_BYTES", GeneratorState::BYTES)?;
    module.setattr("_initial_seed", wrap_pyfunction!(_initial_seed, module)?)?;
    module.setattr("_get_rng_state", wrap_pyfunction!(_get_rng_state, module)?)?;
    module.setattr("_set_rng_state", wrap_pyfunction!(_set_rng_state, module)?)
}

/// Makes the class and the default generator of the CPU names of `interlock`.
pub(super) fn register_public(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyGenerator>()?;
    let default =
        PyGenerator { numbers: Numbers::Default(Generator::of(Placement::Cpu)), device: CoreDevice::CPU };
    module.add(DEFAULT, default)
}

/// The name of the default generator of the CPU.
const DEFAULT: &str = "default_generator";

/// Returns the default generator of the CPU.
pub(super) fn default_generator(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("interlock._core.tensor")?.getattr(DEFAULT)
}

/// A generator of random numbers, for the argument `generator` of functions that draw some.
///
/// Generators with equal states draw the same numbers, on every device. Functions without `generator` use the default
/// generator of the device: `interlock.default_generator` for the CPU.
///
/// Args:
///     device: The type of the devices of the tensors for which it draws.
///
/// Raises:
///     DeviceError: `device` does not name a device, or the accelerator does not have it.
///     NoAcceleratorError: The device needs an accelerator, and none is available.
///
/// Example:
///     >>> import interlock
///     >>> generator = interlock.Generator().manual_seed(7)
///     >>> x = interlock.rand(3, generator=generator)
///     >>> interlock.equal(x, interlock.rand(3, generator=generator.manual_seed(7)))
///     True
#[pyclass(frozen, weakref, module = "interlock", name = "Generator")]
pub(super) struct PyGenerator {
    numbers: Numbers,
    device: CoreDevice,
}

/// The generator of an object.
enum Numbers {
    Default(&'static Generator),
    Own(Generator),
}

impl PyGenerator {
    fn core(&self) -> &Generator {
        match &self.numbers {
            Numbers::Default(generator) => generator,
            Numbers::Own(generator) => generator,
        }
    }

    fn own(state: GeneratorState, device: CoreDevice) -> Self {
        let generator = Generator::new();
        generator.set_state(state);
        PyGenerator { numbers: Numbers::Own(generator), device }
    }
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (device = None))]
    fn new(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let device = device.map(|device| parse(device, "Generator", "device")).transpose()?;
        let device = match device {
            None => CoreDevice::CPU,
            Some(device) if device.kind() == CoreDevice::CPU.kind() => CoreDevice::CPU,
            Some(device) => detach(py, || resolve_device(Some(device), "Generator")).into_py_result(py)?,
        };
        Ok(PyGenerator { numbers: Numbers::Own(Generator::new()), device })
    }

    /// The device.
    #[getter]
    fn device(&self) -> Device {
        Device::of(self.device)
    }

    /// Set the seed and return the generator itself.
    ///
    /// Args:
    ///     seed: An int from -2**63 to 2**64 - 1.
    ///
    /// Raises:
    ///     TypeError: `seed` is not an int.
    ///     ArgumentError: `seed` is out of range.
    fn manual_seed<'py>(slf: Bound<'py, Self>, seed: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let seed = extract_seed("Generator.manual_seed: seed", seed)?;
        slf.get().core().set_state(GeneratorState::from_seed(seed));
        Ok(slf)
    }

    /// Set a seed that the operating system has drawn, and return it.
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        let drawn = call_method(py.import("os")?.as_any(), intern!(py, "urandom"), (size_of::<u64>(),))?;
        let seed = u64::from_le_bytes(drawn.extract()?);
        self.core().set_state(GeneratorState::from_seed(seed));
        Ok(seed)
    }

    /// Return the seed that was set last.
    fn initial_seed(&self) -> u64 {
        self.core().initial_seed()
    }

    /// Return the state, as a tensor of bytes on the CPU.
    fn get_state(&self, py: Python<'_>) -> PyResult<Tensor> {
        state_tensor(py, "get_state", self.core())
    }

    /// Set the state and return the generator itself.
    ///
    /// Args:
    ///     new_state: A result of `get_state`, of any generator.
    ///
    /// Raises:
    ///     TypeError: `new_state` is not a tensor of dtype `uint8`.
    ///     ArgumentError: `new_state` has another size than states have.
    fn set_state<'py>(slf: Bound<'py, Self>, new_state: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let state = extract_state(ArgumentName::new("Generator.set_state", "new_state"), new_state)?;
        slf.get().core().set_state(state);
        Ok(slf)
    }

    /// Return another generator with the same state.
    fn clone_state(&self) -> Self {
        PyGenerator::own(self.core().state(), self.device)
    }

    fn __repr__(&self) -> String {
        format!("interlock.Generator(device='{}')", self.device)
    }

    /// Return a generator with the same state, for copies and pickles.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>, Bound<'py, PyBytes>)> {
        let device = (self.device.to_string(),).into_pyobject(py)?;
        let state = PyBytes::new(py, &self.core().state().to_bytes());
        Ok((py.get_type::<PyGenerator>(), device, state))
    }

    fn __setstate__(&self, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let state = extract_as("Generator.__setstate__: state", "the bytes of a state", state)?;
        self.core().set_state(GeneratorState::from_bytes(state));
        Ok(())
    }
}

/// Returns the state of a generator as a tensor of bytes.
pub(super) fn state_tensor(py: Python<'_>, op: &'static str, generator: &Generator) -> PyResult<Tensor> {
    let bytes = generator.state().to_bytes();
    maybe_detach(py, op, 0, || CoreTensor::from_slice(&bytes, &[bytes.len()])).map(Tensor::from)
}

/// Extracts a state from a tensor of bytes.
pub(super) fn extract_state(name: ArgumentName, given: &Bound<'_, PyAny>) -> PyResult<GeneratorState> {
    let (py, tensor) = (given.py(), &*required::<TensorRef<'_>>(name, given)?);
    if tensor.dtype() != DType::UInt8 {
        let message = format!("{name} must be a tensor of dtype uint8, got one of {}", tensor.dtype());
        return Err(PyTypeError::new_err(message));
    }
    let bytes = maybe_detach(py, name.function(), work_size(tensor), || tensor.to_vec::<u8>())?;
    let Ok(bytes) = bytes.try_into() else {
        let expected = format_args!("have {} elements", GeneratorState::BYTES);
        return Err(new_argument_error(py, name, expected, tensor.numel()));
    };
    Ok(GeneratorState::from_bytes(bytes))
}

/// Extracts a seed, of which negative ones wrap around, as in PyTorch.
pub(super) fn extract_seed(what: &str, seed: &Bound<'_, PyAny>) -> PyResult<u64> {
    let index = py_int::extract_index(what, "an int", seed)?;
    let number = py_int::int64(&index).map(i64::cast_unsigned).or_else(|| py_int::uint64(&index));
    let expected = "be from -2**63 to 2**64 - 1";
    number.ok_or_else(|| new_argument_error(seed.py(), what, expected, py_int::text(&index)))
}

/// The argument `generator`.
#[derive(Clone, Copy)]
pub(super) struct GivenGenerator<'a>(&'a PyGenerator);

impl<'a> FromArgument<'a, '_> for GivenGenerator<'a> {
    const ANNOTATION: &'static str = "Generator";
    const WANTED: &'static str = "a Generator";

    fn try_from_argument(_name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        Ok(given.cast::<PyGenerator>().ok().map(|generator| GivenGenerator(generator.get())))
    }
}

impl<'a> GivenGenerator<'a> {
    /// Returns the generator that draws in this kind of memory: the default one, if none was passed.
    pub fn or_default(given: Option<Self>, placement: Placement) -> Result<&'a Generator> {
        let Some(GivenGenerator(generator)) = given else { return Ok(Generator::of(placement)) };
        let wanted = match placement {
            Placement::Cpu | Placement::Pinned => CoreDevice::CPU,
            Placement::Device(device) => device,
        };
        if generator.device.kind() != wanted.kind() {
            let expected = format!("be for devices of type {}", wanted.kind());
            let given = format!("one for {}", generator.device.kind());
            return Err(Error::value("Generator", "generator", expected, given));
        }
        Ok(generator.core())
    }
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

//! Conversions of dtype and device with many forms of arguments, and pinned memory.

use interlock::accelerator::Device;
use interlock_tensor::DType as CoreDType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};

use super::dtype::{self, NAMES};
use super::formats::Format;
use super::operation::{ArgumentName, Call, compute_or_self, defaulted, required};
use super::ops::least_size;
use super::{ReadTensor, Tensor};
use crate::accelerator::parse;
use crate::errors::new_exception;
use crate::switches;

#[pymethods]
impl Tensor {
    /// Convert the tensor to another dtype or device.
    ///
    /// A copy from or to a device is synchronous unless `non_blocking` is True. Then it is queued on the current
    /// stream, and a copy from a device is placed in pinned memory, whose contents are valid once the stream has
    /// completed it.
    ///
    /// Args:
    ///     args: A dtype, a device or both, or another tensor for its dtype and device; then `non_blocking` and `copy`.
    ///     dtype: The element type; None means no change.
    ///     device: The device; None means no change.
    ///     non_blocking: Whether a copy between a device and pinned memory is queued without waiting for it.
    ///     copy: Whether the tensor is copied if nothing changes.
    ///     memory_format: The order of the elements of a copy in memory. None means that of the tensor.
    ///
    /// Returns:
    ///     The tensor itself if nothing changes and `copy` is False, else a new tensor.
    ///
    /// Raises:
    ///     NoAcceleratorError: The device needs an accelerator, and none is available.
    ///     DeviceError: A value does not name a device.
    ///     TypeError: Too many arguments were passed.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1.5, 2.5]).to(interlock.int64)
    ///     tensor([1, 2])
    #[pyo3(signature = (*args, dtype = None, device = None, non_blocking = false, copy = false, memory_format = None))]
    fn to<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        dtype: Option<&Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = switches::to::non_blocking)] non_blocking: bool,
        #[pyo3(from_py_with = switches::to::copy)] copy: bool,
        memory_format: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, tensor) = (slf.py(), &*slf.core());
        let (mut options, device_name) = (tensor.options(), ArgumentName::new("to", "device"));
        let switches = args.iter().rev().take_while(|argument| argument.is_instance_of::<PyBool>()).count();
        let (names, switches) = (args.len() - switches, switches);
        if names > 2 || switches > 2 {
            return Err(PyTypeError::new_err(format!(
                "to: arguments must be a dtype, a device, both or a tensor, then non_blocking and copy, got {} arguments",
                args.len()
            )));
        }
        for argument in args.iter().take(names) {
            if let Ok(other) = argument.cast::<Tensor>() {
                options = other.core().options();
            } else if let Some(dtype) = dtype::from_object(&argument) {
                options.dtype = dtype;
            } else if !argument.is_none() {
                check_not_dtype(&argument)?;
                options.placement = required::<Device>(device_name, &argument)?.into();
            }
        }
        let switch = |at: usize, named: bool| match args.get_item(names + at) {
            Ok(given) if at < switches => given.extract(),
            _ => Ok(named),
        };
        let (non_blocking, copy) = (switch(0, non_blocking)?, switch(1, copy)?);
        let format: Option<Format> =
            defaulted(ArgumentName::new("to", "memory_format"), memory_format, None)?;
        if let Some(device) = device {
            options.placement = required::<Device>(device_name, device)?.into();
        }
        options.dtype = defaulted(ArgumentName::new("to", "dtype"), dtype, options.dtype)?;
        let inputs = [std::slice::from_ref(tensor)];
        let call = Call::new(py, "to", &inputs).at_least(least_size(options.placement));
        Ok(compute_or_self(call, slf.as_any(), &mut || {
            let moved = tensor.to(options, non_blocking)?;
            if copy && moved.is(tensor) {
                return tensor.copy_in(Format::of_new(format));
            }
            Format::of_converted(format, tensor, moved)
        })?)
    }

    /// Return the tensor in pinned (page-locked) CPU memory, or the tensor itself if it is pinned.
    ///
    /// Args:
    ///     device: Ignored, except that it must name a device.
    ///
    /// Raises:
    ///     NoAcceleratorError: No accelerator is available.
    ///     RuntimeError: The tensor is on a device.
    ///     DeviceError: `device` does not name a device.
    #[pyo3(signature = (device = None))]
    fn pin_memory<'py>(
        slf: &Bound<'py, Self>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        device.map(|device| parse(device, "pin_memory", "device")).transpose()?;
        let tensor = &*slf.core();
        let call = Call::new(slf.py(), "pin_memory", &[]).long();
        Ok(compute_or_self(call, slf.as_any(), &mut || tensor.pin_memory())?)
    }
}

/// Names of dtypes of PyTorch and NumPy that are not those of dtypes here.
const MISSING_DTYPES: &[&str] = &[
    "half",
    "fp16",
    "bf16",
    "float",
    "fp32",
    "double",
    "fp64",
    "short",
    "int",
    "long",
    "complex64",
    "complex128",
];

/// Returns an error for the name of a dtype where a device is expected.
fn check_not_dtype(given: &Bound<'_, PyAny>) -> PyResult<()> {
    let Ok(name) = given.cast::<PyString>() else { return Ok(()) };
    let name = name.to_string_lossy();
    if CoreDType::ALL.iter().any(|dtype| dtype.name() == name) {
        let message = format!("to: {name:?} is a dtype: use to(interlock.{name})");
        return Err(new_exception(given.py(), "DeviceError", message));
    }
    if MISSING_DTYPES.contains(&&*name) {
        let message =
            format!("to: dtype must be interlock.{NAMES}, got {name:?}, for example to(interlock.float32)");
        return Err(new_exception(given.py(), "DeviceError", message));
    }
    Ok(())
}

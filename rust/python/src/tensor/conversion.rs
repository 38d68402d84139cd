//! Functions that convert numbers, sequences, arrays and other tensors to tensors.

use interlock_tensor::Placement;
use pyo3::prelude::*;

use super::args::{OptionalArg, extract_dtype, placement};
use super::operation::build;
use super::{Tensor, from_data, numpy};
use crate::context::sync;
use crate::detach::detach;
use crate::errors::{IntoPyResult, new_type_error};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(tensor, module)?)?;
    module.add_function(wrap_pyfunction!(as_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(from_numpy, module)?)?;
    module.add_function(wrap_pyfunction!(super::dlpack::from_dlpack, module)?)
}

/// Return a tensor with a copy of `data`.
///
/// Args:
///     data: A number, nested sequences of numbers, a NumPy array or a tensor.
///     dtype: The element type. None means the dtype of an array or tensor, else bool, int64 or float32 for Python numbers.
///     device: The device. None means the default device; if none is set, the device of `data` if it is a tensor.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ValueError: Sequences of one level have different lengths, or are nested more than 64 levels deep.
///     ArgumentError: int64 cannot hold a number.
///     OverflowError: `dtype` is floating point and float64 cannot hold an int.
///     TypeError: `data` contains other objects.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.tensor([[1, 2], [3, 4]])
///     tensor([[1, 2],
///             [3, 4]])
///     >>> interlock.tensor([1, 2.5]).dtype
///     interlock.float32
#[pyfunction]
#[pyo3(signature = (data, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn tensor(
    data: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::tensor::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::tensor::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (py, op) = (data.py(), "tensor");
    let placement = placement(py, op, device, pin_memory, default_placement(data))?;
    let dtype = extract_dtype(op, dtype)?;
    let tensor = match from_data::pinned_source(data, placement) {
        Some(source) => source,
        None => from_data::from_data(op, data, dtype)?,
    };
    let options = (dtype.unwrap_or(tensor.dtype()), placement);
    build(py, requires_grad, || tensor.to(options, false).map_err(|error| error.during(op)))
}

/// Returns the placement of a tensor with the numbers of `data` if no device is passed: the default device, or the
/// device of `data` if it is a tensor and no default device is set.
fn default_placement(data: &Bound<'_, PyAny>) -> Placement {
    match (Placement::from(sync(data.py()).default_device()), data.cast::<Tensor>()) {
        (Placement::Cpu, Ok(tensor)) => tensor.get().0.device().into(),
        (placement, _) => placement,
    }
}

/// Return `data` as a tensor, without a copy if possible.
///
/// Args:
///     data: A number, nested sequences of numbers, a NumPy array or a tensor.
///     dtype: The element type. None means the type that `tensor` infers.
///     device: The device. None means the default device; if none is set, the device of `data` if it is a tensor.
///
/// Returns:
///     `data` itself if it is a tensor of that dtype and device. The memory of such an array is shared.
///
/// Raises:
///     ValueError: Sequences of one level have different lengths, or a stride of an array is not supported.
///     ArgumentError: int64 cannot hold a number.
///     TypeError: `data` contains other objects.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.ones(2)
///     >>> interlock.as_tensor(x) is x
///     True
#[pyfunction]
#[pyo3(signature = (data, dtype = None, device = None))]
fn as_tensor<'py>(
    data: &Bound<'py, PyAny>,
    dtype: OptionalArg<'_, 'py>,
    device: OptionalArg<'_, 'py>,
) -> PyResult<Bound<'py, Tensor>> {
    let (py, op) = (data.py(), "as_tensor");
    let placement = placement(py, op, device, false, default_placement(data))?;
    let wanted = extract_dtype(op, dtype)?;
    let source = if let Ok(tensor) = data.cast::<Tensor>() {
        tensor.get().0.clone()
    } else if numpy::is_array(data)? {
        numpy::tensor_from_array(op, data)?
    } else {
        from_data::from_data(op, data, wanted)?
    };
    let options = (wanted.unwrap_or(source.dtype()), placement);
    let result = detach(py, || source.to(options, false).map_err(|error| error.during(op)));
    let result = result.into_py_result(py)?;
    match data.cast::<Tensor>() {
        Ok(tensor) if result.is(&tensor.get().0) => Ok(tensor.clone()),
        _ => Bound::new(py, Tensor(result)),
    }
}

/// Return a tensor that shares the memory of a NumPy array.
///
/// Read-only and unaligned arrays are copied.
///
/// Args:
///     ndarray: A `numpy.ndarray` of dtype float16, float32, float64, int64, int32, int16, int8, uint8 or bool, or of `ml_dtypes.bfloat16`.
///
/// Raises:
///     TypeError: `ndarray` is not an array, or its dtype is not supported.
///     ValueError: A stride is negative or not a multiple of the element size.
///
/// Example:
///     >>> import interlock
///     >>> import numpy
///     >>> array = numpy.zeros(2)
///     >>> interlock.from_numpy(array).fill_(1)
///     tensor([1., 1.], dtype=interlock.float64)
///     >>> array
///     array([1., 1.])
#[pyfunction]
fn from_numpy(ndarray: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    if !numpy::is_array(ndarray)? {
        return Err(new_type_error("from_numpy: ndarray", "a numpy.ndarray", ndarray));
    }
    numpy::tensor_from_array("from_numpy", ndarray).map(Tensor)
}

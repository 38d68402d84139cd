//! Tensors of numbers, sequences, arrays and other tensors.

use interlock::accelerator::Device;
use interlock_tensor::{DType, Placement, Tensor as CoreTensor};
use pyo3::prelude::*;

use crate::context::sync;
use crate::detach::detach;
use crate::errors::IntoPyResult;
use crate::tensor::operation::{Arg, ArgumentName, Data, FromArgument, NewTensor, tensor_op};
use crate::tensor::{ReadTensor, Tensor, from_data, numpy};

/// Return a tensor with a copy of `data`.
///
/// Args:
///     data: A number, nested sequences of numbers, a NumPy array or a tensor.
///     dtype: The element type. None means the dtype of an array or tensor, else bool, int64 or float32 for Python numbers.
///     device: The device. None means the default device; if none is set, the device of `data` if it is a tensor.
///     layout: `interlock.strided` or None, which means the same.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ValueError: Sequences of one level have different lengths, or are nested more than 64 levels deep.
///     ArgumentError: int64 cannot hold a number.
///     OverflowError: `dtype` is floating point and float64 cannot hold an int.
///     TypeError: `data` contains other objects, or numbers beside sequences.
///
/// Example:
///     >>> interlock.tensor([[1, 2], [3, 4]])
///     tensor([[1, 2],
///             [3, 4]])
///     >>> interlock.tensor([1, 2.5]).dtype
///     interlock.float32
#[tensor_op(function, example = "[[1, 0]]")]
fn tensor(data: Data<'_>, #[options] options: &NewTensor<'_>) -> PyResult<Py<Tensor>> {
    let data = data.object();
    let (dtype, placement) = (options.dtype, options.placement(default_placement(data))?);
    let tensor = match from_data::pinned_source(data, placement) {
        Some(source) => source,
        None => from_data::from_data(options.op, data, dtype)?,
    };
    options.build(|| tensor.to((dtype.unwrap_or(tensor.dtype()), placement), false))
}

/// Returns the placement of a tensor with the numbers of `data` if no device is passed: the default device, or the
/// device of `data` if it is a tensor and no default device is set.
fn default_placement(data: &Bound<'_, PyAny>) -> Placement {
    match (Placement::from(sync(data.py()).default_device()), data.cast::<Tensor>()) {
        (Placement::Cpu, Ok(tensor)) => tensor.core().device().into(),
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
///     TypeError: `data` contains other objects, or numbers beside sequences.
///
/// Example:
///     >>> x = interlock.ones(2)
///     >>> interlock.as_tensor(x) is x
///     True
#[tensor_op(function, attached, example = "[[1, 0]], **options")]
fn as_tensor(
    py: Python<'_>,
    op: &'static str,
    data: Data<'_>,
    dtype: Option<DType>,
    device: Option<Device>,
) -> PyResult<Py<Tensor>> {
    let data = data.object();
    let placement = device.map_or_else(|| default_placement(data), Placement::from);
    let source = if let Ok(tensor) = data.cast::<Tensor>() {
        tensor.core().clone()
    } else if numpy::is_array(data)? {
        numpy::tensor_from_array(op, data)?
    } else {
        from_data::from_data(op, data, dtype)?
    };
    let options = (dtype.unwrap_or(source.dtype()), placement);
    let result = detach(py, || source.to(options, false).map_err(|error| error.during(op)));
    let result = result.into_py_result(py)?;
    match data.cast::<Tensor>() {
        Ok(tensor) if result.is(&tensor.core()) => Ok(tensor.clone().unbind()),
        _ => Py::new(py, Tensor::from(result)),
    }
}

/// A `numpy.ndarray`.
#[derive(Clone, Copy)]
struct Array<'a>(&'a Bound<'a, PyAny>);

impl<'a> FromArgument<'a, '_> for Array<'a> {
    const ANNOTATION: &'static str = "npt.NDArray[Any]";
    const WANTED: &'static str = "a numpy.ndarray";

    fn try_from_argument(_name: ArgumentName, given: Arg<'a, '_>) -> PyResult<Option<Self>> {
        Ok(numpy::is_array(given)?.then_some(Array(given)))
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
///     >>> import numpy
///     >>> array = numpy.zeros(2)
///     >>> interlock.from_numpy(array).fill_(1)
///     tensor([1., 1.], dtype=interlock.float64)
///     >>> array
///     array([1., 1.])
#[tensor_op(function, attached, example = "x.detach().numpy()")]
fn from_numpy(_py: Python<'_>, op: &'static str, ndarray: Array<'_>) -> PyResult<CoreTensor> {
    numpy::tensor_from_array(op, ndarray.0)
}

//! Tensors like another one: of its shape, or of its dtype and device.

use interlock_tensor::{Tensor as CoreTensor, TensorOptions};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::{
    OptionalArg, checked_sizes, extract_dtype, extract_int_or_ints, extract_scalar, extract_tensor,
    function_of, placement,
};
use super::creation::{build, extract_size};
use super::{Tensor, from_data};
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(zeros_like, module)?)?;
    module.add_function(wrap_pyfunction!(ones_like, module)?)?;
    module.add_function(wrap_pyfunction!(empty_like, module)?)?;
    module.add_function(wrap_pyfunction!(full_like, module)?)
}

/// Extracts the tensor of a `*_like` function and the options of the new tensor.
pub(super) fn like_options(
    what: &'static str,
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    pin_memory: bool,
) -> PyResult<(CoreTensor, TensorOptions)> {
    let (op, other) = (function_of(what), extract_tensor(what, input)?);
    let placement = placement(input.py(), op, device, pin_memory, other.device().into())?;
    let dtype = extract_dtype(op, dtype)?.unwrap_or(other.dtype());
    Ok((other, TensorOptions { dtype, placement }))
}

/// Extracts the options of a new tensor, which are those of `tensor` without arguments.
fn new_options(
    py: Python<'_>,
    op: &'static str,
    tensor: &CoreTensor,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    pin_memory: bool,
) -> PyResult<TensorOptions> {
    let dtype = extract_dtype(op, dtype)?.unwrap_or(tensor.dtype());
    Ok(TensorOptions { dtype, placement: placement(py, op, device, pin_memory, tensor.device().into())? })
}

#[pymethods]
impl Tensor {
    /// Return a tensor of zeros with the dtype and device of this one.
    ///
    /// Args:
    ///     args: The sizes, as separate ints or as one tuple or list.
    ///     size: The sizes as a tuple or list, by name instead of `args`.
    ///     dtype: The element type; None means that of this tensor.
    ///     device: The device; None means that of this tensor.
    ///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
    ///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
    ///
    /// Raises:
    ///     ArgumentError: A size is negative.
    ///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
    ///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
    ///     OutOfMemoryError: Not enough memory is available.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).new_zeros(2)
    ///     tensor([0, 0])
    #[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
    fn new_zeros(
        &self,
        args: &Bound<'_, PyTuple>,
        size: OptionalArg<'_, '_>,
        dtype: OptionalArg<'_, '_>,
        device: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::new_zeros::requires_grad)] requires_grad: bool,
        #[pyo3(from_py_with = switches::new_zeros::pin_memory)] pin_memory: bool,
    ) -> PyResult<Py<Tensor>> {
        let (py, x) = (args.py(), &self.0);
        let shape = extract_size("new_zeros: size", args, size)?;
        let options = new_options(py, "new_zeros", x, dtype, device, pin_memory)?;
        build(py, requires_grad, || {
            CoreTensor::zeros(&shape, options).map_err(|error| error.during("new_zeros"))
        })
    }

    /// Return a tensor of ones with the dtype and device of this one.
    ///
    /// Args:
    ///     args: The sizes, as separate ints or as one tuple or list.
    ///     size: The sizes as a tuple or list, by name instead of `args`.
    ///     dtype: The element type; None means that of this tensor.
    ///     device: The device; None means that of this tensor.
    ///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
    ///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
    ///
    /// Raises:
    ///     ArgumentError: A size is negative.
    ///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
    ///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
    ///     OutOfMemoryError: Not enough memory is available.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).new_ones((2,))
    ///     tensor([1, 1])
    #[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
    fn new_ones(
        &self,
        args: &Bound<'_, PyTuple>,
        size: OptionalArg<'_, '_>,
        dtype: OptionalArg<'_, '_>,
        device: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::new_ones::requires_grad)] requires_grad: bool,
        #[pyo3(from_py_with = switches::new_ones::pin_memory)] pin_memory: bool,
    ) -> PyResult<Py<Tensor>> {
        let (py, x) = (args.py(), &self.0);
        let shape = extract_size("new_ones: size", args, size)?;
        let options = new_options(py, "new_ones", x, dtype, device, pin_memory)?;
        build(py, requires_grad, || {
            CoreTensor::ones(&shape, options).map_err(|error| error.during("new_ones"))
        })
    }

    /// Return an uninitialized tensor with the dtype and device of this one.
    ///
    /// Args:
    ///     args: The sizes, as separate ints or as one tuple or list.
    ///     size: The sizes as a tuple or list, by name instead of `args`.
    ///     dtype: The element type; None means that of this tensor.
    ///     device: The device; None means that of this tensor.
    ///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
    ///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
    ///
    /// Raises:
    ///     ArgumentError: A size is negative.
    ///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
    ///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
    ///     OutOfMemoryError: Not enough memory is available.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).new_empty(2, 3).shape
    ///     (2, 3)
    #[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
    fn new_empty(
        &self,
        args: &Bound<'_, PyTuple>,
        size: OptionalArg<'_, '_>,
        dtype: OptionalArg<'_, '_>,
        device: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::new_empty::requires_grad)] requires_grad: bool,
        #[pyo3(from_py_with = switches::new_empty::pin_memory)] pin_memory: bool,
    ) -> PyResult<Py<Tensor>> {
        let (py, x) = (args.py(), &self.0);
        let shape = extract_size("new_empty: size", args, size)?;
        let options = new_options(py, "new_empty", x, dtype, device, pin_memory)?;
        build(py, requires_grad, || {
            CoreTensor::empty(&shape, options).map_err(|error| error.during("new_empty"))
        })
    }

    /// Return a tensor filled with a number, with the dtype and device of this one.
    ///
    /// Args:
    ///     size: The sizes, as an int or as a tuple or list.
    ///     fill_value: The number, or a tensor with one element.
    ///     dtype: The element type; None means that of this tensor.
    ///     device: The device; None means that of this tensor.
    ///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
    ///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
    ///
    /// Raises:
    ///     ArgumentError: The dtype cannot hold the number, or a size is negative.
    ///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
    ///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
    ///     OutOfMemoryError: Not enough memory is available.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1, 2]).new_full((2,), 7)
    ///     tensor([7, 7])
    #[pyo3(signature = (size, fill_value, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
    fn new_full(
        &self,
        size: &Bound<'_, PyAny>,
        fill_value: &Bound<'_, PyAny>,
        dtype: OptionalArg<'_, '_>,
        device: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::new_full::requires_grad)] requires_grad: bool,
        #[pyo3(from_py_with = switches::new_full::pin_memory)] pin_memory: bool,
    ) -> PyResult<Py<Tensor>> {
        let x = &self.0;
        let (py, what) = (size.py(), "new_full: size");
        let shape = checked_sizes(py, what, &extract_int_or_ints(what, size)?)?;
        let value = extract_scalar("new_full: fill_value", fill_value)?;
        let options = new_options(py, function_of(what), x, dtype, device, pin_memory)?;
        build(py, requires_grad, || {
            CoreTensor::full(&shape, value, options).map_err(|error| error.during("new_full"))
        })
    }

    /// Return a tensor with a copy of `data`, with the dtype and device of this one.
    ///
    /// Args:
    ///     data: A number, nested sequences of numbers, a NumPy array or a tensor.
    ///     dtype: The element type; None means that of this tensor.
    ///     device: The device; None means that of this tensor.
    ///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
    ///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
    ///
    /// Raises:
    ///     ValueError: Sequences of one level have different lengths, or are nested more than 64 levels deep.
    ///     ArgumentError: int64 cannot hold a number.
    ///     TypeError: `data` contains other objects.
    ///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
    ///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
    ///     OutOfMemoryError: Not enough memory is available.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.tensor([1.5]).new_tensor([1, 2])
    ///     tensor([1., 2.])
    #[pyo3(signature = (data, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
    fn new_tensor(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        dtype: OptionalArg<'_, '_>,
        device: OptionalArg<'_, '_>,
        #[pyo3(from_py_with = switches::new_tensor::requires_grad)] requires_grad: bool,
        #[pyo3(from_py_with = switches::new_tensor::pin_memory)] pin_memory: bool,
    ) -> PyResult<Py<Tensor>> {
        let x = &self.0;
        let options = new_options(py, "new_tensor", x, dtype, device, pin_memory)?;
        let tensor = match from_data::pinned_source(data, options.placement) {
            Some(source) => source,
            None => from_data::from_data("new_tensor", data, Some(options.dtype))?,
        };
        build(py, requires_grad, || tensor.to(options, false).map_err(|error| error.during("new_tensor")))
    }
}

/// Return a tensor of zeros with the shape of another tensor.
///
/// Args:
///     input: The tensor whose shape and memory order are used.
///     dtype: The element type; None means that of `input`.
///     device: The device; None means that of `input`.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.zeros_like(interlock.tensor([1, 2]))
///     tensor([0, 0])
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn zeros_like(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::zeros_like::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::zeros_like::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (other, options) = like_options("zeros_like: input", input, dtype, device, pin_memory)?;
    build(input.py(), requires_grad, || other.zeros_like(options))
}

/// Return a tensor of ones with the shape of another tensor.
///
/// Args:
///     input: The tensor whose shape and memory order are used.
///     dtype: The element type; None means that of `input`.
///     device: The device; None means that of `input`.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.ones_like(interlock.tensor([1, 2]), dtype=interlock.float32)
///     tensor([1., 1.])
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn ones_like(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::ones_like::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::ones_like::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (other, options) = like_options("ones_like: input", input, dtype, device, pin_memory)?;
    build(input.py(), requires_grad, || other.ones_like(options))
}

/// Return an uninitialized tensor with the shape of another tensor.
///
/// Args:
///     input: The tensor whose shape and memory order are used.
///     dtype: The element type; None means that of `input`.
///     device: The device; None means that of `input`.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.empty_like(interlock.zeros(2, 3)).shape
///     (2, 3)
#[pyfunction]
#[pyo3(signature = (input, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn empty_like(
    input: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::empty_like::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::empty_like::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (other, options) = like_options("empty_like: input", input, dtype, device, pin_memory)?;
    build(input.py(), requires_grad, || other.empty_like(options))
}

/// Return a tensor filled with a number, with the shape of another tensor.
///
/// Args:
///     input: The tensor whose shape and memory order are used.
///     fill_value: The number, or a tensor with one element.
///     dtype: The element type; None means that of `input`.
///     device: The device; None means that of `input`.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.full_like(interlock.zeros(2), 7)
///     tensor([7., 7.])
#[pyfunction]
#[pyo3(signature = (input, fill_value, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn full_like(
    input: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::full_like::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::full_like::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (other, options) = like_options("full_like: input", input, dtype, device, pin_memory)?;
    let value = extract_scalar("full_like: fill_value", fill_value)?;
    build(input.py(), requires_grad, || other.full_like(value, options))
}

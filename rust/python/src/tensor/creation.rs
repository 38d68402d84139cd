//! Functions that create tensors.

use interlock_tensor::{DType as CoreDType, EMPTY, EmptyCall, Result, Tensor as CoreTensor, TensorOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::{
    OptionalArg, checked_sizes, extract_dtype, extract_int_or_ints, extract_ints, extract_ints_or_named,
    extract_scalar, function_of, placement,
};
use super::dtype::DType;
use super::identity::remember_tensor;
use super::{Explained, Tensor};
use crate::context::sync;
use crate::detach::detach;
use crate::dispatch::Call;
use crate::errors::IntoPyResult;
use crate::switches;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(zeros, module)?)?;
    module.add_function(wrap_pyfunction!(ones, module)?)?;
    module.add_function(wrap_pyfunction!(empty, module)?)?;
    module.add_function(wrap_pyfunction!(full, module)?)?;
    module.add_function(wrap_pyfunction!(empty_strided, module)?)?;
    module.add_function(wrap_pyfunction!(rand, module)?)?;
    module.add_function(wrap_pyfunction!(randn, module)?)
}

/// Creates a tensor while detached from the interpreter, and sets `requires_grad`.
pub(super) fn build(
    py: Python<'_>,
    requires_grad: bool,
    make: impl FnOnce() -> Result<CoreTensor> + Send,
) -> PyResult<Py<Tensor>> {
    into_object(py, requires_grad, detach(py, make).into_py_result(py)?)
}

/// Returns the Python object of a new tensor, which requires grad if `requires_grad`.
fn into_object(py: Python<'_>, requires_grad: bool, tensor: CoreTensor) -> PyResult<Py<Tensor>> {
    if requires_grad {
        tensor.set_requires_grad(true).into_py_result(py)?;
    }
    let object = Bound::new(py, Tensor(tensor))?;
    if requires_grad {
        // Nodes refer to leaves, and return this object.
        remember_tensor(&object)?;
    }
    Ok(object.unbind())
}

/// Return a tensor of zeros.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
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
///     >>> interlock.zeros(2, 3)
///     tensor([[0., 0., 0.],
///             [0., 0., 0.]])
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn zeros(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::zeros::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::zeros::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("zeros: size", args, size)?;
    let options = tensor_options(args.py(), "zeros", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::zeros(&shape, options))
}

/// Return a tensor of ones.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
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
///     >>> interlock.ones((2,), dtype=interlock.int64)
///     tensor([1, 1])
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn ones(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::ones::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::ones::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("ones: size", args, size)?;
    let options = tensor_options(args.py(), "ones", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::ones(&shape, options))
}

/// Return an uninitialized tensor.
///
/// It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
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
///     >>> interlock.empty(2, 3).shape
///     (2, 3)
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn empty(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::empty::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::empty::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("empty: size", args, size)?;
    let options = tensor_options(args.py(), "empty", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::empty(&shape, options))
}

pub(super) static EXPLAINED: Explained =
    Explained { name: "empty", function: |py| wrap_pyfunction!(explain, py) };

/// Binds the arguments as `empty` itself does, and returns the choice of a kernel.
#[pyfunction]
#[pyo3(
    name = "empty",
    signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false)
)]
fn explain(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::empty::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::empty::pin_memory)] pin_memory: bool,
) -> PyResult<Call> {
    let _ = requires_grad;
    let shape = extract_size("empty: size", args, size)?;
    let options = tensor_options(args.py(), "empty", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    Ok(Call::new(EMPTY.explain(&EmptyCall::new(&shape, options))))
}

/// Return an uninitialized tensor with the strides `stride`.
///
/// It is filled while `backends.deterministic_algorithms` is set; see `utils.deterministic`.
///
/// Args:
///     size: The sizes, as a tuple or list.
///     stride: The stride of each dimension, in elements. Not negative.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A size or a stride is negative, or their numbers differ.
///     ShapeError: The memory has more elements than can be addressed.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.empty_strided((2, 3), (1, 2)).stride()
///     (1, 2)
#[pyfunction]
#[pyo3(signature = (size, stride, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn empty_strided(
    size: &Bound<'_, PyAny>,
    stride: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::empty_strided::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::empty_strided::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (py, op, size_name, stride_name) =
        (size.py(), "empty_strided", "empty_strided: size", "empty_strided: stride");
    let shape = checked_sizes(py, size_name, &extract_int_or_ints(size_name, size)?)?;
    let strides = checked_sizes(py, stride_name, &extract_int_or_ints(stride_name, stride)?)?;
    let options = tensor_options(py, op, dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(py, requires_grad, || CoreTensor::empty_strided(&shape, &strides, options))
}

/// Return a tensor filled with a number.
///
/// Args:
///     size: The sizes, as an int or as a tuple or list.
///     fill_value: The number, or a tensor with one element.
///     dtype: The element type. None means bool for a bool, int64 for an int, and float32 for a float.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number.
///     ArgumentError: A size is negative.
///     DTypeError: `requires_grad` is True for a dtype that is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> interlock.full((2, 2), 7)
///     tensor([[7, 7],
///             [7, 7]])
#[pyfunction]
#[pyo3(signature = (size, fill_value, *, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn full(
    size: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::full::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::full::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let (py, op, what) = (size.py(), "full", "full: size");
    let shape = checked_sizes(py, what, &extract_int_or_ints(what, size)?)?;
    let value = extract_scalar("full: fill_value", fill_value)?;
    let options = tensor_options(py, op, dtype, value.dtype(), device, pin_memory)?;
    build(size.py(), requires_grad, || CoreTensor::full(&shape, value, options))
}

/// Extracts the sizes of a new tensor. `what` names the function and the argument.
pub(super) fn extract_size(
    what: &str,
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
) -> PyResult<Vec<usize>> {
    let py = args.py();
    if let Some(dtype) = args.iter().next_back().filter(|last| last.is_instance_of::<DType>()) {
        let sizes = extract_ints(what, &args.get_slice(0, args.len() - 1))?;
        let sizes = PyTuple::new(py, checked_sizes(py, what, &sizes)?)?;
        let message = format!("dtype is keyword-only: {}({sizes}, dtype={dtype})", function_of(what));
        return Err(PyTypeError::new_err(message));
    }
    checked_sizes(py, what, &extract_ints_or_named(what, args, size)?)
}

/// Extracts the options of a new tensor. Without arguments they are `default_dtype` and the default device.
pub(super) fn tensor_options(
    py: Python<'_>,
    op: &'static str,
    dtype: OptionalArg<'_, '_>,
    default_dtype: CoreDType,
    device: OptionalArg<'_, '_>,
    pin_memory: bool,
) -> PyResult<TensorOptions> {
    let dtype = extract_dtype(op, dtype)?.unwrap_or(default_dtype);
    let default = sync(py).default_device();
    Ok(TensorOptions { dtype, placement: placement(py, op, device, pin_memory, default.into())? })
}

/// Return random numbers that are uniformly distributed from 0 to 1 (exclusive).
///
/// `manual_seed` sets the seed. The numbers do not depend on the device.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A size is negative.
///     DTypeError: `dtype` is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.rand(2, 3)
///     >>> x.shape
///     (2, 3)
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn rand(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::rand::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::rand::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("rand: size", args, size)?;
    let options = tensor_options(args.py(), "rand", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::rand(&shape, options))
}

/// Return random numbers of the standard normal distribution: mean 0, variance 1.
///
/// `manual_seed` sets the seed. The numbers do not depend on the device.
///
/// Args:
///     args: The sizes, as separate ints or as one tuple or list.
///     size: The sizes as a tuple or list, by name instead of `args`.
///     dtype: The element type; None means float32.
///     device: The device; None means the default device.
///     requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.
///     pin_memory: Whether a CPU tensor is allocated in pinned memory.
///
/// Raises:
///     ArgumentError: A size is negative.
///     DTypeError: `dtype` is not floating point.
///     NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.
///     OutOfMemoryError: Not enough memory is available.
///
/// Example:
///     >>> import interlock
///     >>> x = interlock.randn(2, 3)
///     >>> x.shape
///     (2, 3)
#[pyfunction]
#[pyo3(signature = (*args, size = None, dtype = None, device = None, requires_grad = false, pin_memory = false))]
fn randn(
    args: &Bound<'_, PyTuple>,
    size: OptionalArg<'_, '_>,
    dtype: OptionalArg<'_, '_>,
    device: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = switches::randn::requires_grad)] requires_grad: bool,
    #[pyo3(from_py_with = switches::randn::pin_memory)] pin_memory: bool,
) -> PyResult<Py<Tensor>> {
    let shape = extract_size("randn: size", args, size)?;
    let options = tensor_options(args.py(), "randn", dtype, CoreDType::DEFAULT_FLOAT, device, pin_memory)?;
    build(args.py(), requires_grad, || CoreTensor::randn(&shape, options))
}

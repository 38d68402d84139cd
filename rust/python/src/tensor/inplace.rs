//! In-place operations, which return the tensor itself.

use interlock_tensor::elementwise::{bitwise_and, bitwise_or, bitwise_xor, floor_divide, remainder};
use interlock_tensor::{Result, Tensor as CoreTensor};
use pyo3::Borrowed;
use pyo3::prelude::*;

use super::args::{TensorOrScalar, extract_tensor, extract_tensor_object, function_of};
use super::operation::replace;
use super::{Tensor, maybe_detach, work_size, work_size_of};
use crate::errors::new_type_error;
use crate::switches;

/// The tensor itself, which in-place operations return.
pub(super) type PySelf<'py> = PyResult<Bound<'py, Tensor>>;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fill_, module)?)?;
    module.add_function(wrap_pyfunction!(zero_, module)?)
}

/// Set all elements of a tensor to `value`. A number also fills an expanded tensor.
///
/// Args:
///     input: The tensor, which is changed.
///     value: A number, or a 0-d tensor, whose gradient is the sum of all gradients.
///
/// Returns:
///     `input` itself.
///
/// Raises:
///     ArgumentError: The dtype cannot hold the number.
///     ShapeError: `value` is a tensor with dimensions.
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.
///
/// Example:
///     >>> import interlock
///     >>> interlock.fill_(interlock.zeros(2), 3)
///     tensor([3., 3.])
#[pyfunction]
fn fill_<'py>(input: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PySelf<'py> {
    Tensor::fill_(extract_tensor_object("fill_: input", input)?, value)
}

/// Set all elements of a tensor to 0.
///
/// Args:
///     input: The tensor, which is changed.
///
/// Returns:
///     `input` itself.
///
/// Raises:
///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.
///
/// Example:
///     >>> import interlock
///     >>> interlock.zero_(interlock.ones(2))
///     tensor([0., 0.])
#[pyfunction]
fn zero_<'py>(input: &Bound<'py, PyAny>) -> PySelf<'py> {
    Tensor::zero_(extract_tensor_object("zero_: input", input)?)
}

/// Runs an in-place operation and returns the tensor itself.
pub(super) fn run_inplace<'py>(
    op: &'static str,
    tensor: Bound<'py, Tensor>,
    operation: &(dyn Fn(&CoreTensor) -> Result<()> + Sync),
) -> PySelf<'py> {
    let target = &tensor.get().0;
    maybe_detach(tensor.py(), op, work_size(target), || operation(target))?;
    Ok(tensor)
}

/// Runs an in-place operation with another operand.
fn with_other<'py>(
    what: &'static str,
    tensor: Bound<'py, Tensor>,
    other: &Bound<'py, PyAny>,
    operation: &(dyn Fn(&CoreTensor, &TensorOrScalar) -> Result<()> + Sync),
) -> PySelf<'py> {
    let other = TensorOrScalar::extract(what, other)?;
    run_inplace(function_of(what), tensor, &|target| operation(target, &other))
}

/// The other operand of an in-place operator. The extraction of an object that is no operand fails: the operator then
/// returns NotImplemented, and Python tries the reflected method of the object.
struct Other<'py>(Bound<'py, PyAny>);

impl<'a, 'py> FromPyObject<'a, 'py> for Other<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let given = given.to_owned();
        if TensorOrScalar::is_operand(&given) {
            Ok(Other(given))
        } else {
            Err(Other::wrong("operand", &given))
        }
    }
}

impl Other<'_> {
    fn wrong(what: &str, given: &Bound<'_, PyAny>) -> PyErr {
        new_type_error(what, "a Tensor, a numpy.ndarray or a number", given)
    }

    fn get(&self, what: &str) -> PyResult<TensorOrScalar> {
        TensorOrScalar::from_operand(what, &self.0)?.ok_or_else(|| Other::wrong(what, &self.0))
    }
}

/// Like [`with_other`], for an operator, which also accepts an array.
fn with_operator<'py>(
    what: &'static str,
    tensor: Bound<'py, Tensor>,
    other: &Other<'py>,
    operation: fn(&CoreTensor, &TensorOrScalar) -> Result<()>,
) -> PyResult<()> {
    let other = other.get(what)?;
    run_inplace(function_of(what), tensor, &|target| operation(target, &other)).map(drop)
}

/// Runs an operator that computes a new tensor and copies its elements into the target.
fn replace_by_operator<'py>(
    what: &'static str,
    tensor: Bound<'py, Tensor>,
    other: &Other<'py>,
    operation: fn(&CoreTensor, &TensorOrScalar) -> Result<CoreTensor>,
) -> PyResult<()> {
    let other = other.get(what)?;
    replace(function_of(what), tensor, &[other.tensor()], &|target| operation(target, &other)).map(drop)
}

#[pymethods]
impl Tensor {
    /// Set all elements to 0.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.
    fn zero_(slf: Bound<'_, Self>) -> PySelf<'_> {
        run_inplace("zero_", slf, &|target| target.zero_().map(drop))
    }

    /// Set all elements to `value`. A number also fills an expanded tensor.
    ///
    /// Args:
    ///     value: A number, or a 0-d tensor, whose gradient is the sum of all gradients.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     ArgumentError: The dtype cannot hold the number.
    ///     ShapeError: `value` is a tensor with dimensions.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2).fill_(3)
    ///     tensor([3., 3.])
    fn fill_<'py>(slf: Bound<'py, Self>, value: &Bound<'py, PyAny>) -> PySelf<'py> {
        let value = TensorOrScalar::extract("fill_: value", value)?;
        let target = &slf.get().0;
        let work_size = value.work_size_with(target);
        maybe_detach(slf.py(), "fill_", work_size, || target.fill_(value.operand()).map(drop))?;
        Ok(slf)
    }

    /// Copy the elements of another tensor into this one.
    ///
    /// Args:
    ///     src: The tensor, which is broadcast, converted to this dtype and moved to this device.
    ///     non_blocking: Whether a copy between a device and pinned memory is queued without waiting for it.
    ///
    /// Returns:
    ///     The tensor itself.
    ///
    /// Raises:
    ///     ShapeError: `src` cannot be broadcast to the shape of this tensor.
    ///     RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.
    ///
    /// Example:
    ///     >>> import interlock
    ///     >>> interlock.zeros(2).copy_(interlock.tensor([1, 2]))
    ///     tensor([1., 2.])
    #[pyo3(signature = (src, non_blocking = false))]
    fn copy_<'py>(
        slf: Bound<'py, Self>,
        src: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = switches::copy_::non_blocking)] non_blocking: bool,
    ) -> PySelf<'py> {
        let (source, target) = (extract_tensor("copy_: src", src)?, &slf.get().0);
        let work_size = work_size_of(&[target, &source]);
        maybe_detach(slf.py(), "copy_", work_size, || target.copy_from(&source, non_blocking).map(drop))?;
        Ok(slf)
    }

    fn __iadd__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        with_operator("add_: other", slf, &other, |a, b| a.add_(b.operand()).map(drop))
    }

    fn __isub__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        with_operator("sub_: other", slf, &other, |a, b| a.sub_(b.operand()).map(drop))
    }

    fn __imul__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        with_operator("mul_: other", slf, &other, |a, b| a.mul_(b.operand()).map(drop))
    }

    fn __itruediv__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        with_operator("div_: other", slf, &other, |a, b| a.div_(b.operand()).map(drop))
    }

    fn __ifloordiv__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        replace_by_operator("floor_divide_: other", slf, &other, |a, b| floor_divide(a, b.operand()))
    }

    fn __imod__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        replace_by_operator("remainder_: other", slf, &other, |a, b| remainder(a, b.operand()))
    }

    fn __iand__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        replace_by_operator("bitwise_and_: other", slf, &other, |a, b| bitwise_and(a, b.operand()))
    }

    fn __ior__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        replace_by_operator("bitwise_or_: other", slf, &other, |a, b| bitwise_or(a, b.operand()))
    }

    fn __ixor__<'py>(slf: Bound<'py, Self>, other: Other<'py>) -> PyResult<()> {
        replace_by_operator("bitwise_xor_: other", slf, &other, |a, b| bitwise_xor(a, b.operand()))
    }

    fn __ipow__<'py>(
        slf: Bound<'py, Self>,
        exponent: Other<'py>,
        _modulo: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        replace_by_operator("pow_: exponent", slf, &exponent, |a, b| a.pow(b.operand()))
    }
}

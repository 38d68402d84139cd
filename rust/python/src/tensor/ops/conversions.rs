//! Conversions of dtype and device, and copies.

use interlock_tensor::{DType, Placement, Result, Tensor as CoreTensor};

use crate::tensor::call::DETACH_THRESHOLD;
use crate::tensor::formats::Format;
use crate::tensor::operation::tensor_op;

/// Return a copy of the tensor, as a recorded operation.
///
/// Example:
///     >>> x = interlock.ones(2)
///     >>> interlock.clone(x) is x
///     False
#[tensor_op(function, method, example = "x")]
fn clone(input: &CoreTensor, #[keyword] memory_format: Option<Format>) -> Result<CoreTensor> {
    input.copy_in(Format::of_new(memory_format))
}

/// Return a tensor that shares memory with another and has no history.
///
/// Example:
///     >>> interlock.detach(interlock.ones(2, requires_grad=True)).requires_grad
///     False
#[tensor_op(function, method, view, example = "x")]
fn detach(input: &CoreTensor) -> Result<CoreTensor> {
    Ok(input.detach())
}

/// Convert the tensor to the dtype and device of another one.
///
/// Args:
///     other: The tensor whose dtype and device are used.
///
/// Returns:
///     The tensor itself if nothing changes, else a new tensor.
///
/// Raises:
///     TypeError: `other` is not a tensor.
///
/// Example:
///     >>> interlock.tensor([1.5, 2.5]).type_as(interlock.tensor(0))
///     tensor([1, 2])
#[tensor_op(method, or_self, size = least_size(other.options().placement), example = "x, y.double()")]
fn type_as(input: &CoreTensor, other: &CoreTensor) -> Result<CoreTensor> {
    input.to(other.options(), false)
}

/// Returns the least measure of the duration of a conversion, which may wait for a device.
pub(in crate::tensor) fn least_size(placement: Placement) -> usize {
    if matches!(placement, Placement::Cpu) { 0 } else { DETACH_THRESHOLD }
}

/// Return the tensor on the CPU, or the tensor itself if it is there.
#[tensor_op(method, or_self, example = "x")]
fn cpu(input: &CoreTensor, #[keyword] memory_format: Option<Format>) -> Result<CoreTensor> {
    Format::of_converted(memory_format, input, input.to(input.dtype(), false)?)
}

/// Declares conversions to a dtype.
macro_rules! casts {
    ($($(#[$doc:meta])* $name:ident $dtype:ident;)+) => {
        $($(#[$doc])*
        #[tensor_op(method, or_self, example = "x")]
        fn $name(input: &CoreTensor, #[keyword] memory_format: Option<Format>) -> Result<CoreTensor> {
            Format::of_converted(memory_format, input, input.cast(DType::$dtype)?)
        })+
    };
}

casts! {
    /// Convert to float16. Returns the tensor itself if it is a float16 tensor.
    half Float16;
    /// Convert to bfloat16. Returns the tensor itself if it is a bfloat16 tensor.
    bfloat16 BFloat16;
    /// Convert to float32. Returns the tensor itself if it is a float32 tensor.
    float Float32;
    /// Convert to float64. Returns the tensor itself if it is a float64 tensor.
    double Float64;
    /// Convert to int64, by truncation. Returns the tensor itself if it is an int64 tensor.
    long Int64;
    /// Convert to int32: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is an
    /// int32 tensor.
    int Int32;
    /// Convert to int16: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is an
    /// int16 tensor.
    short Int16;
    /// Convert to int8: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is an
    /// int8 tensor.
    char Int8;
    /// Convert to uint8: fractions are truncated, and numbers beyond its range wrap. Returns the tensor itself if it is a
    /// uint8 tensor.
    byte UInt8;
    /// Convert to bool: False for 0. Returns the tensor itself if it is a bool tensor.
    bool Bool;
}

//! Operations on quantized tensors.

use interlock_tensor::{QuantizedDType, QuantizedTensor, Result, Tensor as CoreTensor};

use crate::tensor::operation::{Float, tensor_op};

/// Return the numbers as integers of 8 or 32 bits that share a scale and a zero point.
///
/// A number `x` becomes `round(x / scale) + zero_point`, which is computed as the product with the reciprocal of `scale` in
/// float32, rounded to the nearest integer, ties to even, and limited to the range of `dtype`. NaN becomes the largest 8-bit
/// or the smallest 32-bit integer. The result has no history.
///
/// Args:
///     input: A float32 tensor of any shape.
///     scale: The difference of the numbers that neighboring integers represent: positive.
///     zero_point: The integer that represents 0, in the range of `dtype`.
///     dtype: `interlock.quint8`, `qint8` or `qint32`.
///
/// Raises:
///     DTypeError: `input` is not float32.
///     ArgumentError: `scale` has no positive reciprocal in float32, or `zero_point` is out of range.
///
/// Example:
///     >>> interlock.quantize_per_tensor(interlock.tensor([-1.0, 0.0, 0.26]), 0.1, 10, interlock.quint8)
///     tensor([-1.0000,  0.0000,  0.3000], size=(3,), dtype=interlock.quint8, scale=0.1, zero_point=10)
#[tensor_op(function, example = "x, 0.1, 3, interlock.quint8")]
fn quantize_per_tensor(
    input: &CoreTensor,
    scale: Float,
    zero_point: i64,
    dtype: QuantizedDType,
) -> Result<QuantizedTensor>;

/// Return the numbers of a quantized tensor as a float32 tensor.
///
/// Args:
///     input: The quantized tensor.
///
/// Example:
///     >>> q = interlock.quantize_per_tensor(interlock.tensor([-1.0, 0.26]), 0.1, 10, interlock.quint8)
///     >>> interlock.dequantize(q)
///     tensor([-1.0000,  0.3000])
#[tensor_op(function, example = "interlock.quantize_per_tensor(x, 0.1, 3, interlock.quint8)")]
fn dequantize(input: &QuantizedTensor) -> Result<CoreTensor>;

/// Return `input @ weight.T + bias` of quantized tensors, as a quantized tensor.
///
/// `linear` is its name in PyTorch. The flag `quantized.engine` selects the kernel. Sums of integers are exact; they are
/// scaled in float64 and rounded to the nearest integer, ties to even.
///
/// Args:
///     input: A tensor of quint8 and shape [..., inputs].
///     weight: A tensor of qint8 and shape [outputs, inputs].
///     bias: A float32 tensor of shape [outputs], or None.
///     scale: The scale of the result; by default the one of `input`.
///     zero_point: The zero point of the result; by default the one of `input`.
///
/// Returns:
///     A tensor of quint8 and shape [..., outputs].
///
/// Raises:
///     ArgumentError: `input` is not quint8, `weight` is not qint8, `scale` has no positive reciprocal in float32, or
///         `zero_point` is not from 0 to 255.
///     ShapeError: The shapes do not fit.
///     DTypeError: `bias` is not float32.
///     RuntimeError: The tensors are on different devices, or the engine cannot compute the layer: `quantized.engine` is
///         "none", or "onednn" without oneDNN, on a CPU without VNNI or for more than 65,793 inputs.
///
/// Example:
///     >>> x = interlock.quantize_per_tensor(interlock.ones(1, 4), 0.1, 10, interlock.quint8)
///     >>> w = interlock.quantize_per_tensor(interlock.ones(1, 4), 0.5, 0, interlock.qint8)
///     >>> functional.linear(x, w, scale=0.5)
///     tensor([[4.]], size=(1, 1), dtype=interlock.quint8, scale=0.5, zero_point=10)
#[tensor_op(
    function,
    long,
    namespace = "nn.quantized.functional",
    explain = input.explain_linear(weight, bias),
    example = "interlock.quantize_per_tensor(x, 0.1, 3, interlock.quint8), \
               interlock.quantize_per_tensor(square, 0.1, 0, interlock.qint8), y"
)]
fn quantized_linear(
    input: &QuantizedTensor,
    weight: &QuantizedTensor,
    bias: Option<&CoreTensor>,
    scale: Option<Float>,
    zero_point: Option<i64>,
) -> Result<QuantizedTensor> {
    let scale = scale.map_or(input.scale(), Float::get);
    input.linear(weight, bias, scale, zero_point.unwrap_or(input.zero_point()))
}

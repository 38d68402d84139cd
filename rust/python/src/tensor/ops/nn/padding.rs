//! Padding.

use interlock_tensor::{Result, Scalar, Tensor as CoreTensor};

use crate::tensor::operation::{Choice, Ints, tensor_op};

/// Return a copy with a number around the elements.
///
/// Args:
///     pad: The numbers of new elements before and after those of the last dimension, then of the dimension before it, and
///         so on. Negative numbers remove elements.
///     mode: "constant"; the other modes of PyTorch are not available.
///     value: The number; None means 0.
///
/// Raises:
///     ArgumentError: `mode` has another value, `pad` does not fit the dimensions or removes more elements than there are,
///         or the dtype cannot hold `value`.
///
/// Example:
///     >>> functional.pad(interlock.tensor([[1, 2, 3]]), (1, -1, 0, 1), value=9)
///     tensor([[9, 1, 2],
///             [9, 9, 9]])
#[tensor_op(function, namespace = "nn.functional", example = "x, (1, 2); x, (-1, 1, 2, -1), 'constant', 2")]
fn pad(
    input: &CoreTensor,
    pad: &Ints,
    #[default(PaddingMode::Constant, "'constant'")] mode: PaddingMode,
    value: Option<Scalar>,
) -> Result<CoreTensor> {
    let PaddingMode::Constant = mode;
    input.pad(pad, value.unwrap_or(Scalar::Int(0)))
}

/// What the new elements are.
#[derive(Clone, Copy)]
enum PaddingMode {
    Constant,
}

impl Choice for PaddingMode {
    const ANNOTATION: &'static str = "Literal['constant']";
    const CHOICES: &'static [(&'static str, Self)] = &[("constant", PaddingMode::Constant)];
    const ALLOWED: &'static str = "'constant'";
}

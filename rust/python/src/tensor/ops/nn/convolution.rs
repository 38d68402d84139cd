//! Convolutions.

use interlock_tensor::{ConvOptions, ConvPadding, Result, Tensor as CoreTensor};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{new_argument_error, shown};
use crate::tensor::operation::{Arg, ArgumentName, FromArgument, Ints, tensor_op};

/// A number for rows and one for columns: an int, or a tuple or list of one or two ints.
type Pair = [i64; 2];

impl FromArgument<'_, '_> for Pair {
    const ANNOTATION: &'static str = Ints::ANNOTATION;
    const WANTED: &'static str = Ints::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        match Ints::try_from_argument(name, given)?.as_deref() {
            None => Ok(None),
            Some(&[both]) => Ok(Some([both; 2])),
            Some(&[rows, columns]) => Ok(Some([rows, columns])),
            Some(others) => {
                let (expected, count) = ("be an int or 2 ints (rows, columns)", others.len());
                Err(new_argument_error(given.py(), name, expected, format_args!("{count} ints")))
            }
        }
    }
}

impl FromArgument<'_, '_> for ConvPadding {
    const ANNOTATION: &'static str = "_Dims | Literal['same', 'valid']";
    const WANTED: &'static str = Pair::WANTED;

    fn try_from_argument(name: ArgumentName, given: Arg<'_, '_>) -> PyResult<Option<Self>> {
        let Ok(text) = given.cast::<PyString>() else {
            return Ok(Pair::try_from_argument(name, given)?.map(ConvPadding::Sizes));
        };
        match &*text.to_string_lossy() {
            "same" => Ok(Some(ConvPadding::Same)),
            "valid" => Ok(Some(ConvPadding::Valid)),
            _ => Err(new_argument_error(given.py(), name, "be ints, 'same' or 'valid'", shown(text)?)),
        }
    }
}

/// Return the convolution of images with filters, as PyTorch's `conv2d`. Pairs are of rows and columns.
///
/// On devices the kernel is chosen by the flags of `backends.cudnn`, on the CPU by those of `backends.mkldnn`.
/// `dispatch.explain` and `dispatch.record` show the choice.
///
/// Args:
///     input: Images of shape [batch, channels, rows, columns], or one of shape [channels, rows, columns]. Any dtype
///         except bool.
///     weight: Filters of shape [filters, channels / groups, rows, columns], of the same dtype.
///     bias: A number for each filter, of shape [filters], or None.
///     stride: The step between two positions of a filter: an int, or a pair.
///     padding: The zeros on each side of the images: an int or a pair, or ``"valid"`` for none, or ``"same"`` for an
///         output of the size of the images, which needs a stride of 1.
///     dilation: The distance between two elements of a filter: an int, or a pair.
///     groups: The number of groups of channels, each of which has its own filters. It divides both numbers of
///         channels.
///
/// Returns:
///     A tensor of shape [batch, filters, rows, columns], without the batch if `input` has none.
///
/// Raises:
///     ShapeError: The shapes are incompatible, or a filter is larger than the padded images.
///     DTypeError: The dtypes differ or are bool.
///     ArgumentError: `stride`, `dilation` or `groups` is not positive, or `padding` is negative, another text, or
///         ``"same"`` for another stride than 1.
///     RuntimeError: The tensors are on different devices.
///
/// Example:
///     >>> image = interlock.arange(9.0).reshape(1, 3, 3)
///     >>> interlock.conv2d(image, interlock.ones(1, 1, 2, 2))
///     tensor([[[ 8., 12.],
///              [20., 24.]]])
#[tensor_op(
    function,
    size = input.numel().saturating_mul(weight.numel()),
    explain = input.explain_conv2d(weight, &ConvOptions { bias, stride, padding, dilation, groups }),
    example = "square[None, None], x[None, None]; \
        x[None, None], z[None, None], y[:1], stride=(2, 1), padding=1; \
        interlock.stack([x, z])[None], interlock.stack([z[:, :2], x[:, 1:]])[:, None], y[:2], groups=2"
)]
fn conv2d(
    input: &CoreTensor,
    weight: &CoreTensor,
    bias: Option<&CoreTensor>,
    #[default([1, 1], "1")] stride: Pair,
    #[default(ConvPadding::Sizes([0, 0]), "0")] padding: ConvPadding,
    #[default([1, 1], "1")] dilation: Pair,
    #[default(1)] groups: i64,
) -> Result<CoreTensor> {
    input.conv2d(weight, &ConvOptions { bias, stride, padding, dilation, groups })
}

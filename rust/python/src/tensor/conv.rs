//! The convolution.

use interlock_tensor::{ConvOptions, ConvPadding, Result, Tensor as CoreTensor};
use pyo3::inventory;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::args::{
    Arg, OptionalArg, extract_int, extract_int_or_ints, extract_optional_tensor, extract_tensor,
};
use super::{Tensor, run_op};
use crate::dispatch::Call;
use crate::dispatch::explain::Explained;
use crate::errors::{IntoPyResult, new_exception, shown};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(conv2d, module)?)
}

/// Extracts an int, or a tuple or list of one or two ints.
fn extract_pair(what: &str, given: Arg<'_, '_>) -> PyResult<[i64; 2]> {
    match extract_int_or_ints(what, given)?.as_slice() {
        &[both] => Ok([both; 2]),
        &[rows, columns] => Ok([rows, columns]),
        others => {
            let message =
                format!("{what} must be an int or 2 ints (rows, columns), got {} ints", others.len());
            Err(new_exception(given.py(), "ArgumentError", message))
        }
    }
}

/// Extracts the argument `stride`.
fn stride(given: Arg<'_, '_>) -> PyResult<[i64; 2]> {
    extract_pair("conv2d: stride", given)
}

/// Extracts the argument `dilation`.
fn dilation(given: Arg<'_, '_>) -> PyResult<[i64; 2]> {
    extract_pair("conv2d: dilation", given)
}

/// Extracts the argument `groups`.
fn groups(given: Arg<'_, '_>) -> PyResult<i64> {
    extract_int("conv2d: groups", given)
}

/// Extracts the argument `padding`: ints, `"same"` or `"valid"`.
fn padding(given: Arg<'_, '_>) -> PyResult<ConvPadding> {
    const PADDING: &str = "conv2d: padding";
    let Ok(name) = given.cast::<PyString>() else {
        return Ok(ConvPadding::Sizes(extract_pair(PADDING, given)?));
    };
    match name.to_string_lossy().as_ref() {
        "same" => Ok(ConvPadding::Same),
        "valid" => Ok(ConvPadding::Valid),
        _ => {
            let message = format!("{PADDING} must be ints, 'same' or 'valid', got {}", shown(name)?);
            Err(new_exception(name.py(), "ArgumentError", message))
        }
    }
}

/// The arguments of `conv2d`.
struct ConvArguments {
    input: CoreTensor,
    weight: CoreTensor,
    bias: Option<CoreTensor>,
    stride: [i64; 2],
    padding: ConvPadding,
    dilation: [i64; 2],
    groups: i64,
}

impl ConvArguments {
    /// Extracts the tensors. The options were extracted.
    fn extract(
        [input, weight]: [Arg<'_, '_>; 2],
        bias: OptionalArg<'_, '_>,
        stride: [i64; 2],
        padding: ConvPadding,
        dilation: [i64; 2],
        groups: i64,
    ) -> PyResult<Self> {
        Ok(ConvArguments {
            input: extract_tensor("conv2d: input", input)?,
            weight: extract_tensor("conv2d: weight", weight)?,
            bias: extract_optional_tensor("conv2d: bias", bias)?,
            stride,
            padding,
            dilation,
            groups,
        })
    }

    fn options(&self) -> ConvOptions<'_> {
        let ConvArguments { bias, stride, padding, dilation, groups, .. } = self;
        let (stride, padding, dilation, groups) = (*stride, *padding, *dilation, *groups);
        ConvOptions { bias: bias.as_ref(), stride, padding, dilation, groups }
    }

    fn run(&self) -> Result<CoreTensor> {
        self.input.conv2d(&self.weight, &self.options())
    }

    /// Returns an upper bound of the multiplications, up to a limit, to decide whether they are worth a detachment.
    fn work_size(&self) -> usize {
        self.input.numel().saturating_mul(self.weight.numel())
    }

    /// Returns the choice of a kernel.
    fn explain(&self, py: Python<'_>) -> PyResult<Call> {
        self.input.explain_conv2d(&self.weight, &self.options()).map(Call::new).into_py_result(py)
    }
}

inventory::submit! { Explained { name: "conv2d", function: |py| wrap_pyfunction!(explain, py) } }

/// Binds the arguments as the operation itself does, and returns the choice of a kernel.
#[pyfunction]
#[pyo3(
    name = "conv2d",
    signature = (input, weight, bias = None, stride = [1, 1], padding = ConvPadding::Sizes([0, 0]), dilation = [1, 1], groups = 1)
)]
fn explain(
    input: Arg<'_, '_>,
    weight: Arg<'_, '_>,
    bias: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = stride)] stride: [i64; 2],
    #[pyo3(from_py_with = padding)] padding: ConvPadding,
    #[pyo3(from_py_with = dilation)] dilation: [i64; 2],
    #[pyo3(from_py_with = groups)] groups: i64,
) -> PyResult<Call> {
    ConvArguments::extract([input, weight], bias, stride, padding, dilation, groups)?.explain(input.py())
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
///     >>> import interlock
///     >>> image = interlock.arange(9.0).reshape(1, 3, 3)
///     >>> interlock.conv2d(image, interlock.ones(1, 1, 2, 2))
///     tensor([[[ 8., 12.],
///              [20., 24.]]])
#[pyfunction]
#[pyo3(
    signature = (input, weight, bias = None, stride = [1, 1], padding = ConvPadding::Sizes([0, 0]), dilation = [1, 1], groups = 1),
    text_signature = "(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)"
)]
fn conv2d(
    input: Arg<'_, '_>,
    weight: Arg<'_, '_>,
    bias: OptionalArg<'_, '_>,
    #[pyo3(from_py_with = stride)] stride: [i64; 2],
    #[pyo3(from_py_with = padding)] padding: ConvPadding,
    #[pyo3(from_py_with = dilation)] dilation: [i64; 2],
    #[pyo3(from_py_with = groups)] groups: i64,
) -> PyResult<Tensor> {
    let arguments = ConvArguments::extract([input, weight], bias, stride, padding, dilation, groups)?;
    run_op(input.py(), "conv2d", arguments.work_size(), || arguments.run())
}

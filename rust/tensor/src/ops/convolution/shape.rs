//! The options of a convolution, and the check of its arguments.

use super::OP;
use crate::error::Tuple;
use crate::layout::checked_numel;
use crate::ops::elementwise::operand::{check_device, check_numeric, check_same_dtype};
use crate::products::ConvGeometry;
use crate::{Error, Result, Tensor};

/// The largest padding for which no size of a padded image overflows.
const LARGEST_PADDING: i64 = i64::MAX / 4;

/// The zeros around the images of a convolution.
///
/// ```
/// use interlock_tensor::ConvPadding;
///
/// assert_ne!(ConvPadding::Sizes([0, 0]), ConvPadding::Same);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvPadding {
    /// Rows above and below, and columns on the left and the right.
    Sizes([i64; 2]),
    /// As many that the output has the size of the input; an odd one is after the last row or column.
    Same,
    /// None.
    Valid,
}

/// The options of [`Tensor::conv2d`]. Pairs are of rows and columns.
///
/// ```
/// use interlock_tensor::{ConvOptions, DType, Tensor};
///
/// let (image, weight) = (Tensor::ones(&[1, 1, 6, 6], DType::Float32)?, Tensor::ones(&[1, 1, 2, 2], DType::Float32)?);
/// let options = ConvOptions { stride: [2, 3], ..ConvOptions::default() };
/// assert_eq!(image.conv2d(&weight, &options)?.shape(), [1, 1, 3, 2]);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConvOptions<'a> {
    /// A number for each filter, which is added to its output.
    pub bias: Option<&'a Tensor>,
    /// The distance between two positions of a filter.
    pub stride: [i64; 2],
    /// The zeros around the images.
    pub padding: ConvPadding,
    /// The distance between two elements of a filter.
    pub dilation: [i64; 2],
    /// The number of groups of channels, each of which has its own filters.
    pub groups: i64,
}

impl Default for ConvOptions<'_> {
    fn default() -> Self {
        ConvOptions {
            bias: None,
            stride: [1, 1],
            padding: ConvPadding::Sizes([0, 0]),
            dilation: [1, 1],
            groups: 1,
        }
    }
}

/// Returns a pair whose numbers are at least `least`.
fn pair(argument: &'static str, given: [i64; 2], least: i64) -> Result<[usize; 2]> {
    let err_value = || {
        let expected = if least == 0 { "not be negative" } else { "be positive" };
        Error::value(OP, argument, expected, Tuple(&given))
    };
    let [rows, columns] = given.map(|number| usize::try_from(number).ok().filter(|_| number >= least));
    rows.zip(columns).map(<[usize; 2]>::from).ok_or_else(err_value)
}

/// Returns an error unless the types and devices of the arguments agree.
fn check_tensors(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<()> {
    check_numeric(OP, "input", input.dtype(), "; float() converts it")?;
    for other in [weight].into_iter().chain(bias) {
        check_same_dtype(OP, input, other)?;
        check_device(OP, input, other)?;
    }
    Ok(())
}

/// Returns the zeros before the first element of an axis, and the size of the output, or `None` if the filter is larger than
/// the input with its zeros. Without `padding` the output has the size of the input.
fn padding_and_output(
    [input, kernel]: [usize; 2],
    stride: usize,
    dilation: usize,
    padding: Option<usize>,
) -> Option<[usize; 2]> {
    // The distance between the first and the last element that a filter covers, plus one.
    let extent = kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
    let Some(padding) = padding else { return Some([(extent - 1) / 2, input]) };
    let padded = padding.checked_mul(2)?.checked_add(input)?;
    Some([padding, padded.checked_sub(extent)? / stride + 1])
}

/// Returns the sizes and options of a convolution, or an error if the arguments do not fit.
pub(super) fn geometry(input: &Tensor, weight: &Tensor, options: &ConvOptions<'_>) -> Result<ConvGeometry> {
    let (batch, [channels, rows, columns]) = match *input.shape() {
        [channels, rows, columns] => (1, [channels, rows, columns]),
        [batch, channels, rows, columns] => (batch, [channels, rows, columns]),
        _ => {
            let expected = "have 4 dimensions (batch, channels, rows, columns), or 3 without a batch";
            return Err(Error::shape(OP, "input", expected, input.shape()));
        }
    };
    let [filters, of_group, kernel_rows, kernel_columns] = *weight.shape() else {
        let expected = "have 4 dimensions (filters, channels / groups, rows, columns)";
        return Err(Error::shape(OP, "weight", expected, weight.shape()));
    };
    check_tensors(input, weight, options.bias)?;
    let (stride, dilation) = (pair("stride", options.stride, 1)?, pair("dilation", options.dilation, 1)?);
    let err_groups = || Error::value(OP, "groups", "be positive", options.groups);
    let groups = usize::try_from(options.groups).ok().filter(|&groups| groups > 0).ok_or_else(err_groups)?;
    let padding = match options.padding {
        ConvPadding::Sizes(sizes) => pair("padding", sizes, 0)?.map(Some),
        ConvPadding::Valid => [Some(0); 2],
        ConvPadding::Same if stride == [1, 1] => [None; 2],
        ConvPadding::Same => {
            let expected = "be ints or 'valid' if stride is not 1";
            return Err(Error::value(OP, "padding", expected, "'same'"));
        }
    };
    if filters == 0 || filters % groups != 0 {
        let expected = format!("have a positive number of filters that groups ({groups}) divides");
        return Err(Error::shape(OP, "weight", expected, weight.shape()));
    }
    if of_group.checked_mul(groups) != Some(channels) {
        let problem = format!(
            "input must have {of_group} * {groups} channels, the second size of weight times groups, got {channels},"
        );
        return Err(Error::shapes(OP, problem, input.shape(), weight.shape()));
    }
    if let Some(bias) = options.bias
        && bias.shape() != [filters]
    {
        let expected = format!("have shape ({filters},), one number a filter");
        return Err(Error::shape(OP, "bias", expected, bias.shape()));
    }
    if [rows, columns].contains(&0) {
        return Err(Error::shape(OP, "input", "have rows and columns", input.shape()));
    }
    if let ConvPadding::Sizes(sizes) = options.padding
        && sizes.iter().any(|&size| size > LARGEST_PADDING)
    {
        let expected = format!("be at most {LARGEST_PADDING}");
        return Err(Error::value(OP, "padding", expected, Tuple(&sizes)));
    }
    let down = padding_and_output([rows, kernel_rows], stride[0], dilation[0], padding[0]);
    let across = padding_and_output([columns, kernel_columns], stride[1], dilation[1], padding[1]);
    let (Some([padding_rows, output_rows]), Some([padding_columns, output_columns])) = (down, across) else {
        let problem =
            "weight must have rows and columns, and with its dilation be no larger than the padded input,";
        return Err(Error::shapes(OP, problem, input.shape(), weight.shape()));
    };
    let geometry = ConvGeometry {
        batch,
        groups,
        channels: of_group,
        filters: filters / groups,
        input: [rows, columns],
        kernel: [kernel_rows, kernel_columns],
        output: [output_rows, output_columns],
        stride,
        dilation,
        padding: [padding_rows, padding_columns],
    };
    checked_numel(OP, &geometry.output_shape(), input.dtype().size())?;
    Ok(geometry)
}

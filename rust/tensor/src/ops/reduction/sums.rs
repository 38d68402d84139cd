//! Reductions: sum, mean, minimum and maximum.

use crate::dtype::{Bool8, dispatch_compute, dispatch_float};
use crate::error::Tuple;
use crate::iterate::reduce;
use crate::layout::{distinct_dims, signed_sizes};
use crate::loops;
use crate::ops::elementwise::operand::check_floating_point;
use crate::ops::elementwise::selection::zero_where;
use crate::recording::NodeBuilder;
use crate::{DType, Element, Error, ErrorKind, Result, Tensor, iterate};

/// The reduced dimensions of a tensor, and the result shapes without them (`squeezed_shape`) and with them as size 1
/// (`keepdim_shape`).
pub(crate) struct ReducedDims {
    pub mask: Vec<bool>,
    squeezed_shape: Vec<usize>,
    keepdim_shape: Vec<usize>,
    /// The number of elements that are reduced to one.
    pub count: usize,
}

pub(crate) fn reduced_dims(op: &'static str, shape: &[usize], dims: Option<&[i64]>) -> Result<ReducedDims> {
    let mask = match dims {
        // As in PyTorch an empty list of dimensions reduces all dimensions.
        None | Some([]) => vec![true; shape.len()],
        Some(dims) => distinct_dims(op, "dim", dims, shape.len())?,
    };
    let marked = || shape.iter().copied().zip(mask.iter().copied());
    let squeezed_shape = marked().filter(|&(_, mark)| !mark).map(|(size, _)| size).collect();
    let keepdim_shape = marked().map(|(size, mark)| if mark { 1 } else { size }).collect();
    let count = marked().filter(|&(_, mark)| mark).map(|(size, _)| size).product();
    Ok(ReducedDims { squeezed_shape, keepdim_shape, count, mask })
}

impl ReducedDims {
    /// Returns the shape of the result.
    pub fn shape(&self, keepdim: bool) -> &[usize] {
        if keepdim { &self.keepdim_shape } else { &self.squeezed_shape }
    }
}

/// Returns the error for an extreme of no elements. As in PyTorch it is an index error where a dimension is empty.
pub(crate) fn err_nothing_to_reduce(op: &'static str, shape: &[usize], is_over_dims: bool) -> Error {
    let kind = if is_over_dims { ErrorKind::Index } else { ErrorKind::Shape };
    let message = format!("must have no reduced dimension of size 0, got shape {}", Tuple(shape));
    Error::argument(kind, op, "input", message)
}

/// The kind of an extreme-value reduction.
#[derive(Clone, Copy)]
pub(crate) struct Extreme {
    largest: bool,
    /// Whether the gradient is multiplied by the mask of the extreme elements, so that a non-finite gradient reaches
    /// the other elements as NaN.
    propagates_nan: bool,
}

impl Extreme {
    const LARGEST: Self = Extreme { largest: true, propagates_nan: false };
    const SMALLEST: Self = Extreme { largest: false, propagates_nan: false };
    pub const LARGEST_OVER_DIMS: Self = Extreme { largest: true, propagates_nan: true };
    pub const SMALLEST_OVER_DIMS: Self = Extreme { largest: false, propagates_nan: true };
}

/// Returns a mask of the elements that are not the extreme of their group. If a group contains NaN, its extremes are
/// all NaN elements.
fn not_extreme(elements: &Tensor, best: &Tensor) -> Result<Tensor> {
    dispatch_compute!(elements.dtype(), T => {
        iterate::zip("ne", (DType::Bool, elements.shape()), elements, best, |element: T, best: T| {
            Bool8::new(element != best && !(element.is_nan() && best.is_nan()))
        })
    })
}

/// Sums over broadcast dimensions so that the result has `shape`: ATen's `sum_to`.
pub(crate) fn sum_to(tensor: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if tensor.shape() == shape {
        return Ok(tensor.clone());
    }
    let new = tensor.ndim().saturating_sub(shape.len());
    let aligned = std::iter::repeat_n(1, new).chain(shape.iter().copied());
    let dims: Vec<i64> = (0i64..)
        .zip(tensor.shape().iter().zip(aligned))
        .filter(|&(dim, (&size, wanted))| {
            (wanted == 1 && size != 1) || usize::try_from(dim).is_ok_and(|d| d < new)
        })
        .map(|(dim, _)| dim)
        .collect();
    let summed = if dims.is_empty() { tensor.clone() } else { tensor.sum(Some(&dims), true)? };
    summed.reshaped(shape)
}

/// Records that `out` has an element of each group of `input`. Its gradient is shared by the elements that are equal to it.
///
/// With `propagates_nan` the gradient is multiplied by the mask of these elements, so that a non-finite gradient reaches the
/// other elements as NaN.
pub(crate) fn record_shared(
    node: &'static str,
    input: &Tensor,
    out: &Tensor,
    over: ReducedDims,
    propagates_nan: bool,
) -> Result<()> {
    let Some(mut builder) = NodeBuilder::new(node, &[input])? else { return Ok(()) };
    let (input, output) = (builder.save(input)?, builder.save_output(out)?);
    let ones = over.keepdim_shape;
    let dims: Vec<i64> = (0i64..).zip(&over.mask).filter(|(_, mark)| **mark).map(|(dim, _)| dim).collect();
    builder.set_history(out, move |ctx, gradient| {
        let best = ctx.saved(output)?.detach().reshaped(&ones)?;
        let passed = not_extreme(&ctx.saved(input)?.detach(), &best)?;
        let chosen = passed.logical_not()?.cast(gradient.dtype())?;
        let share = gradient.reshaped(&ones)?.div(&chosen.sum(Some(&dims), true)?)?;
        // As in PyTorch a non-finite gradient reaches all elements of amax and amin as NaN.
        Ok(vec![Some(if propagates_nan { share.mul(&chosen)? } else { zero_where(&passed, &share)? })])
    })
}

impl Tensor {
    /// Returns the sum of all elements or over `dims`. Integers and bools are summed as `int64`.
    pub fn sum(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let over = reduced_dims("sum", self.shape(), dims)?;
        let out = iterate::sum("sum", self, &over.mask, over.shape(keepdim))?;
        let node = if dims.is_some() { "SumBackward1" } else { "SumBackward0" };
        if let Some(builder) = NodeBuilder::new(node, &[self])? {
            let (ones, before) = (over.keepdim_shape, signed_sizes(self.shape()));
            builder.set_history(&out, move |_, gradient| {
                Ok(vec![Some(gradient.reshaped(&ones)?.expand(&before)?)])
            })?;
        }
        Ok(out)
    }

    /// Returns the sum of the elements that are not NaN, of all or over `dims`. Integers and bools are summed as `int64`.
    pub fn nansum(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let op = "nansum";
        let over = reduced_dims(op, self.shape(), dims)?;
        let numbers = if self.dtype().is_floating_point() {
            dispatch_float!(self.dtype(), T => {
                iterate::map(op, self, |value: T| if value.is_nan() { T::default() } else { value })
            })?
        } else {
            self.detach()
        };
        let out = iterate::sum(op, &numbers, &over.mask, over.shape(keepdim))?;
        if let Some(builder) = NodeBuilder::new("NansumBackward0", &[self])? {
            let ones = over.keepdim_shape;
            builder.set_history_saving(self, &out, move |input, gradient| {
                zero_where(&input.detach().isnan()?, &gradient.reshaped(&ones)?)
            })?;
        }
        Ok(out)
    }

    /// Returns the mean of all elements or over `dims`. Only for floating-point tensors.
    pub fn mean(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        let op = "mean";
        check_floating_point(op, self)?;
        let over = reduced_dims(op, self.shape(), dims)?;
        let total = iterate::mean(op, self, &over.mask, over.shape(keepdim), over.count)?;
        let node = if dims.is_some() { "MeanBackward1" } else { "MeanBackward0" };
        if let Some(builder) = NodeBuilder::new(node, &[self])? {
            // An empty tensor has an empty gradient, which must not become NaN when it is summed.
            let (ones, before, count) =
                (over.keepdim_shape, signed_sizes(self.shape()), over.count.max(1) as f64);
            builder.set_history(&total, move |_, gradient| {
                // As in PyTorch the gradient has memory for each element, so that it can be changed in place.
                Ok(vec![Some(gradient.reshaped(&ones)?.expand(&before)?.div(count)?)])
            })?;
        }
        Ok(total)
    }

    /// Returns the [`mean`](Tensor::mean) as `dtype`. As in PyTorch elements of another dtype are not rounded to a half-precision
    /// one: their mean is.
    pub fn mean_as(&self, dims: Option<&[i64]>, keepdim: bool, dtype: DType) -> Result<Tensor> {
        let is_rounded = dtype.is_half() && dtype != self.dtype();
        let computed = if is_rounded { dtype.compute() } else { dtype };
        self.cast(computed)?.mean(dims, keepdim)?.cast(dtype)
    }

    /// Returns the maximum of all elements or over `dims`; NaN if any element is NaN. Equal maxima share the
    /// gradient.
    pub fn amax(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        self.extreme("amax", "AmaxBackward0", dims, keepdim, Extreme::LARGEST_OVER_DIMS)
    }

    /// Returns the minimum of all elements or over `dims`; NaN if any element is NaN. Equal minima share the
    /// gradient.
    pub fn amin(&self, dims: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
        self.extreme("amin", "AminBackward0", dims, keepdim, Extreme::SMALLEST_OVER_DIMS)
    }

    /// Returns the maximum of all elements.
    pub fn max(&self) -> Result<Tensor> {
        self.extreme("max", "MaxBackward1", None, false, Extreme::LARGEST)
    }

    /// Returns the minimum of all elements.
    pub fn min(&self) -> Result<Tensor> {
        self.extreme("min", "MinBackward1", None, false, Extreme::SMALLEST)
    }

    pub(crate) fn extreme(
        &self,
        op: &'static str,
        node: &'static str,
        dims: Option<&[i64]>,
        keepdim: bool,
        Extreme { largest, propagates_nan }: Extreme,
    ) -> Result<Tensor> {
        let over = reduced_dims(op, self.shape(), dims)?;
        if over.count == 0 {
            return Err(err_nothing_to_reduce(op, self.shape(), dims.is_some_and(|dims| !dims.is_empty())));
        }
        let out = dispatch_compute!(self.dtype(), T => {
            let to = (over.shape(keepdim), self.dtype());
            if largest {
                reduce(op, self, &over.mask, to, &loops::largest_of::<T>())
            } else {
                reduce(op, self, &over.mask, to, &loops::smallest_of::<T>())
            }
        })?;
        record_shared(node, self, &out, over, propagates_nan)?;
        Ok(out)
    }
}

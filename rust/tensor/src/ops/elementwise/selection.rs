//! Selection of elements by a condition, and limits of elements.

use super::arithmetic::promote;
use super::operand::{Numbers, Operand, check_bool, result_type};
use super::pairs::{maximum_gradient, minimum_gradient};
use crate::dtype::{Bool8, dispatch_compute, dispatch_float, dispatch_size, larger, smaller};
use crate::error::{check_fills, check_fits};
use crate::layout::broadcast;
use crate::recording::{BackwardContext, Gradients, NodeBuilder};
use crate::{DType, Error, Result, Tensor, iterate, loops};

/// Returns `x` where `condition` is true and `y` elsewhere: `torch.where`. Shapes are broadcast and types promoted.
pub fn where_cond<'a>(
    condition: &Tensor,
    x: impl Into<Operand<'a>>,
    y: impl Into<Operand<'a>>,
) -> Result<Tensor> {
    where_of(condition, (x.into(), y.into()))
}

fn where_of(condition: &Tensor, operands: (Operand<'_>, Operand<'_>)) -> Result<Tensor> {
    let op = "where";
    check_bool(op, "condition", condition)?;
    let dtype = result_type(&[operands.0, operands.1]);
    for (argument, operand) in [("input", operands.0), ("other", operands.1)] {
        if let Operand::Scalar(number) = operand {
            check_fills(number, dtype, op, argument)?;
        }
    }
    let operands = promote(op, operands, Numbers::Rounded, |dtype| dtype)?;
    let shape = broadcast(op, condition.shape(), &operands.shape)?;
    let (x, y) = (iterate::bits(&operands.a), iterate::bits(&operands.b));
    let sources = [&condition.detach(), &x, &y];
    let out = dispatch_size!(operands.dtype, T => {
        iterate::zip3(op, (x.dtype(), &shape), sources, |chosen: Bool8, x: T, y: T| if chosen.get() { x } else { y })
    })?;
    let out = iterate::reinterpret(&out, operands.dtype);
    if let Some(mut builder) = NodeBuilder::new("WhereBackward0", &[&operands.left, &operands.right])? {
        let saved = builder.save(condition)?;
        // The engine sums over broadcast dimensions.
        builder.set_history(&out, move |ctx, gradient| {
            let condition = ctx.saved(saved)?;
            Ok(vec![
                ctx.gradient(0, || zero_where(&condition.logical_not()?, gradient))?,
                ctx.gradient(1, || zero_where(&condition, gradient))?,
            ])
        })?;
    }
    Ok(out)
}

/// Returns `values` with 0 where `mask` is true: `torch.where(mask, 0, values)`. Both are broadcast. Unlike a product
/// with the mask this also replaces infinities and NaN.
pub(crate) fn zero_where(mask: &Tensor, values: &Tensor) -> Result<Tensor> {
    let op = "where";
    let shape = broadcast(op, mask.shape(), values.shape())?;
    let out = dispatch_float!(values.dtype(), T => {
        iterate::zip(op, (values.dtype(), &shape), mask, &values.detach(), |mask: Bool8, value: T| {
            if mask.get() { T::default() } else { value }
        })
    })?;
    if let Some(builder) = NodeBuilder::new("WhereBackward0", &[values])? {
        // The engine sums over broadcast dimensions.
        builder.set_history_saving(mask, &out, zero_where)?;
    }
    Ok(out)
}

/// Returns `input` limited to the range from `min` to `max`, of which one may be `None`. If `min` is larger than `max`,
/// all elements are `max`. NaN is preserved, and a limit of NaN makes elements NaN.
pub fn clamp(input: &Tensor, min: Option<Operand<'_>>, max: Option<Operand<'_>>) -> Result<Tensor> {
    let op = "clamp";
    if min.is_none() && max.is_none() {
        return Err(Error::value(op, "min or max", "not be None", "None for both"));
    }
    let operands: Vec<Operand<'_>> = [Some(input.into()), min, max].into_iter().flatten().collect();
    let dtype = result_type(&operands);
    // PyTorch computes one limit of bools as `maximum` or `minimum`, if it is a tensor.
    if dtype == DType::Bool && !matches!(operands.as_slice(), [_, Operand::Tensor(_)]) {
        return Err(Error::not_numeric(op, "the promoted dtype", "; long() converts it"));
    }
    let (min, max) = (limit_of("min", min, dtype, true)?, limit_of("max", max, dtype, false)?);
    let out = limited(op, &iterate::cast(&input.detach(), dtype)?, min.as_ref(), max.as_ref())?;
    let has_tensor_limit = operands.iter().skip(1).any(|limit| matches!(limit, Operand::Tensor(_)));
    let node = if has_tensor_limit { "ClampBackward0" } else { "ClampBackward1" };
    let limits: Vec<&Tensor> = min.iter().chain(&max).collect();
    let inputs: Vec<&Tensor> = std::iter::once(input).chain(limits).collect();
    if let Some(mut builder) = NodeBuilder::new(node, &inputs)? {
        let (has_min, has_max) = (min.is_some(), max.is_some());
        for input in &inputs {
            builder.save(input)?;
        }
        builder.set_history(&out, move |ctx, gradient| {
            let x = ctx.saved(0)?.detach();
            let min = if has_min { Some(ctx.saved(1)?.detach()) } else { None };
            let max = if has_max { Some(ctx.saved(1 + usize::from(has_min))?.detach()) } else { None };
            clamp_gradients(ctx, gradient, &x, (min.as_ref(), max.as_ref()), has_tensor_limit)
        })?;
    }
    Ok(out)
}

/// Returns a limit as a tensor of the result's type, or `None` if it limits nothing: a lower limit may be below the range
/// of integers, and an upper limit above it.
fn limit_of(
    argument: &'static str,
    given: Option<Operand<'_>>,
    dtype: DType,
    is_lower: bool,
) -> Result<Option<Tensor>> {
    let Some(given) = given else { return Ok(None) };
    if let Operand::Scalar(number) = given {
        let is_negative = number.cast::<i64>() < 0;
        let wraps = dtype == DType::UInt8 && is_negative;
        if dtype.is_integer() && (wraps || !number.fits(dtype)) && is_negative == is_lower {
            return Ok(None);
        }
        Error::when(wraps, || Error::out_of_bounds("clamp", argument, number, dtype))?;
        check_fits(number, dtype, "clamp", argument)?;
    }
    given.tensor(dtype).map(Some)
}

/// Returns the elements within the limits that are given. Nothing is recorded.
fn limited(op: &'static str, input: &Tensor, min: Option<&Tensor>, max: Option<&Tensor>) -> Result<Tensor> {
    let dtype = input.dtype();
    let mut shape = input.shape().to_vec();
    for limit in min.iter().chain(&max) {
        shape = broadcast(op, &shape, limit.shape())?;
    }
    let plain = |limit: &Tensor| iterate::cast(&limit.detach(), dtype);
    let (min, max) = (min.map(plain).transpose()?, max.map(plain).transpose()?);
    dispatch_compute!(dtype, T => {
        let to = (dtype, shape.as_slice());
        match (&min, &max) {
            (None, None) => Ok(input.clone()),
            (Some(min), None) => iterate::zip_with(op, to, input, min, &loops::zip_or_right_number(larger::<T>)),
            (None, Some(max)) => iterate::zip_with(op, to, input, max, &loops::zip_or_right_number(smaller::<T>)),
            (Some(min), Some(max)) if [min, max].iter().all(|limit| limit.ndim() == 0 && !limit.is_on_device()) => {
                let (min, max): (T, T) = (min.item()?.cast(), max.item()?.cast());
                iterate::map(op, input, move |x: T| smaller(larger(x, min), max))
            }
            (Some(min), Some(max)) => {
                iterate::zip3(op, to, [input, min, max], |x: T, min, max| smaller(larger(x, min), max))
            }
        }
    })
}

/// Returns the gradients of the input and of the limits that are given. The gradient of an element at a limit is 0 if
/// all limits are numbers, and is shared with the limit otherwise.
fn clamp_gradients(
    ctx: &BackwardContext<'_>,
    gradient: &Tensor,
    x: &Tensor,
    (min, max): (Option<&Tensor>, Option<&Tensor>),
    has_tensor_limit: bool,
) -> Result<Gradients> {
    if !has_tensor_limit {
        return Ok(vec![Some(zero_where(&is_inside(x, min, max)?.logical_not()?, gradient)?)]);
    }
    match (min, max) {
        (Some(min), Some(max)) => gradients_of_both(ctx, gradient, x, min, max),
        (Some(min), None) => Ok(vec![
            ctx.gradient(0, || maximum_gradient(gradient, x, min))?,
            ctx.gradient(1, || maximum_gradient(gradient, min, x))?,
        ]),
        (None, Some(max)) => Ok(vec![
            ctx.gradient(0, || minimum_gradient(gradient, x, max))?,
            ctx.gradient(1, || minimum_gradient(gradient, max, x))?,
        ]),
        (None, None) => Ok(vec![Some(gradient.clone())]),
    }
}

/// Returns where an element is strictly between the limits, which NaN is not.
fn is_inside(x: &Tensor, min: Option<&Tensor>, max: Option<&Tensor>) -> Result<Tensor> {
    match (min, max) {
        (Some(min), Some(max)) => x.greater(min)?.mul(&x.less(max)?),
        (Some(min), None) => x.greater(min),
        (None, Some(max)) => x.less(max),
        (None, None) => x.equal(x),
    }
}

/// Returns the gradients of the input and of two limits. As in PyTorch an element shares its gradient with a limit that
/// it equals only if the lower limit is less than the upper one, and comparisons with NaN are false.
fn gradients_of_both(
    ctx: &BackwardContext<'_>,
    gradient: &Tensor,
    x: &Tensor,
    min: &Tensor,
    max: &Tensor,
) -> Result<Gradients> {
    let is_ordered = min.less(max)?;
    let shares_with = |limit: &Tensor| x.equal(limit)?.mul(&is_ordered);
    // Half of the gradient where it is shared with a limit, and all of it where only the limit has one.
    let of_limit = |limit: &Tensor, is_alone: Tensor| {
        let shared = where_cond(&shares_with(limit)?, &gradient.div(2.0)?, gradient)?;
        // The sum of bools is the logical or.
        zero_where(&is_alone.add(&shares_with(limit)?)?.logical_not()?, &shared)
    };
    let of_input = || {
        let shares = shares_with(min)?.add(&shares_with(max)?)?;
        let shared = where_cond(&shares, &gradient.div(2.0)?, gradient)?;
        zero_where(&x.less(min)?.add(&x.greater(max)?)?, &shared)
    };
    Ok(vec![
        ctx.gradient(0, of_input)?,
        ctx.gradient(1, || of_limit(min, x.less(min)?.mul(&min.less_equal(max)?)?))?,
        ctx.gradient(2, || of_limit(max, max.less(min)?.add(&x.greater(max)?.mul(&min.less_equal(max)?)?)?))?,
    ])
}

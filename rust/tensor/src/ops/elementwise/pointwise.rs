//! Interpolation, and products and quotients that are scaled and added.

use super::arithmetic::{divide, subtract};
use super::operand::{Operand, check_numeric, result_type};
use crate::dtype::{dispatch_compute, dispatch_float};
use crate::error::check_factor;
use crate::layout::broadcast;
use crate::recording::NodeBuilder;
use crate::{DType, Element, Error, Result, Scalar, Tensor, iterate};

/// Returns the shape to which three tensors are broadcast.
fn broadcast3(op: &'static str, [a, b, c]: [&Tensor; 3]) -> Result<Vec<usize>> {
    broadcast(op, a.shape(), &broadcast(op, b.shape(), c.shape())?)
}

/// Returns `start + weight * (end - start)`, elementwise. The weight is a number or a tensor.
///
/// # Errors
/// Fails unless `start` and `end` have the same floating-point type.
pub fn lerp<'a>(start: &Tensor, end: &Tensor, weight: impl Into<Operand<'a>>) -> Result<Tensor> {
    lerp_by(start, end, weight.into())
}

fn lerp_by(start: &Tensor, end: &Tensor, weight: Operand<'_>) -> Result<Tensor> {
    let (op, dtype) = ("lerp", start.dtype());
    Error::when(!dtype.is_floating_point(), || Error::not_floating_point(op, "input", dtype))?;
    Error::when(end.dtype() != dtype, || Error::dtypes(op, dtype, end.dtype()))?;
    let is_number = matches!(weight, Operand::Scalar(_));
    let (node, given) = match weight {
        Operand::Scalar(_) => ("LerpBackward0", weight.tensor(dtype.compute())?),
        Operand::Tensor(weight) if weight.ndim() > 0 && weight.dtype() != dtype => {
            return Err(Error::dtypes(op, dtype, weight.dtype()));
        }
        Operand::Tensor(weight) => ("LerpBackward1", weight.clone()),
    };
    let shape = broadcast3(op, [start, end, &given])?;
    let weight = iterate::cast(&given.detach(), dtype.compute())?;
    let sources = [&start.detach(), &end.detach(), &weight];
    let out = dispatch_float!(dtype, T => {
        // Exact at both ends: from the start for small weights, from the end for large ones.
        iterate::zip3(op, (dtype, &shape), sources, |start: T, end: T, weight: T| {
            if weight.abs() < 0.5 { start + weight * (end - start) } else { end - (end - start) * (1.0 - weight) }
        })
    })?;
    if let Some(mut builder) = NodeBuilder::new(node, &[start, end, &given])? {
        // A number is part of the node, which a backward pass does not free.
        let saved = if is_number {
            None
        } else {
            Some(builder.save_for(if builder.needs(0) { 0 } else { 1 }, &given)?)
        };
        let (start, end) = (builder.save_for(2, start)?, builder.save_for(2, end)?);
        builder.set_history(&out, move |ctx, gradient| {
            let weight =
                || saved.map_or_else(|| Ok(given.clone()), |saved| ctx.saved(saved))?.cast(gradient.dtype());
            Ok(vec![
                ctx.gradient(0, || gradient.mul(&subtract(1.0, &weight()?)?))?,
                ctx.gradient(1, || gradient.mul(&weight()?))?,
                ctx.gradient(2, || gradient.mul(&ctx.saved(end)?.sub(&ctx.saved(start)?)?))?,
            ])
        })?;
    }
    Ok(out)
}

/// Returns `input + value * factor1 * factor2`, elementwise. For integers `value` is truncated.
///
/// # Errors
/// Fails if all tensors are bool, or if the type of the result cannot hold `value`.
pub fn addcmul(input: &Tensor, factor1: &Tensor, factor2: &Tensor, value: Scalar) -> Result<Tensor> {
    let op = "addcmul";
    let tensors = [input, factor1, factor2];
    let (dtype, shape) = promoted(op, tensors, value)?;
    let sources = promoted_sources(tensors, dtype)?;
    let out = dispatch_compute!(dtype, T => {
        let value: T = value.cast();
        iterate::zip3(op, (dtype, &shape), sources.each_ref(), move |x: T, a: T, b: T| {
            x.plus(value.times(a).times(b))
        })
    })?;
    if let Some(mut builder) = NodeBuilder::new("AddcmulBackward0", &tensors)? {
        let (second, first) = (builder.save_for(1, factor2)?, builder.save_for(2, factor1)?);
        builder.set_history(&out, move |ctx, gradient| {
            Ok(vec![
                Some(gradient.clone()),
                ctx.gradient(1, || gradient.mul(&ctx.saved(second)?.mul(value)?))?,
                ctx.gradient(2, || gradient.mul(&ctx.saved(first)?.mul(value)?))?,
            ])
        })?;
    }
    Ok(out)
}

/// Returns `input + value * dividend / divisor`, elementwise.
///
/// # Errors
/// Fails if neither `dividend` nor `divisor` is floating point, or if the type of the result cannot hold `value`.
pub fn addcdiv(input: &Tensor, dividend: &Tensor, divisor: &Tensor, value: Scalar) -> Result<Tensor> {
    let op = "addcdiv";
    if !dividend.dtype().is_floating_point() && !divisor.dtype().is_floating_point() {
        let error = Error::dtype(op, "tensor1", "floating point unless tensor2 is", dividend.dtype());
        return Err(error.with_hint("; float() converts it"));
    }
    let tensors = [input, dividend, divisor];
    let (dtype, shape) = promoted(op, tensors, value)?;
    let sources = promoted_sources(tensors, dtype)?;
    let out = dispatch_float!(dtype, T => {
        let value: T = value.cast();
        iterate::zip3(op, (dtype, &shape), sources.each_ref(), move |x: T, a: T, b: T| x + value * a / b)
    })?;
    if let Some(mut builder) = NodeBuilder::new("AddcdivBackward0", &tensors)? {
        let divisor = builder.save_for(if builder.needs(1) { 1 } else { 2 }, divisor)?;
        let dividend = builder.save_for(2, dividend)?;
        builder.set_history(&out, move |ctx, gradient| {
            let divisor = || ctx.saved(divisor);
            Ok(vec![
                Some(gradient.clone()),
                ctx.gradient(1, || gradient.mul(&divide(Operand::Scalar(value), &divisor()?)?))?,
                ctx.gradient(2, || {
                    let divisor = divisor()?;
                    let ratio = ctx.saved(dividend)?.mul(value)?.div(&divisor.mul(&divisor)?)?;
                    gradient.mul(&ratio)?.neg()
                })?,
            ])
        })?;
    }
    Ok(out)
}

/// Returns the promoted type and the shape of three tensors.
fn promoted(op: &'static str, tensors: [&Tensor; 3], value: Scalar) -> Result<(DType, Vec<usize>)> {
    let dtype = result_type(&tensors.map(Operand::Tensor));
    check_numeric(op, "input", dtype, "; long() converts it")?;
    check_factor(value, dtype, op, "value")?;
    Ok((dtype, broadcast3(op, tensors)?))
}

fn promoted_sources([a, b, c]: [&Tensor; 3], dtype: DType) -> Result<[Tensor; 3]> {
    let convert = |tensor: &Tensor| iterate::cast(&tensor.detach(), dtype);
    Ok([convert(a)?, convert(b)?, convert(c)?])
}

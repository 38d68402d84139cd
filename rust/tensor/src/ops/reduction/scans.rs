//! Cumulative sums and products.

use super::along_dim::Rows;
use super::cumulative_products;
use crate::dtype::dispatch_float;
use crate::iterate::apply_along_last_dim;
use crate::recording::NodeBuilder;
use crate::{DType, Element, Result, Tensor, iterate};

/// Returns the sums of the elements along `dim` up to each, or from each on if `is_reverse`. 16-bit floats and `float32`
/// are summed in the next wider type.
fn sums(tensor: &Tensor, dim: i64, is_reverse: bool) -> Result<Tensor> {
    let op = "cumsum";
    let rows = Rows::in_compute_type(op, tensor, dim)?;
    let (source, length) = (&rows.rows, rows.length);
    let out = match tensor.dtype() {
        DType::Float64 => scan::<f64, f64>(op, source, length, f64::plus, is_reverse),
        DType::Float32 => scan::<f32, f64>(op, source, length, f64::plus, is_reverse),
        dtype if dtype.is_half() => scan::<f32, f32>(op, source, length, f32::plus, is_reverse),
        _ => scan::<i64, i64>(op, source, length, i64::plus, is_reverse),
    };
    rows.restore(&iterate::cast(&out?, tensor.dtype())?)
}

/// Returns the elements in the type of their totals: bools and integers are accumulated as `int64`.
pub(crate) fn widened(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dtype().is_floating_point() { Ok(tensor.clone()) } else { tensor.cast(DType::Int64) }
}

/// Returns the sums of the elements up to each, or from each on if `reverse` is set.
fn cumulative_sum(tensor: &Tensor, dim: i64, reverse: bool) -> Result<Tensor> {
    let out = sums(tensor, dim, reverse)?;
    NodeBuilder::record_linear("CumsumBackward0", tensor, out, move |gradient| {
        cumulative_sum(gradient, dim, !reverse)
    })
}

/// Returns the derivatives in the directions of the cumulative products along `dim`; without directions, the products.
/// All tensors have one shape.
fn cumulative_products(factors: &Tensor, directions: &[Tensor], dim: i64) -> Result<Tensor> {
    let op = "cumprod";
    let rows = Rows::in_compute_type(op, factors, dim)?;
    let out = dispatch_float!(rows.rows.dtype(), T => {
        cumulative_products::cumulative_products::<T>(op, &rows.rows, &rows_of(op, directions, dim)?)
    })?;
    let out = rows.restore(&iterate::cast(&out, factors.dtype())?)?;
    let node = if directions.is_empty() { "CumprodBackward0" } else { "CumprodDerivativeBackward0" };
    record(node, [factors], directions, &out, move |[factors], directions, gradient, input| {
        cumprod_backward(factors, gradient, &without(directions, input), dim)
    })?;
    Ok(out)
}

/// Records that `inputs` and `directions` were combined to `out`. All are saved. `backward` returns the gradient of the
/// input with a number from them and from the gradient of the result.
fn record<const N: usize>(
    node: &'static str,
    inputs: [&Tensor; N],
    directions: &[Tensor],
    out: &Tensor,
    backward: impl Fn(&[Tensor; N], &[Tensor], &Tensor, usize) -> Result<Tensor> + Send + Sync + 'static,
) -> Result<()> {
    let all: Vec<&Tensor> = inputs.into_iter().chain(directions).collect();
    let Some(mut builder) = NodeBuilder::new(node, &all)? else { return Ok(()) };
    let saved = all.into_iter().map(|input| builder.save(input)).collect::<Result<Vec<_>>>()?;
    builder.set_history(out, move |ctx, gradient| {
        let operands = saved.iter().map(|&index| ctx.saved(index)).collect::<Result<Vec<_>>>()?;
        let Some((inputs, directions)) = operands.split_first_chunk() else { return Ok(Vec::new()) };
        let of_input = |input| ctx.gradient(input, || backward(inputs, directions, gradient, input));
        (0..operands.len()).map(of_input).collect()
    })
}

/// Returns the gradient of the factors of [`cumulative_products`](fn@cumulative_products) for the gradient of the products, differentiated in
/// the directions. It divides by no factor, so zeros need no special case.
pub(crate) fn cumprod_backward(
    factors: &Tensor,
    gradient: &Tensor,
    directions: &[Tensor],
    dim: i64,
) -> Result<Tensor> {
    let out = gradients_of_factors("cumprod", factors, gradient, directions, dim)?;
    let inputs = [gradient, factors];
    record(
        "CumprodBackwardBackward0",
        inputs,
        directions,
        &out,
        move |inputs, directions, second, input| {
            let [gradient, factors] = inputs;
            let mut directions = without(directions, input.saturating_sub(1));
            directions.push(second.clone());
            match input {
                0 => cumulative_products(factors, &directions, dim),
                _ => cumprod_backward(factors, gradient, &directions, dim),
            }
        },
    )?;
    Ok(out)
}

/// Computes [`cumprod_backward`] without history. There may also be gradients of the last product along `dim` only.
pub(super) fn gradients_of_factors(
    op: &'static str,
    factors: &Tensor,
    gradient: &Tensor,
    directions: &[Tensor],
    dim: i64,
) -> Result<Tensor> {
    let rows = Rows::in_compute_type(op, factors, dim)?;
    let gradients = Rows::in_compute_type(op, &iterate::cast(gradient, factors.dtype())?, dim)?;
    let out = dispatch_float!(rows.rows.dtype(), T => {
        let directions = rows_of(op, directions, dim)?;
        cumulative_products::cumulative_products_backward::<T>(op, &rows.rows, &gradients.rows, &directions)
    })?;
    rows.restore(&iterate::cast(&out, factors.dtype())?)
}

/// Returns the directions without the one with this number, counted from 1.
fn without(directions: &[Tensor], number: usize) -> Vec<Tensor> {
    let others = (1..).zip(directions).filter(|(at, _)| *at != number);
    others.map(|(_, direction)| direction.clone()).collect()
}

/// Returns the rows of tensors along `dim`.
fn rows_of(op: &'static str, tensors: &[Tensor], dim: i64) -> Result<Vec<Tensor>> {
    tensors.iter().map(|tensor| Ok(Rows::in_compute_type(op, tensor, dim)?.rows)).collect()
}

impl Tensor {
    /// Returns the sums of the elements along `dim` up to each. Integers and bools are summed as `int64`.
    pub fn cumsum(&self, dim: i64) -> Result<Tensor> {
        cumulative_sum(&widened(self)?, dim, false)
    }

    /// Returns the products of the elements along `dim` up to each. Integers and bools are multiplied as `int64`.
    pub fn cumprod(&self, dim: i64) -> Result<Tensor> {
        if self.dtype().is_floating_point() {
            return cumulative_products(self, &[], dim);
        }
        let rows = Rows::of("cumprod", &widened(self)?, dim)?;
        rows.restore(&scan::<i64, i64>("cumprod", &rows.rows, rows.length, i64::times, false)?)
    }
}

/// Combines each element of a row of `length` elements of a contiguous tensor with those before it, or with those behind it
/// if `is_reverse`, in the type `A`.
fn scan<T: Element, A: Element>(
    op: &'static str,
    rows: &Tensor,
    length: usize,
    combine: impl Fn(A, A) -> A + Send + Sync + 'static,
    is_reverse: bool,
) -> Result<Tensor> {
    apply_along_last_dim(op, rows, length, rows.shape(), length, move |row: &[T], out: &mut [T]| {
        let mut total = None;
        let step = |(out, &value): (&mut T, &T)| {
            let next = total.map_or(value.cast(), |total| combine(total, value.cast()));
            (total, *out) = (Some(next), next.cast());
        };
        let items = out.iter_mut().zip(row);
        if is_reverse {
            items.rev().for_each(step)
        } else {
            items.for_each(step)
        }
        Ok(())
    })
}

//! Gradients of products and of cumulative products. They divide by no factor that is 0, and have derivatives of any order.

use super::along_dim::Rows;
use crate::dtype::dispatch_float;
use crate::iterate::{self, zip_rows};
use crate::loops::vectorized;
use crate::ops::elementwise::bitwise::logical_and;
use crate::ops::elementwise::selection::zero_where;
use crate::ops::shape::join::cat;
use crate::recording::{NodeBuilder, is_recording};
use crate::storage::fallible_alloc::try_from_elem;
use crate::{DType, Element, Result, Tensor};

/// Returns the gradient of the factors of a product: its gradient, multiplied by the product of the other factors.
pub(super) fn prod_backward(factors: &Tensor, gradient: &Tensor, dim: Option<i64>) -> Result<Tensor> {
    let Some(dim) = dim.filter(|_| factors.ndim() > 0) else {
        let row = factors.reshaped(&[factors.numel()])?;
        return prod_backward(&row, &gradient.reshaped(&[1])?, Some(0))?.reshaped(factors.shape());
    };
    if !is_recording() {
        return of_rows("prod", true, factors, &gradient.expanded(factors.shape())?, dim);
    }
    let wide = factors.cast(DType::Float64)?;
    let after = products_before(&wide.flip(&[dim])?, dim)?.flip(&[dim])?;
    let others = products_before(&wide, dim)?.mul(&after)?;
    let others = zero_where(&is_overflow_times_zero(&wide, &others, dim)?, &others)?;
    others.mul(&gradient.cast(DType::Float64)?)?.cast(factors.dtype())
}

/// Returns where the product of the other factors is NaN because a part of it overflows, although another factor is 0 and all are
/// finite, so that it should be 0.
fn is_overflow_times_zero(factors: &Tensor, others: &Tensor, dim: i64) -> Result<Tensor> {
    let factors = factors.detach();
    let is_zero = factors.equal(0i64)?.cast(DType::Int64)?;
    let zeros_of_others = is_zero.sum(Some(&[dim]), true)?.sub(&is_zero)?;
    let are_finite = factors.isfinite()?.all_over(Some(&[dim]), true)?;
    logical_and(&logical_and(&others.detach().isnan()?, &zeros_of_others)?, &are_finite)
}

/// Returns the gradient of the factors of cumulative products.
pub(super) fn cumprod_backward(factors: &Tensor, gradient: &Tensor, dim: i64) -> Result<Tensor> {
    if factors.ndim() == 0 {
        let (row, gradient) = (factors.reshaped(&[1])?, gradient.reshaped(&[1])?);
        return cumprod_backward(&row, &gradient, 0)?.reshaped(&[]);
    }
    if !is_recording() {
        return of_rows("cumprod", false, factors, gradient, dim);
    }
    let wide = factors.cast(DType::Float64)?;
    let sums = suffix_sums(&wide, &gradient.cast(DType::Float64)?, dim)?;
    products_before(&wide, dim)?.mul(&sums)?.cast(factors.dtype())
}

/// Returns the product of the factors before each along a dimension.
fn products_before(factors: &Tensor, dim: i64) -> Result<Tensor> {
    delayed(factors, 1.0, dim)?.cumprod(dim)
}

/// Returns the elements one position later along a dimension; this number is the first one.
fn delayed(tensor: &Tensor, first: f64, dim: i64) -> Result<Tensor> {
    let (without_last, last) = (tensor.slice(dim, None, Some(-1), 1)?, tensor.slice(dim, Some(-1), None, 1)?);
    cat(&[Tensor::full(last.shape(), first.into(), last.options())?, without_last], dim)
}

/// Returns for each position along a dimension the sum of the gradients from it on, each multiplied by the factors between
/// the two: `sums[i] = gradients[i] + factors[i + 1] * sums[i + 1]`.
fn suffix_sums(factors: &Tensor, gradients: &Tensor, dim: i64) -> Result<Tensor> {
    let op = "cumprod";
    let (rows, of_gradients) = (Rows::of(op, factors, dim)?, Rows::of(op, gradients, dim)?);
    let sums =
        zip_rows(op, &rows.rows, &of_gradients.rows, rows.length, |factors: &[f64], gradients, out| {
            let mut sum = 0.0;
            for (out, (factor, gradient)) in out.iter_mut().zip(factors.iter().zip(gradients)).rev() {
                *out = gradient + sum;
                sum = *out * factor;
            }
            Ok(())
        })?;
    let out = rows.restore(&sums)?;
    if let Some(mut builder) = NodeBuilder::new("CumprodBackwardBackward0", &[factors, gradients])? {
        let (factors, sums) = (builder.save(factors)?, builder.save_output(&out)?);
        builder.set_history(&out, move |ctx, gradient| {
            let (factors, sums) = (ctx.saved(factors)?, ctx.saved(sums)?);
            // Prefix sums are the suffix sums of reversed rows.
            let reversed = delayed(&factors.flip(&[dim])?, 0.0, dim)?;
            let prefix_sums = suffix_sums(&reversed, &gradient.flip(&[dim])?, dim)?.flip(&[dim])?;
            let of_factors = ctx.gradient(0, || delayed(&prefix_sums, 0.0, dim)?.mul(&sums))?;
            Ok(vec![of_factors, Some(prefix_sums)])
        })?;
    }
    Ok(out)
}

/// Computes a gradient without history: of a product, whose gradient is repeated, or of cumulative products.
fn of_rows(
    op: &'static str,
    is_product: bool,
    factors: &Tensor,
    gradient: &Tensor,
    dim: i64,
) -> Result<Tensor> {
    let rows = Rows::in_compute_type(op, factors, dim)?;
    let gradients = Rows::in_compute_type(op, &iterate::cast(gradient, factors.dtype())?, dim)?;
    let out = dispatch_float!(rows.rows.dtype(), T => {
        zip_rows(op, &rows.rows, &gradients.rows, rows.length, move |factors: &[T], gradients, out| match gradients {
            [gradient, ..] if is_product => write_of_product(factors, gradient.to_f64(), out),
            _ => write_of_products(factors, |position| gradients.get(position).map_or(0.0, |it| it.to_f64()), out),
        })
    })?;
    rows.restore(&iterate::cast(&out, factors.dtype())?)
}

/// Writes the gradients of the factors of a product.
fn write_of_product<T: Element>(factors: &[T], gradient: f64, out: &mut [T]) -> Result<()> {
    let mut lanes = [1.0; 8];
    let (groups, rest) = factors.as_chunks::<8>();
    for group in groups {
        lanes.iter_mut().zip(group).for_each(|(product, factor)| *product *= factor.to_f64());
    }
    let product = rest.iter().map(|factor| factor.to_f64()).chain(lanes).product::<f64>();
    // Quotients are faster than products of the others.
    if product.is_normal() && lanes.iter().all(|lane| lane.is_normal()) {
        let quotients = factors.iter().map(|factor| T::from_f64(product / factor.to_f64() * gradient));
        out.iter_mut().zip(quotients).for_each(|(out, quotient)| *out = quotient);
        return Ok(());
    }
    // Sums with -0 preserve the signs of zeros.
    write_of_products(factors, |position| if position + 1 == factors.len() { gradient } else { -0.0 }, out)?;
    // NaN is the product of 0 and a part that overflows, unless a factor is not finite.
    if gradient.is_finite() && factors.iter().all(|factor| factor.to_f64().is_finite()) {
        let zeros = factors.iter().filter(|factor| factor.to_f64() == 0.0).count();
        for (out, factor) in out.iter_mut().zip(factors) {
            let zeros_of_others = zeros - usize::from(factor.to_f64() == 0.0);
            if out.is_nan() && zeros_of_others > 0 {
                *out = T::default();
            }
        }
    }
    Ok(())
}

/// Writes the gradients of the factors of cumulative products, whose gradients a function returns.
fn write_of_products<T: Element>(
    factors: &[T],
    gradient: impl Fn(usize) -> f64,
    out: &mut [T],
) -> Result<()> {
    let mut products = try_from_elem(1.0, factors.len())?;
    let mut sums = try_from_elem(0.0, factors.len())?;
    let before = products.iter_mut().zip(factors);
    let after = sums.iter_mut().zip(factors).enumerate().rev();
    vectorized(
        #[inline(always)]
        move || {
            let (mut product, mut sum, mut next) = (1.0, -0.0, 1.0);
            // Both in one loop: each step depends on the one before it.
            for ((before, factor), (position, (after, own))) in before.zip(after) {
                *before = product;
                product *= factor.to_f64();
                sum = f64::mul_add(sum, next, gradient(position));
                (*after, next) = (sum, own.to_f64());
            }
        },
    );
    let gradients = products.iter().zip(&sums).map(|(before, after)| T::from_f64(before * after));
    out.iter_mut().zip(gradients).for_each(|(out, gradient)| *out = gradient);
    Ok(())
}

//! Vector norms.

use super::sums::{ReducedDims, err_nothing_to_reduce, reduced_dims};
use crate::dtype::dispatch_float;
use crate::iterate::reduce;
use crate::ops::elementwise::selection::zero_where;
use crate::recording::NodeBuilder;
use crate::{DType, Element, Error, Result, Tensor, iterate, loops};

impl Tensor {
    /// Returns the norm of order `order` of all elements or over `dims`: the `order`th root of the sum of powers of
    /// absolute values, the number of nonzero elements for 0, and the largest or smallest absolute value for an infinity.
    ///
    /// It is computed in `dtype`, or in the type of the elements, by differentiable operations.
    pub fn norm(
        &self,
        order: f64,
        dims: Option<&[i64]>,
        keepdim: bool,
        dtype: Option<DType>,
    ) -> Result<Tensor> {
        let op = "norm";
        let dtype = dtype.unwrap_or(self.dtype());
        for given in [self.dtype(), dtype] {
            Error::when(!given.is_floating_point(), || Error::not_floating_point(op, "input", given))?;
        }
        if self.dtype().promote(dtype) != dtype {
            let expected = format!("at least as wide as {}", self.dtype());
            return Err(Error::dtype(op, "dtype", expected, dtype));
        }
        let over = reduced_dims(op, self.shape(), dims)?;
        // Halves are rounded once.
        let x = self.cast(dtype.compute())?;
        if order.is_infinite() || order < 0.0 {
            Error::when(over.count == 0, || err_nothing_to_reduce(op, self.shape(), false))?;
        }
        let norm = if order.is_infinite() {
            let sizes = x.abs()?;
            if order > 0.0 { sizes.amax(dims, keepdim)? } else { sizes.amin(dims, keepdim)? }
        } else if order == 0.0 {
            let count = iterate::cast(&x.detach().not_equal(0i64)?, x.dtype())?.sum(dims, keepdim)?;
            // As in PyTorch a count has a history, but no gradient.
            if let Some(builder) = NodeBuilder::new("LinalgVectorNormBackward0", &[&x])? {
                builder.set_history(&count, |_, _| Ok(vec![None]))?;
            }
            count
        } else if order == 1.0 {
            x.abs()?.sum(dims, keepdim)?
        } else if order == 2.0 && x.dtype() == DType::Float32 {
            euclidean(&x, &over, keepdim)?
        } else {
            let scale = scale(&x, order, dims, over.count)?;
            let x = x.div(&scale)?;
            let powers = if order == 2.0 { x.mul(&x)? } else { nonzero_power(&x.abs()?, order)? };
            let total = powers.sum(dims, keepdim)?;
            let norm = if order == 2.0 { root(&total)? } else { nonzero_power(&total, 1.0 / order)? };
            norm.mul(&if scale.ndim() == 0 { scale } else { scale.reshaped(over.shape(keepdim))? })?
        };
        norm.cast(dtype)
    }
}

/// Returns the root of the sum of squares, which neither overflow nor underflow in `f64`. Its gradient is 0 where it is 0.
fn euclidean(x: &Tensor, over: &ReducedDims, keepdim: bool) -> Result<Tensor> {
    let add = |sum: f64, value: f32| sum + f64::from(value) * f64::from(value);
    let squares = loops::fold(0.0, add, |a: f64, b| a + b, |sum: f64| sum.sqrt() as f32);
    let out = reduce("norm", x, &over.mask, (over.shape(keepdim), x.dtype()), &squares)?;
    if let Some(mut builder) = NodeBuilder::new("LinalgVectorNormBackward0", &[x])? {
        let (input, output) = (builder.save(x)?, builder.save_output(&out)?);
        let ones = over.shape(true).to_vec();
        builder.set_history(&out, move |ctx, gradient| {
            let norm = ctx.saved(output)?.reshaped(&ones)?;
            let zero = norm.detach().equal(0i64)?;
            let inverse = zero_where(&zero, &norm.add(&iterate::cast(&zero, norm.dtype())?)?.reciprocal()?)?;
            Ok(vec![Some(gradient.reshaped(&ones)?.mul(&ctx.saved(input)?.mul(&inverse)?)?)])
        })?;
    }
    Ok(out)
}

/// Returns the number by which the elements of each group are divided, so that the powers of the largest ones neither
/// overflow nor underflow. It is a power of two: products with it are exact.
fn scale(x: &Tensor, order: f64, dims: Option<&[i64]>, count: usize) -> Result<Tensor> {
    if count == 0 || order < 0.0 {
        return Tensor::ones(&[], x.options());
    }
    let largest = x.detach().abs()?.amax(dims, true)?;
    dispatch_float!(largest.dtype(), T => {
        iterate::map("norm", &largest, |value: T| T::from_f64(power_of_two_below(value.to_f64())))
    })
}

/// Returns the largest normal power of two that is not above a positive number; 1 for 0, infinity and NaN.
fn power_of_two_below(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return 1.0;
    }
    // The bits of the exponent.
    f64::from_bits(number.to_bits() & f64::INFINITY.to_bits()).max(f64::MIN_POSITIVE)
}

/// Returns the root, with gradient 0 where it is 0.
fn root(total: &Tensor) -> Result<Tensor> {
    let zero = total.detach().equal(0i64)?;
    zero_where(&zero, &total.add(&iterate::cast(&zero, total.dtype())?)?.sqrt()?)
}

/// Returns the power, with gradient 0 where the base is 0.
fn nonzero_power(base: &Tensor, exponent: f64) -> Result<Tensor> {
    let power = base.detach().pow(exponent)?;
    if !base.requires_grad() {
        return Ok(power);
    }
    let zero = base.detach().equal(0i64)?;
    let of_others = base.add(&iterate::cast(&zero, base.dtype())?)?.pow(exponent)?;
    zero_where(&zero, &of_others)?.add(&zero_where(&zero.logical_not()?, &power)?)
}

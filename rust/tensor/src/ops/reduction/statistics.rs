//! The variance and the standard deviation.

use super::sums::reduced_dims;
use crate::dtype::dispatch_float;
use crate::error::warn;
use crate::iterate::reduce;
use crate::loops::squared_deviations;
use crate::ops::elementwise::operand::check_floating_point;
use crate::ops::elementwise::selection::zero_where;
use crate::recording::NodeBuilder;
use crate::{Element, Result, Scalar, Tensor};

/// Returns the degrees of freedom, by which the sum of squares is divided: the number of reduced elements less the
/// correction. Warns if none are left.
fn divisor(op: &'static str, count: usize, correction: Scalar) -> f64 {
    let degrees = (count as f64 - correction.cast::<f64>()).max(0.0);
    if degrees == 0.0 {
        warn(&format!("{op}: the correction must be less than the number of reduced elements"));
    }
    degrees
}

/// Returns the variance of all elements or over `dims`, or the standard deviation, its root.
fn spread(
    (op, is_root): (&'static str, bool),
    input: &Tensor,
    dims: Option<&[i64]>,
    correction: Scalar,
    keepdim: bool,
) -> Result<Tensor> {
    check_floating_point(op, input)?;
    let over = reduced_dims(op, input.shape(), dims)?;
    let divisor = divisor(op, over.count, correction);
    let out = dispatch_float!(input.dtype(), T => {
        let finish = move |squares: f64| {
            let variance = squares / divisor;
            T::from_f64(if is_root { variance.sqrt() } else { variance })
        };
        reduce(op, input, &over.mask, (over.shape(keepdim), input.dtype()), &squared_deviations(finish))
    })?;
    let node = if is_root { "StdBackward0" } else { "VarBackward0" };
    if let Some(mut builder) = NodeBuilder::new(node, &[input])? {
        let saved = builder.save(input)?;
        let root = is_root.then(|| builder.save_output(&out)).transpose()?;
        let (ones, dims) = (over.shape(true).to_vec(), dims.map(<[i64]>::to_vec));
        builder.set_history(&out, move |ctx, gradient| {
            let (x, gradient) = (ctx.saved(saved)?, gradient.reshaped(&ones)?);
            let deviations = x.sub(&x.mean(dims.as_deref(), true)?)?;
            let Some(root) = root else {
                // Without degrees of freedom the slope is infinite, with the sign of the deviation.
                return Ok(vec![Some(gradient.mul(&deviations.mul(2.0 / divisor)?)?)]);
            };
            let root = ctx.saved(root)?.to_single_if_half()?;
            let (root, deviations) = (root.reshaped(&ones)?, deviations.mul(1.0 / divisor)?);
            if divisor == 0.0 {
                // The root is infinite, but grows slower than the deviations.
                return Ok(vec![Some(gradient.mul(&deviations)?)]);
            }
            let share = zero_where(&root.detach().equal(0i64)?, &gradient.div(&root)?)?;
            Ok(vec![Some(share.mul(&deviations)?)])
        })?;
    }
    Ok(out)
}

impl Tensor {
    /// Returns the variance of all elements or over `dims`. The sum of squares is divided by the number of elements less
    /// `correction`, or by 0 if the correction is larger, of which the operation warns.
    pub fn var(&self, dims: Option<&[i64]>, correction: Scalar, keepdim: bool) -> Result<Tensor> {
        spread(("var", false), self, dims, correction, keepdim)
    }

    /// Returns the variance, as [`var`](Tensor::var), and the mean.
    pub fn var_mean(
        &self,
        dims: Option<&[i64]>,
        correction: Scalar,
        keepdim: bool,
    ) -> Result<(Tensor, Tensor)> {
        Ok((spread(("var_mean", false), self, dims, correction, keepdim)?, self.mean(dims, keepdim)?))
    }

    /// Returns the standard deviation of all elements or over `dims`: the root of the variance. Its gradient is 0 where
    /// it is 0.
    pub fn std(&self, dims: Option<&[i64]>, correction: Scalar, keepdim: bool) -> Result<Tensor> {
        spread(("std", true), self, dims, correction, keepdim)
    }

    /// Returns the standard deviation, as [`std`](Tensor::std), and the mean.
    pub fn std_mean(
        &self,
        dims: Option<&[i64]>,
        correction: Scalar,
        keepdim: bool,
    ) -> Result<(Tensor, Tensor)> {
        Ok((spread(("std_mean", true), self, dims, correction, keepdim)?, self.mean(dims, keepdim)?))
    }
}

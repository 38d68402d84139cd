//! The variance and the standard deviation.

use super::sums::{ReducedDims, reduced_dims};
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

/// Computes `finish` of the variances of a tensor. Returns the result, the reduced dimensions and the degrees of freedom.
fn of_variances(
    op: &'static str,
    input: &Tensor,
    (dims, correction, keepdim): (Option<&[i64]>, Scalar, bool),
    finish: fn(f64) -> f64,
) -> Result<(Tensor, ReducedDims, f64)> {
    check_floating_point(op, input)?;
    let over = reduced_dims(op, input.shape(), dims)?;
    let divisor = divisor(op, over.count, correction);
    let out = dispatch_float!(input.dtype(), T => {
        let finish = move |squares: f64| T::from_f64(finish(squares / divisor));
        reduce(op, input, &over.mask, (over.shape(keepdim), input.dtype()), &squared_deviations(finish))
    })?;
    Ok((out, over, divisor))
}

impl Tensor {
    /// Returns the variance of all elements or over `dims`. The sum of squares is divided by the number of elements less
    /// `correction`, or by 0 if the correction is larger, of which the operation warns.
    pub fn var(&self, dims: Option<&[i64]>, correction: Scalar, keepdim: bool) -> Result<Tensor> {
        self.var_for("var", dims, correction, keepdim)
    }

    /// Returns the variance, as [`var`](Tensor::var), and the mean.
    pub fn var_mean(
        &self,
        dims: Option<&[i64]>,
        correction: Scalar,
        keepdim: bool,
    ) -> Result<(Tensor, Tensor)> {
        Ok((self.var_for("var_mean", dims, correction, keepdim)?, self.mean(dims, keepdim)?))
    }

    fn var_for(
        &self,
        op: &'static str,
        dims: Option<&[i64]>,
        correction: Scalar,
        keepdim: bool,
    ) -> Result<Tensor> {
        let (out, over, divisor) = of_variances(op, self, (dims, correction, keepdim), |variance| variance)?;
        if let Some(builder) = NodeBuilder::new("VarBackward0", &[self])? {
            let (ones, dims) = (over.shape(true).to_vec(), dims.map(<[i64]>::to_vec));
            builder.set_history_saving(self, &out, move |x, gradient| {
                let deviations = x.sub(&x.mean(dims.as_deref(), true)?)?;
                // Without degrees of freedom the slope is infinite, with the sign of the deviation.
                let slope = deviations.mul(2.0 / divisor)?;
                gradient.reshaped(&ones)?.mul(&slope)
            })?;
        }
        Ok(out)
    }

    /// Returns the standard deviation of all elements or over `dims`: the root of the variance. Its gradient is 0 where
    /// it is 0.
    pub fn std(&self, dims: Option<&[i64]>, correction: Scalar, keepdim: bool) -> Result<Tensor> {
        self.std_for("std", dims, correction, keepdim)
    }

    /// Returns the standard deviation, as [`std`](Tensor::std), and the mean.
    pub fn std_mean(
        &self,
        dims: Option<&[i64]>,
        correction: Scalar,
        keepdim: bool,
    ) -> Result<(Tensor, Tensor)> {
        Ok((self.std_for("std_mean", dims, correction, keepdim)?, self.mean(dims, keepdim)?))
    }

    fn std_for(
        &self,
        op: &'static str,
        dims: Option<&[i64]>,
        correction: Scalar,
        keepdim: bool,
    ) -> Result<Tensor> {
        let (out, over, divisor) = of_variances(op, self, (dims, correction, keepdim), f64::sqrt)?;
        if let Some(mut builder) = NodeBuilder::new("StdBackward0", &[self])? {
            let (input, output) = (builder.save(self)?, builder.save_output(&out)?);
            let (ones, dims) = (over.shape(true).to_vec(), dims.map(<[i64]>::to_vec));
            builder.set_history(&out, move |ctx, gradient| {
                let (x, root) = (ctx.saved(input)?, ctx.saved(output)?.reshaped(&ones)?);
                let deviations = x.sub(&x.mean(dims.as_deref(), true)?)?.mul(1.0 / divisor)?;
                let gradient = gradient.reshaped(&ones)?;
                if divisor == 0.0 {
                    // The root is infinite, but grows slower than the deviations.
                    return Ok(vec![Some(gradient.mul(&deviations)?)]);
                }
                let share = gradient.div(&root)?;
                let share = zero_where(&root.detach().equal(0i64)?, &share)?;
                Ok(vec![Some(share.mul(&deviations)?)])
            })?;
        }
        Ok(out)
    }
}

//! The variance and the standard deviation.

use super::masked::zero_where;
use super::operand::check_floating_point;
use super::reduce::reduced_dims;
use crate::autograd::NodeBuilder;
use crate::{DType, Result, Scalar, Tensor, kernel};

impl Tensor {
    /// Returns the degrees of freedom of the variance over `dims`: the number of reduced elements less the correction.
    pub fn degrees_of_freedom(&self, dims: Option<&[i64]>, correction: Scalar) -> Result<f64> {
        Ok(reduced_dims("var", self.shape(), dims)?.count as f64 - correction.cast::<f64>())
    }

    /// Returns the variance of all elements or over `dims`. The sum of squares is divided by the number of elements less
    /// `correction`, or by 0 if the correction is larger.
    pub fn var(&self, dims: Option<&[i64]>, correction: Scalar, keepdim: bool) -> Result<Tensor> {
        let op = "var";
        check_floating_point(op, self)?;
        let over = reduced_dims(op, self.shape(), dims)?;
        let divisor = (over.count as f64 - correction.cast::<f64>()).max(0.0);
        // As in PyTorch, squares do not overflow and the mean is not rounded.
        let elements = kernel::cast(&self.detach(), DType::Float64)?;
        let deviations = elements.sub(&elements.mean(dims, true)?)?;
        let out = deviations.mul(&deviations)?.sum(dims, keepdim)?.div(divisor)?;
        let out = kernel::cast(&out, self.dtype())?;
        if let Some(mut builder) = NodeBuilder::new("VarBackward0", &[self])? {
            let (saved, ones) = (builder.save(self)?, over.shape(true).to_vec());
            let dims = dims.map(<[i64]>::to_vec);
            builder.set_history(&out, move |ctx, gradient| {
                let x = ctx.saved(saved)?;
                let deviations = x.sub(&x.mean(dims.as_deref(), true)?)?;
                // Without degrees of freedom the slope is infinite, with the sign of the deviation.
                let slope = deviations.mul(2.0 / divisor)?;
                Ok(vec![Some(gradient.reshaped(&ones)?.mul(&slope)?)])
            })?;
        }
        Ok(out)
    }

    /// Returns the standard deviation of all elements or over `dims`: the root of the variance. Its gradient is 0 where
    /// it is 0.
    pub fn std(&self, dims: Option<&[i64]>, correction: Scalar, keepdim: bool) -> Result<Tensor> {
        let op = "std";
        check_floating_point(op, self)?;
        let over = reduced_dims(op, self.shape(), dims)?;
        let divisor = (over.count as f64 - correction.cast::<f64>()).max(0.0);
        let elements = kernel::cast(&self.detach(), DType::Float64)?;
        let out = kernel::cast(&elements.var(dims, correction, keepdim)?.sqrt()?, self.dtype())?;
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

#[cfg(test)]
mod tests {
    use crate::Tensor;
    use crate::testing::{assert_close, doubles, gradcheck};

    #[test]
    fn var_divides_by_the_degrees_of_freedom() {
        let x = doubles(&[1.0, 2.0, 3.0, 6.0], &[4]);
        assert_close(&x.var(None, 0i64.into(), false).unwrap(), &[3.5]);
        assert_close(&x.var(None, 0.5.into(), true).unwrap(), &[4.0]);
        let of_one = doubles(&[1.0], &[1]).var(None, 1i64.into(), false).unwrap();
        assert!(of_one.to_vec::<f64>().unwrap()[0].is_nan());
    }

    #[test]
    fn squares_of_large_floats_do_not_overflow() {
        let x = Tensor::from_slice(&[1e30f32, -1e30], &[2]).unwrap();
        let root = x.std(None, 0i64.into(), false).unwrap().to_vec::<f32>().unwrap()[0];
        assert!((root / 1e30 - 1.0).abs() < 1e-6, "{root}");
    }

    #[test]
    fn var_and_std_pass_gradcheck() {
        let x = [doubles(&[0.5, 1.5, 2.0, 0.25, 0.75, 3.0], &[2, 3])];
        gradcheck(|x| x[0].var(None, 1i64.into(), false)?.pow(2.0), &x);
        gradcheck(|x| x[0].var(Some(&[0]), 0i64.into(), true)?.pow(2.0), &x);
        gradcheck(|x| x[0].std(Some(&[1]), 1i64.into(), false)?.pow(3.0), &x);
    }
}

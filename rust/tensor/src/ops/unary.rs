//! Elementwise operations on one tensor.

use crate::autograd::NodeBuilder;
use crate::dtype::{dispatch_compute, dispatch_float};
use crate::{DType, Element, Error, Result, Tensor, kernel};

/// Defines operations that return floating-point tensors, also for integers. The gradient expression uses the
/// gradient of the result (`g`) and the input (`x`) or the result (`y`).
macro_rules! floating_operations {
    ($($(#[$doc:meta])* $method:ident, $node:literal, $saved:ident, $f:expr, |$g:ident, $value:ident| $gradient:expr;)+) => {
        impl Tensor {
            $($(#[$doc])*
            pub fn $method(&self) -> Result<Tensor> {
                let source = kernel::cast(self, self.dtype().to_floating_point())?;
                let out = dispatch_float!(source.dtype(), T => {
                    let f: fn(T) -> T = $f;
                    kernel::map(stringify!($method), &source, move |value: T| f(value))
                })?;
                if let Some(mut builder) = NodeBuilder::new($node, &[self])? {
                    let saved = floating_operations!(@save $saved, builder, self, &out);
                    builder.set_history(&out, move |ctx, $g| {
                        let $value = &ctx.saved(saved)?;
                        Ok(vec![Some($gradient?)])
                    });
                }
                Ok(out)
            })+
        }
    };
    (@save input, $builder:ident, $input:expr, $output:expr) => { $builder.save($input)? };
    (@save output, $builder:ident, $input:expr, $output:expr) => { $builder.save_output($output)? };
}

floating_operations! {
    /// Returns e to the power of each element.
    exp, "ExpBackward0", output, |v| v.exp(), |g, y| g.mul(y);
    /// Returns the natural logarithm of each element.
    log, "LogBackward0", input, |v| v.ln(), |g, x| g.div(x);
    /// Returns the square root of each element.
    sqrt, "SqrtBackward0", output, |v| v.sqrt(), |g, y| g.div(&y.mul(2.0)?);
    /// Returns the sine of each element.
    sin, "SinBackward0", input, |v| v.sin(), |g, x| g.mul(&x.cos()?);
    /// Returns the cosine of each element.
    cos, "CosBackward0", input, |v| v.cos(), |g, x| g.mul(&x.sin()?.neg()?);
    /// Returns the hyperbolic tangent of each element.
    tanh, "TanhBackward0", output, |v| v.tanh(), |g, y| g.mul(&super::binary::subtract(1.0, &y.mul(y)?)?);
    /// Returns the logistic function of each element.
    sigmoid, "SigmoidBackward0", output, |v| 1.0 / (1.0 + (-v).exp()), |g, y| {
        g.mul(&y.mul(&super::binary::subtract(1.0, y)?)?)
    };
}

impl Tensor {
    /// Returns the negation of each element.
    pub fn neg(&self) -> Result<Tensor> {
        if self.dtype() == DType::Bool {
            return Err(Error::not_numeric("neg", "input", "; use logical_not()"));
        }
        let out = dispatch_compute!(self.dtype(), T => kernel::map("neg", self, |value: T| T::from_i64(-1).times(value)))?;
        if let Some(builder) = NodeBuilder::new("NegBackward0", &[self])? {
            builder.set_history(&out, |_, gradient| Ok(vec![Some(gradient.neg()?)]));
        }
        Ok(out)
    }

    /// Returns each element, or 0 if it is negative. The gradient at 0 is 0; NaN is preserved.
    pub fn relu(&self) -> Result<Tensor> {
        let op = "relu";
        if self.dtype() == DType::Bool {
            return Err(Error::not_numeric(op, "input", "; long() converts it"));
        }
        let out = dispatch_compute!(self.dtype(), T => {
            let zero = T::default();
            kernel::map("relu", self, move |value: T| if value < zero { zero } else { value })
        })?;
        if let Some(mut builder) = NodeBuilder::new("ReluBackward0", &[self])? {
            let saved = builder.save_output(&out)?;
            builder.set_history(&out, move |ctx, gradient| {
                Ok(vec![Some(threshold_backward(gradient, &ctx.saved(saved)?)?)])
            });
        }
        Ok(out)
    }

    /// Returns the absolute value of each element. The gradient at 0 is 0.
    pub fn abs(&self) -> Result<Tensor> {
        let out = dispatch_compute!(self.dtype(), T => {
            let zero = T::default();
            kernel::map("abs", self, move |value: T| if value < zero { zero.minus(value) } else { zero.plus(value) })
        })?;
        if let Some(mut builder) = NodeBuilder::new("AbsBackward0", &[self])? {
            let saved = builder.save(self)?;
            builder.set_history(&out, move |ctx, gradient| {
                Ok(vec![Some(gradient.mul(&ctx.saved(saved)?.sign()?)?)])
            });
        }
        Ok(out)
    }

    /// Returns the sign of each element, 1, -1 or 0 (also for NaN), in the same type. The gradient is 0.
    fn sign(&self) -> Result<Tensor> {
        let out = dispatch_compute!(self.dtype(), T => {
            let zero = T::default();
            kernel::map("sign", self, move |value: T| {
                T::from_i64(i64::from(value > zero) - i64::from(value < zero))
            })
        })?;
        if let Some(builder) = NodeBuilder::new("SignBackward0", &[self])? {
            builder.set_history(&out, |_, gradient| {
                Ok(vec![Some(Tensor::zeros(gradient.shape(), gradient.options())?)])
            });
        }
        Ok(out)
    }
}

/// Returns `gradient` where `output` is not 0: ATen's `threshold_backward`. It depends on `output` with gradient 0,
/// so that a recorded backward pass can be differentiated again.
pub(super) fn threshold_backward(gradient: &Tensor, output: &Tensor) -> Result<Tensor> {
    let op = "threshold_backward";
    let out = dispatch_compute!(gradient.dtype(), T => {
        let zero = T::default();
        kernel::zip(op, (gradient.dtype(), gradient.shape()), gradient, &output.detach(), move |gradient: T, output: T| {
            if output <= zero { zero } else { gradient }
        })
    })?;
    if let Some(mut builder) = NodeBuilder::new("ThresholdBackwardBackward0", &[gradient, output])? {
        let saved = builder.save(output)?;
        builder.set_history(&out, move |ctx, second| {
            Ok(vec![
                ctx.gradient(0, || threshold_backward(second, &ctx.saved(saved)?))?,
                ctx.gradient(1, || Tensor::zeros(second.shape(), second.options()))?,
            ])
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_close, doubles, gradcheck};
    use crate::{DType, Result, Tensor};

    #[test]
    fn unary_operations_agree_with_std() {
        let x = doubles(&[0.5, 2.0, 3.5], &[3]);
        assert_close(&x.exp().unwrap(), &[0.5f64.exp(), 2f64.exp(), 3.5f64.exp()]);
        assert_close(&x.log().unwrap(), &[0.5f64.ln(), 2f64.ln(), 3.5f64.ln()]);
        assert_close(&x.neg().unwrap().relu().unwrap(), &[0.0, 0.0, 0.0]);
        assert_close(&x.neg().unwrap().abs().unwrap(), &[0.5, 2.0, 3.5]);
    }

    #[test]
    fn unary_operations_on_strided_inputs_pass_gradcheck() {
        let functions: [fn(&Tensor) -> Result<Tensor>; 10] = [
            Tensor::exp,
            Tensor::log,
            Tensor::sqrt,
            Tensor::sin,
            Tensor::cos,
            Tensor::tanh,
            Tensor::sigmoid,
            Tensor::neg,
            Tensor::relu,
            Tensor::abs,
        ];
        for f in functions {
            let x = doubles(&[0.5, 1.5, 2.0, 0.25, 0.75, 3.0], &[2, 3]);
            gradcheck(|inputs| f(&inputs[0].transpose(0, 1)?), &[x]);
        }
    }

    #[test]
    fn exp_of_integers_is_float32_and_relu_preserves_the_type() {
        let x = Tensor::from_slice(&[1i64, 0], &[2]).unwrap();
        assert_eq!(x.exp().unwrap().dtype(), DType::Float32);
        assert_eq!(x.relu().unwrap().dtype(), DType::Int64);
        assert!(x.cast(DType::Bool).unwrap().neg().is_err());
    }

    #[test]
    fn relu_preserves_nan_and_has_gradient_0_at_0() {
        let x = doubles(&[f64::NAN, 0.0, -0.0], &[3]);
        x.set_requires_grad(true).unwrap();
        let y = x.relu().unwrap();
        assert!(y.to_vec::<f64>().unwrap()[0].is_nan());
        y.sum(None, false).unwrap().backward().unwrap();
        assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap()[1..], [0.0, 0.0]);
    }
}

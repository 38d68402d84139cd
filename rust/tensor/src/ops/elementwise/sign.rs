//! Signs and absolute values.

use super::functions::{Saved, UnaryRecord};
use crate::dtype::{Bool8, dispatch_compute};
use crate::ops::elementwise::operand::check_numeric;
use crate::recording::NodeBuilder;
use crate::{Element, Result, Tensor, iterate};

impl Tensor {
    /// Returns the negation of each element.
    pub fn neg(&self) -> Result<Tensor> {
        check_numeric("neg", "input", self.dtype(), "; use logical_not()")?;
        let out = dispatch_compute!(self.dtype(), T => iterate::map("neg", self, |value: T| T::from_i64(-1).times(value)))?;
        NodeBuilder::record_linear("NegBackward0", self, out, Tensor::neg)
    }

    /// Returns the tensor itself, which must not be a bool tensor.
    pub fn positive(&self) -> Result<Tensor> {
        check_numeric("positive", "input", self.dtype(), "; long() converts it")?;
        Ok(self.clone())
    }

    /// Returns the absolute value of each element. The gradient at 0 is 0.
    pub fn abs(&self) -> Result<Tensor> {
        check_numeric("abs", "input", self.dtype(), "; long() converts it")?;
        let out = dispatch_compute!(self.dtype(), T => {
            let zero = T::default();
            iterate::map("abs", self, move |value: T| if value < zero { zero.minus(value) } else { zero.plus(value) })
        })?;
        let record =
            UnaryRecord { node: "AbsBackward0", saved: Saved::Input, gradient: |g, x| g.mul(&x.sign()?) };
        record.set_history(self, &out)?;
        Ok(out)
    }

    /// Returns the sign of each element, 1, -1 or 0 (also for NaN), in the same type. The gradient is 0.
    pub fn sign(&self) -> Result<Tensor> {
        let out = dispatch_compute!(self.dtype(), T => {
            let zero = T::default();
            iterate::map("sign", self, move |value: T| {
                T::from_i64(i64::from(value > zero) - i64::from(value < zero))
            })
        })?;
        set_zero_gradient("SignBackward0", self, &out)?;
        Ok(out)
    }

    /// Returns where the sign bit is set: of negative elements, also of -0 and of NaN with a negative sign.
    pub fn signbit(&self) -> Result<Tensor> {
        dispatch_compute!(self.dtype(), T => {
            iterate::map("signbit", self, |value: T| Bool8::new(value.to_f64().is_sign_negative()))
        })
    }
}

/// Records an operation that is constant almost everywhere.
pub(crate) fn set_zero_gradient(node: &'static str, input: &Tensor, out: &Tensor) -> Result<()> {
    set_zero_gradients(node, &[input], out)
}

/// Records an operation on several tensors that is constant almost everywhere.
pub(crate) fn set_zero_gradients(node: &'static str, inputs: &[&Tensor], out: &Tensor) -> Result<()> {
    if let Some(builder) = NodeBuilder::new(node, inputs)? {
        let count = inputs.len();
        builder.set_history(out, move |_, gradient| {
            Ok(vec![Some(Tensor::zeros(gradient.shape(), gradient.options())?); count])
        })?;
    }
    Ok(())
}

//! Binary cross entropy of probabilities and of logits.

use super::loss::{Reduction, weigh};
use crate::dtype::dispatch_float;
use crate::error::Tuple;
use crate::layout::broadcast;
use crate::loops::real::Real;
use crate::ops::elementwise::operand::{
    check_device, check_floating_point, check_no_gradient, check_same_dtype, result_type,
};
use crate::ops::elementwise::selection::clamp;
use crate::recording::NodeBuilder;
use crate::{DType, Element, Error, Result, Tensor, iterate, loops};

/// The least logarithm of a probability: the loss of a certain error is finite.
const LEAST_LOGARITHM: f64 = -100.0;

/// A probability whose logarithm is below the least one, and by which gradients can be divided.
const LEAST_PROBABILITY: f64 = 1.4e-45;

/// The least variance of a probability by which the gradient is divided.
const LEAST_VARIANCE: f64 = 1e-12;

/// Returns an error unless the target has the shape of the input and is on its device.
fn check_target(op: &'static str, input: &Tensor, target: &Tensor) -> Result<()> {
    if target.shape() != input.shape() {
        let expected = format!("have the shape of the input, {}", Tuple(input.shape()));
        return Err(Error::shape(op, "target", expected, target.shape()));
    }
    check_device(op, input, target)
}

/// Returns an error unless a weight, if there is one, can be broadcast to the shape of the input.
fn check_factor(
    op: &'static str,
    argument: &'static str,
    input: &Tensor,
    weight: Option<&Tensor>,
) -> Result<()> {
    let Some(weight) = weight else { return Ok(()) };
    if broadcast(op, input.shape(), weight.shape()).ok().as_deref() != Some(input.shape()) {
        let expected = format!("be broadcastable to the shape of the input, {}", Tuple(input.shape()));
        return Err(Error::shape(op, argument, expected, weight.shape()));
    }
    check_no_gradient(op, argument, Some(weight))?;
    if weight.ndim() > 0 { check_device(op, input, weight) } else { Ok(()) }
}

/// Returns the loss of a probability. It is larger than 100 for none.
#[inline(always)]
fn loss_of<T: Real>(probability: T, target: T) -> T {
    let least = T::from_f64(LEAST_LOGARITHM);
    let clamped = |logarithm: T| if logarithm < least { least } else { logarithm };
    let one = T::from_i64(1);
    (target - one) * clamped((-probability).ln_1p()) - target * clamped(probability.ln())
}

/// Returns the losses of the elements in the type of arithmetic, without history.
fn losses(op: &'static str, input: &Tensor, target: &Tensor) -> Result<Tensor> {
    let (probabilities, targets) = (input.contiguous_for_arithmetic()?, target.contiguous_for_arithmetic()?);
    let length = probabilities.shape().last().copied().unwrap_or(1);
    dispatch_float!(probabilities.dtype(), T => iterate::zip_rows(op, &probabilities, &targets, length, move |x: &[T], t: &[T], out: &mut [T]| {
        for (argument, values) in [("input", x), ("target", t)] {
            if let Some(value) = values.iter().find(|value| !(0.0..=1.0).contains(*value)) {
                return Err(Error::value(op, argument, "have elements from 0 to 1", value.to_scalar()));
            }
        }
        loops::vectorized(
            #[inline(always)]
            move || {
                for (out, (&x, &t)) in out.iter_mut().zip(x.iter().zip(t)) {
                    *out = loss_of(x, t);
                }
            },
        );
        Ok(())
    }))
}

/// Returns losses with the order of dimensions in memory that the input has, as in PyTorch.
fn stored_like(op: &'static str, input: &Tensor, losses: &Tensor) -> Result<Tensor> {
    if input.strides() == losses.strides() {
        return Ok(losses.clone());
    }
    let layout = input.layout().preserve_format();
    iterate::copy_as(op, losses, layout)
}

/// Computes the gradient of the input by recorded operations: `g * (x - t) / (x * (1 - x))`.
fn of_input(gradient: &Tensor, input: &Tensor, target: &Tensor) -> Result<Tensor> {
    let variance = clamp(&input.mul(&input.rsub(1i64)?)?, Some(LEAST_VARIANCE.into()), None)?;
    gradient.mul(&input.sub(target)?.div(&variance)?)
}

/// Computes the gradient of the target by recorded operations: `g * (ln(1 - x) - ln(x))`.
fn of_target(gradient: &Tensor, input: &Tensor) -> Result<Tensor> {
    let logarithm = |probability: &Tensor| {
        let positive = clamp(probability, Some(LEAST_PROBABILITY.into()), None)?;
        clamp(&positive.log()?, Some(LEAST_LOGARITHM.into()), None)
    };
    gradient.mul(&logarithm(&input.rsub(1i64)?)?.sub(&logarithm(input)?)?)
}

impl Tensor {
    /// Returns the binary cross entropy of probabilities for target probabilities of the same shape and type.
    ///
    /// `weight` is broadcast to the losses. Logarithms are at least -100, so that losses are finite.
    pub fn binary_cross_entropy(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        reduction: Reduction,
    ) -> Result<Tensor> {
        let op = "binary_cross_entropy";
        check_floating_point(op, self)?;
        check_target(op, self, target)?;
        check_same_dtype(op, self, target)?;
        check_factor(op, "weight", self, weight)?;
        let losses = losses(op, self, target)?;
        let losses = if reduction == Reduction::None { stored_like(op, self, &losses)? } else { losses };
        if let Some(mut builder) = NodeBuilder::new("BinaryCrossEntropyBackward0", &[self, target])? {
            let (input, target) = (builder.save(self)?, builder.save_for(0, target)?);
            builder.set_history(&losses, move |ctx, gradient| {
                let input = ctx.saved(input)?;
                let input = input.cast(input.dtype().compute())?;
                Ok(vec![
                    ctx.gradient(0, || of_input(gradient, &input, &ctx.saved(target)?))?,
                    ctx.gradient(1, || of_target(gradient, &input))?,
                ])
            })?;
        }
        reduction.of(weigh(losses, weight)?)?.cast(self.dtype())
    }

    /// Returns the binary cross entropy of logits for target probabilities of the same shape.
    ///
    /// `weight` and `pos_weight` are broadcast to the losses; `pos_weight` multiplies the loss of a target of 1 only.
    pub fn binary_cross_entropy_with_logits(
        &self,
        target: &Tensor,
        weight: Option<&Tensor>,
        pos_weight: Option<&Tensor>,
        reduction: Reduction,
    ) -> Result<Tensor> {
        let op = "binary_cross_entropy_with_logits";
        check_floating_point(op, self)?;
        check_target(op, self, target)?;
        if !target.dtype().is_floating_point() {
            return Err(Error::not_floating_point(op, "target", target.dtype()));
        }
        check_factor(op, "weight", self, weight)?;
        check_factor(op, "pos_weight", self, pos_weight)?;
        let dtype = result_type(&[self.into(), target.into()]);
        let compute = dtype.compute();
        let (logits, target) = (self.cast(compute)?, target.cast(compute)?);
        // (1 - t) * x - (1 + (p - 1) * t) * ln(sigmoid(x))
        let logarithm = logits.log_sigmoid()?;
        let positive = match pos_weight {
            Some(weight) => weight.sub(1i64)?.mul(&target)?.add(1i64)?.mul(&logarithm)?,
            None => logarithm,
        };
        let losses = target.rsub(1i64)?.mul(&logits)?.sub(&positive)?;
        let weights = [weight, pos_weight].into_iter().flatten();
        reduction.of(weigh(losses, weight)?)?.cast(weights.map(Tensor::dtype).fold(dtype, DType::promote))
    }
}

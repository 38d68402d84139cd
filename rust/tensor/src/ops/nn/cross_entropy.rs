//! Cross entropy.

use super::loss::Reduction;
use super::nll_loss::{ClassLossOptions, ClassTargets, check_weight, dim_of_classes};
use crate::ops::elementwise::operand::{check_device, check_floating_point};
use crate::ops::elementwise::selection::zero_where;
use crate::{Error, Result, Tensor};

impl Tensor {
    /// Returns the cross entropy of logits for target classes or for probabilities of the classes.
    ///
    /// The shape of the logits is `[classes]`, `[samples, classes]` or `[samples, classes, ...]`. A target of that shape
    /// holds probabilities; one without the dimension of classes holds class indices. `label_smoothing` is the share of
    /// the uniform distribution with which targets are mixed.
    pub fn cross_entropy(
        &self,
        target: &Tensor,
        options: &ClassLossOptions<'_>,
        label_smoothing: f64,
    ) -> Result<Tensor> {
        let op = "cross_entropy";
        check_floating_point(op, self)?;
        if !(0.0..=1.0).contains(&label_smoothing) {
            return Err(Error::value(op, "label_smoothing", "be from 0 to 1", label_smoothing));
        }
        if self.shape() == target.shape() {
            return self.cross_entropy_of_probabilities(op, target, options, label_smoothing);
        }
        let classes = ClassTargets::new(op, self, target, options)?;
        let scores = self.log_softmax_for(op, classes.dim)?;
        let loss = scores.nll_loss_for(op, &classes, options)?;
        if label_smoothing == 0.0 {
            return Ok(loss);
        }
        let negated =
            weigh_classes(&scores, options.weight, classes.dim)?.sum(Some(&[classes.dim]), false)?.neg()?;
        let uniform = zero_where(&classes.targets.equal(options.ignore_index)?, &negated)?;
        let weights = || classes.grid.weights(op, options.weight, &classes.targets, self.dtype());
        let total = || weights()?.sum(None, false);
        let uniform = options.reduction.apply(uniform, total)?;
        let share = label_smoothing / classes.grid.classes as f64;
        loss.mul(1.0 - label_smoothing)?.add(&uniform.mul(share)?)?.cast(self.dtype())
    }

    /// Returns the cross entropy for a target with a probability of each class.
    fn cross_entropy_of_probabilities(
        &self,
        op: &'static str,
        target: &Tensor,
        options: &ClassLossOptions<'_>,
        label_smoothing: f64,
    ) -> Result<Tensor> {
        if !target.dtype().is_floating_point() {
            let expected = "floating point as class probabilities, because it has the shape of the input";
            return Err(Error::dtype(op, "target", expected, target.dtype()));
        }
        if options.ignore_index >= 0 {
            let expected = "be negative for a target of class probabilities";
            return Err(Error::value(op, "ignore_index", expected, options.ignore_index));
        }
        check_device(op, self, target)?;
        let (dim, classes) = dim_of_classes(op, self)?;
        if let Some(weight) = options.weight {
            check_weight(op, self, weight, classes)?;
        }
        let scores = self.log_softmax_for(op, dim)?;
        let target = if label_smoothing > 0.0 {
            target.mul(1.0 - label_smoothing)?.add(label_smoothing / classes as f64)?
        } else {
            target.clone()
        };
        let products = weigh_classes(&scores.mul(&target)?, options.weight, dim)?;
        match options.reduction {
            Reduction::None => products.sum(Some(&[dim]), false)?.neg(),
            Reduction::Sum => products.sum(None, false)?.neg(),
            Reduction::Mean => products.sum(None, false)?.neg()?.div(self.numel() as f64 / classes as f64),
        }
    }
}

/// Multiplies scores by the weights of the classes, which are the dimension `dim`, if there are weights.
fn weigh_classes(scores: &Tensor, weight: Option<&Tensor>, dim: i64) -> Result<Tensor> {
    let Some(weight) = weight else { return Ok(scores.clone()) };
    let mut shape = vec![1; scores.ndim()];
    if let Some(size) = usize::try_from(dim).ok().and_then(|dim| shape.get_mut(dim)) {
        *size = weight.numel();
    }
    scores.mul(&weight.reshaped(&shape)?)
}

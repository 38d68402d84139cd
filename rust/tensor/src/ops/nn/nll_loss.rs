//! The negative log-likelihood loss.

use super::class_grid::{self, ClassGrid};
use super::loss::Reduction;
use crate::dtype::dispatch_float;
use crate::error::Tuple;
use crate::layout::signed_sizes;
use crate::ops::elementwise::operand::{check_device, check_floating_point, check_no_gradient};
use crate::recording::NodeBuilder;
use crate::{DType, Error, Result, Tensor, iterate};

/// The options of losses for target classes.
#[derive(Clone, Copy, Debug)]
pub struct ClassLossOptions<'a> {
    /// The weight of each class, of shape `[classes]`. The mean is divided by the sum of the weights of the targets.
    pub weight: Option<&'a Tensor>,
    /// The target of samples that do not count.
    pub ignore_index: i64,
    /// The reduction of the losses of the samples.
    pub reduction: Reduction,
}

impl Default for ClassLossOptions<'_> {
    fn default() -> Self {
        ClassLossOptions { weight: None, ignore_index: -100, reduction: Reduction::Mean }
    }
}

/// Scores of classes and the targets of their samples.
pub(crate) struct ClassTargets {
    /// The targets, with the shape of the losses.
    pub targets: Tensor,
    pub grid: ClassGrid,
    /// The position of the dimension of classes.
    pub dim: i64,
}

impl ClassTargets {
    /// Checks scores of shape `[classes]`, `[samples, classes]` or `[samples, classes, ...]` and a target with a class
    /// index for each sample.
    pub(crate) fn new(
        op: &'static str,
        input: &Tensor,
        target: &Tensor,
        options: &ClassLossOptions<'_>,
    ) -> Result<Self> {
        check_floating_point(op, input)?;
        let (classes, samples, dim) = match input.shape() {
            [] => return Err(Error::shape(op, "input", "have at least one dimension", &[])),
            &[classes] => (classes, Vec::new(), 0),
            [samples, classes, inner @ ..] => (*classes, [&[*samples], inner].concat(), 1),
        };
        let is_single = samples.is_empty() && target.shape() == [1];
        if target.shape() != samples && !is_single {
            let expected =
                format!("be of shape {} for an input of shape {}", Tuple(&samples), Tuple(input.shape()));
            return Err(Error::shape(op, "target", expected, target.shape()));
        }
        if !matches!(target.dtype(), DType::Int64 | DType::UInt8) {
            let expected = "int64 or uint8 class indices";
            return Err(Error::dtype(op, "target", expected, target.dtype()));
        }
        check_device(op, input, target)?;
        if let Some(weight) = options.weight {
            check_weight(op, input, weight, classes)?;
            check_no_gradient(op, "weight", Some(weight))?;
        }
        let inner = samples.iter().skip(1).product();
        let targets = iterate::cast(&target.detach(), DType::Int64)?.contiguous()?.reshaped(&samples)?;
        let grid = ClassGrid { classes, inner, ignore_index: options.ignore_index };
        Ok(ClassTargets { targets, grid, dim })
    }

    /// Returns the weights of the samples in the type of arithmetic: 0 for ignored samples.
    pub(crate) fn weights(
        &self,
        op: &'static str,
        input: &Tensor,
        weight: Option<&Tensor>,
    ) -> Result<Tensor> {
        let compute = input.dtype().compute();
        let weight =
            weight.map(|weight| iterate::cast(&weight.detach(), compute)?.contiguous()).transpose()?;
        dispatch_float!(compute, T => {
            class_grid::sample_weights::<T>(op, weight.as_ref(), &self.targets, self.grid)
        })
    }

    /// Returns the negated scores of the targets.
    fn select(&self, op: &'static str, scores: &Tensor) -> Result<Tensor> {
        let scores = iterate::cast(&scores.detach(), scores.dtype().compute())?.contiguous()?;
        dispatch_float!(scores.dtype(), T => class_grid::select_scores::<T>(op, &scores, &self.targets, self.grid))
    }

    /// Returns a gradient of the scores that is 0 except for the negated gradients of the samples at their targets.
    fn distribute(&self, op: &'static str, gradient: &Tensor, shape: &[usize]) -> Result<Tensor> {
        let gradient = iterate::cast(&gradient.detach(), gradient.dtype().compute())?.contiguous()?;
        dispatch_float!(gradient.dtype(), T => {
            class_grid::distribute_gradient::<T>(op, &gradient, &self.targets, shape, self.grid)
        })
    }
}

/// Returns an error unless there is a weight of the type of the input for each class.
pub(crate) fn check_weight(op: &'static str, input: &Tensor, weight: &Tensor, classes: usize) -> Result<()> {
    if weight.shape() != [classes] {
        let expected = format!("be of shape ({classes},), one for each class");
        return Err(Error::shape(op, "weight", expected, weight.shape()));
    }
    if weight.dtype() != input.dtype() {
        let expected = format!("{}, the dtype of the input", input.dtype());
        return Err(Error::dtype(op, "weight", expected, weight.dtype()));
    }
    check_device(op, input, weight)
}

/// Returns the negated scores of the targets by recorded operations: the gradient of a gradient.
fn select_recorded(op: &'static str, scores: &Tensor, saved: &Tensor, grid: ClassGrid) -> Result<Tensor> {
    let classes = classes_of(saved, grid);
    let out = classes.select(op, scores)?;
    if let Some(builder) = NodeBuilder::new("NllLossBackward0", &[scores])? {
        let shape = scores.shape().to_vec();
        builder.set_history_saving(saved, &out, move |saved, gradient| {
            distribute_recorded(op, gradient, saved, grid, &shape)
        })?;
    }
    Ok(out)
}

/// Returns the gradient of the scores by recorded operations.
fn distribute_recorded(
    op: &'static str,
    gradient: &Tensor,
    saved: &Tensor,
    grid: ClassGrid,
    shape: &[usize],
) -> Result<Tensor> {
    let classes = classes_of(saved, grid);
    let out = classes.distribute(op, gradient, shape)?;
    if let Some(builder) = NodeBuilder::new("NllLossBackwardBackward0", &[gradient])? {
        builder
            .set_history_saving(saved, &out, move |saved, second| select_recorded(op, second, saved, grid))?;
    }
    Ok(out)
}

/// Returns the gradient of the scores of the loss. It depends on the scores with gradient 0, so that a recorded backward
/// pass can be differentiated again.
fn nll_loss_backward(
    op: &'static str,
    gradient: &Tensor,
    scores: &Tensor,
    targets: &Tensor,
    grid: ClassGrid,
) -> Result<Tensor> {
    let out = classes_of(targets, grid).distribute(op, gradient, scores.shape())?;
    if let Some(mut builder) = NodeBuilder::new("NllLossBackwardBackward0", &[gradient, scores])? {
        let saved = builder.save(targets)?;
        builder.set_history(&out, move |ctx, second| {
            Ok(vec![
                ctx.gradient(0, || select_recorded(op, second, &ctx.saved(saved)?, grid))?,
                ctx.gradient(1, || Tensor::zeros(second.shape(), second.options()))?,
            ])
        })?;
    }
    Ok(out)
}

fn classes_of(targets: &Tensor, grid: ClassGrid) -> ClassTargets {
    ClassTargets { targets: targets.clone(), grid, dim: 1 }
}

impl Tensor {
    /// Returns the negative log-likelihood loss of log-probabilities for the classes of their samples.
    ///
    /// The shape of the log-probabilities is `[classes]`, `[samples, classes]` or `[samples, classes, ...]`, and that
    /// of `target` is the same without the dimension of classes.
    pub fn nll_loss(&self, target: &Tensor, options: &ClassLossOptions<'_>) -> Result<Tensor> {
        let op = "nll_loss";
        let classes = ClassTargets::new(op, self, target, options)?;
        self.nll_loss_for(op, &classes, options)
    }

    /// Returns the loss like [`nll_loss`](Tensor::nll_loss), for an operation that errors name.
    pub(crate) fn nll_loss_for(
        &self,
        op: &'static str,
        classes: &ClassTargets,
        options: &ClassLossOptions<'_>,
    ) -> Result<Tensor> {
        let reduction = options.reduction;
        let losses = classes.select(op, self)?;
        let is_weighted = options.weight.is_some();
        let weights = if is_weighted || reduction == Reduction::Mean {
            Some(classes.weights(op, self, options.weight)?)
        } else {
            None
        };
        let factors = weights.as_ref().filter(|_| is_weighted);
        let weighted = match factors {
            Some(weights) => losses.mul(weights)?,
            None => losses,
        };
        let total = match (&weights, reduction) {
            (Some(weights), Reduction::Mean) => Some(weights.sum(None, false)?),
            _ => None,
        };
        let reduced = match (reduction, &total) {
            (Reduction::None, _) => weighted,
            (_, Some(total)) => weighted.sum(None, false)?.div(total)?,
            (_, None) => weighted.sum(None, false)?,
        };
        let out = iterate::cast(&reduced, self.dtype())?;
        let node = if self.ndim() > 2 { "NllLoss2DBackward0" } else { "NllLossBackward0" };
        if let Some(mut builder) = NodeBuilder::new(node, &[self])? {
            let saved = builder.save(&classes.targets)?;
            let factors = factors.map(|weights| builder.save(weights)).transpose()?;
            let total = total.as_ref().map(|total| builder.save(total)).transpose()?;
            let (grid, scores) = (classes.grid, builder.save(self)?);
            builder.set_history(&out, move |ctx, gradient| {
                let targets = ctx.saved(saved)?;
                let share = match total {
                    Some(total) => gradient.div(&ctx.saved(total)?)?,
                    None => gradient.clone(),
                };
                let each = match factors {
                    Some(weights) => share.mul(&ctx.saved(weights)?)?,
                    None => share.expand(&signed_sizes(targets.shape()))?,
                };
                Ok(vec![Some(nll_loss_backward(op, &each, &ctx.saved(scores)?, &targets, grid)?)])
            })?;
        }
        Ok(out)
    }
}

//! The negative log-likelihood loss.

use super::class_grid::ClassGrid;
use super::loss::{Reduction, weigh};
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
        let (dim, classes) = dim_of_classes(op, input)?;
        let sizes = (0i64..).zip(input.shape()).filter(|(own, _)| *own != dim);
        let samples: Vec<usize> = sizes.map(|(_, size)| *size).collect();
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
}

/// Returns the dimension of classes of scores, and its size.
pub(crate) fn dim_of_classes(op: &'static str, scores: &Tensor) -> Result<(i64, usize)> {
    match scores.shape() {
        [] => Err(Error::shape(op, "input", "have at least one dimension", &[])),
        &[classes] => Ok((0, classes)),
        [_, classes, ..] => Ok((1, *classes)),
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
fn select_recorded(op: &'static str, scores: &Tensor, targets: &Tensor, grid: ClassGrid) -> Result<Tensor> {
    let out = grid.select(op, scores, targets)?;
    if let Some(builder) = NodeBuilder::new("NllLossBackward0", &[scores])? {
        let shape = scores.shape().to_vec();
        builder.set_history_saving(targets, &out, move |targets, gradient| {
            distribute_recorded(op, gradient, targets, grid, (&shape, None))
        })?;
    }
    Ok(out)
}

/// Returns the gradient of scores of a shape by recorded operations. If it depends on the `scores` of a loss, their gradient
/// is 0, so that a recorded backward pass can be differentiated again.
fn distribute_recorded(
    op: &'static str,
    gradient: &Tensor,
    targets: &Tensor,
    grid: ClassGrid,
    (shape, scores): (&[usize], Option<&Tensor>),
) -> Result<Tensor> {
    let out = grid.distribute(op, gradient, targets, shape)?;
    let inputs: Vec<&Tensor> = [gradient].into_iter().chain(scores).collect();
    if let Some(mut builder) = NodeBuilder::new("NllLossBackwardBackward0", &inputs)? {
        let (saved, has_scores) = (builder.save(targets)?, scores.is_some());
        builder.set_history(&out, move |ctx, second| {
            let of_gradient = || select_recorded(op, second, &ctx.saved(saved)?, grid);
            let mut gradients = vec![ctx.gradient(0, of_gradient)?];
            if has_scores {
                gradients.push(ctx.gradient(1, || Tensor::zeros(second.shape(), second.options()))?);
            }
            Ok(gradients)
        })?;
    }
    Ok(out)
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
        let losses = classes.grid.select(op, self, &classes.targets)?;
        let is_weighted = options.weight.is_some();
        let weights = if is_weighted || reduction == Reduction::Mean {
            Some(classes.grid.weights(op, options.weight, &classes.targets, self.dtype())?)
        } else {
            None
        };
        let factors = weights.as_ref().filter(|_| is_weighted);
        let weighted = weigh(losses, factors)?;
        let of_mean = weights.as_ref().filter(|_| reduction == Reduction::Mean);
        let total = of_mean.map(|weights| weights.sum(None, false)).transpose()?;
        let reduced = match &total {
            Some(total) => weighted.sum(None, false)?.div(total)?,
            None => reduction.of(weighted)?,
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
                let scores = ctx.saved(scores)?;
                let of_scores = (scores.shape(), Some(&scores));
                Ok(vec![Some(distribute_recorded(op, &each, &targets, grid, of_scores)?)])
            })?;
        }
        Ok(out)
    }
}

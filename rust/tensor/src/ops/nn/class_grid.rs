//! Kernels of losses for target classes: they select the scores of classes and distribute gradients to them.

use crate::dtype::dispatch_float;
use crate::iterate::parts::item;
use crate::iterate::{TensorPart, check_count, launch_binary};
use crate::{DType, Element, Error, ErrorKind, Result, Tensor};

/// Scores of shape `[outer, classes, inner]` whose samples, of shape `[outer, inner]`, have one class each.
#[derive(Clone, Copy)]
pub(crate) struct ClassGrid {
    pub classes: usize,
    pub inner: usize,
    /// The target of samples that do not count.
    pub ignore_index: i64,
}

impl ClassGrid {
    /// Returns a target as a class, or `None` if it is the ignored index.
    fn class(self, op: &'static str, target: i64) -> Result<Option<usize>> {
        if target == self.ignore_index {
            return Ok(None);
        }
        let class = usize::try_from(target).ok().filter(|&class| class < self.classes);
        class.map(Some).ok_or_else(|| {
            let message = format!("must contain class indices of range({}), got {target}", self.classes);
            Error::argument(ErrorKind::Index, op, "target", message)
        })
    }

    /// Returns the position of the score of a class for a sample.
    fn position(self, sample: usize, class: usize) -> usize {
        let inner = self.inner.max(1);
        let row = (sample / inner).saturating_mul(self.classes).saturating_add(class);
        row.saturating_mul(self.inner).saturating_add(sample % inner)
    }

    /// Returns the negated score of the target of each sample, and 0 for ignored samples, in the type of arithmetic.
    /// `targets` are contiguous. Returns an error for a target that is not a class.
    pub fn select(self, op: &'static str, scores: &Tensor, targets: &Tensor) -> Result<Tensor> {
        let (scores, samples) = (scores.contiguous_for_arithmetic()?, targets.numel());
        let of_classes = samples.saturating_mul(self.classes);
        let sources = [TensorPart::contiguous(&scores, of_classes), TensorPart::contiguous(targets, samples)];
        dispatch_float!(scores.dtype(), T => {
            let kernel = move |out: &mut [T], scores: &[T], targets: &[i64]| {
                for ((sample, out), &target) in out.iter_mut().enumerate().zip(targets) {
                    if let Some(class) = self.class(op, target)? {
                        let score = item(scores, self.position(sample, class));
                        *out = T::from_i64(-1).times(score);
                    }
                }
                Ok(())
            };
            launch_binary(op, scores.placement(), targets.shape(), sources.map(Some), kernel)
        })
    }

    /// Returns zeros of `shape` with the negated gradient of each sample at its target: the reverse of
    /// [`select`](ClassGrid::select).
    pub fn distribute(
        self,
        op: &'static str,
        gradient: &Tensor,
        targets: &Tensor,
        shape: &[usize],
    ) -> Result<Tensor> {
        let (gradient, samples) = (gradient.contiguous_for_arithmetic()?, targets.numel());
        check_count(op, shape, samples.saturating_mul(self.classes))?;
        let sources = [&gradient, targets].map(|source| Some(TensorPart::contiguous(source, samples)));
        dispatch_float!(gradient.dtype(), T => {
            let kernel = move |out: &mut [T], gradients: &[T], targets: &[i64]| {
                for (sample, (&gradient, &target)) in gradients.iter().zip(targets).enumerate() {
                    if let Some(class) = self.class(op, target)?
                        && let Some(out) = out.get_mut(self.position(sample, class))
                    {
                        *out = T::from_i64(-1).times(gradient);
                    }
                }
                Ok(())
            };
            launch_binary(op, gradient.placement(), shape, sources, kernel)
        })
    }

    /// Returns the weight of the target of each sample in the type of arithmetic of `dtype`, and 0 for ignored samples.
    /// Without `weight` the weights are 1.
    pub fn weights(
        self,
        op: &'static str,
        weight: Option<&Tensor>,
        targets: &Tensor,
        dtype: DType,
    ) -> Result<Tensor> {
        let weight = weight.map(Tensor::contiguous_for_arithmetic).transpose()?;
        let (placement, has_weight) = (targets.placement(), weight.is_some());
        let part = weight.as_ref().map(|weight| TensorPart::contiguous(weight, self.classes));
        let sources = [part, Some(TensorPart::contiguous(targets, targets.numel()))];
        dispatch_float!(dtype, T => {
            let kernel = move |out: &mut [T], weights: &[T], targets: &[i64]| {
                for (out, &target) in out.iter_mut().zip(targets) {
                    if let Some(class) = self.class(op, target)? {
                        *out = if has_weight { item(weights, class) } else { T::from_i64(1) };
                    }
                }
                Ok(())
            };
            launch_binary(op, placement, targets.shape(), sources, kernel)
        })
    }
}

//! Softmax and loss functions.

use super::along_dim::apply_along_dim;
use crate::autograd::NodeBuilder;
use crate::dtype::{dispatch_float, dispatch_reduced};
use crate::error::Tuple;
use crate::{DType, Element, Error, Result, Tensor, kernel};

/// The reduction of the losses of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Returns the loss of each sample.
    None,
    /// Returns the mean of the losses.
    Mean,
    /// Returns the sum of the losses.
    Sum,
}

fn check_floating_point(op: &'static str, tensor: &Tensor) -> Result<()> {
    let dtype = tensor.dtype();
    if dtype.is_floating_point() { Ok(()) } else { Err(Error::not_floating_point(op, dtype)) }
}

/// Returns the number of classes of an input `[samples, classes]`, or an error if it is not one, or if `target` does
/// not have a class index for each sample.
fn check_classes(op: &'static str, input: &Tensor, target: &Tensor) -> Result<usize> {
    check_floating_point(op, input)?;
    let &[samples, classes] = input.shape() else {
        return Err(Error::shape(op, "input", "be of shape (samples, classes)", input.shape()));
    };
    if target.shape() != [samples] {
        let expected = format!("be of shape ({samples},) for an input of shape {}", Tuple(input.shape()));
        return Err(Error::shape(op, "target", expected, target.shape()));
    }
    if target.dtype() != DType::Int64 {
        let expected = "int64 class indices".to_owned();
        return Err(Error::DType { op, argument: "target", expected, given: target.dtype(), cure: "" });
    }
    if target.device() != input.device() {
        return Err(Error::Devices { op, left: input.device(), right: target.device() });
    }
    Ok(classes)
}

impl Tensor {
    /// Returns the logarithm of the [`softmax`](Tensor::softmax) along `dim`, which is also accurate where the
    /// softmax underflows.
    pub fn log_softmax(&self, dim: i64) -> Result<Tensor> {
        let op = "log_softmax";
        check_floating_point(op, self)?;
        let out = apply_along_dim(op, self, dim, |rows, length| {
            dispatch_float!(rows.dtype(), T => kernel::apply_along_last_dim(op, rows, length, rows.shape(), length, |row: &[T], out: &mut [T]| {
                let largest = row.iter().copied().fold(T::NEG_INFINITY, T::max);
                // If all elements are minus infinity the differences are NaN, as in PyTorch.
                let sum: f64 = row.iter().map(|&value| (value - largest).exp().to_f64()).sum();
                // The difference is computed first: added to a large maximum the logarithm would be lost in rounding.
                let logarithm = T::from_f64(sum.ln());
                out.iter_mut().zip(row).for_each(|(out, &value)| *out = (value - largest) - logarithm);
            }))
        })?;
        if let Some(mut builder) = NodeBuilder::new("LogSoftmaxBackward0", &[self])? {
            let saved = builder.save_output(&out)?;
            builder.set_history(&out, move |ctx, gradient| {
                let share = ctx.saved(saved)?.exp()?;
                let total = gradient.sum(Some(&[dim]), true)?;
                Ok(vec![Some(gradient.sub(&share.mul(&total)?)?)])
            });
        }
        Ok(out)
    }

    /// Returns the exponentials of the elements, normalized to a sum of 1 along `dim`.
    pub fn softmax(&self, dim: i64) -> Result<Tensor> {
        self.softmax_as("softmax", "SoftmaxBackward0", dim, false)
    }

    /// Returns the [`softmax`](Tensor::softmax) along `dim`, and 0 where all elements are minus infinity: PyTorch's
    /// `_safe_softmax`.
    pub(super) fn safe_softmax(&self, dim: i64) -> Result<Tensor> {
        self.softmax_as("softmax", "SafeSoftmaxBackward0", dim, true)
    }

    /// Returns the softmax along `dim`. Where all elements are minus infinity it is 0 if `is_safe`, else NaN.
    fn softmax_as(&self, op: &'static str, node: &'static str, dim: i64, is_safe: bool) -> Result<Tensor> {
        check_floating_point(op, self)?;
        let out = apply_along_dim(op, self, dim, |rows, length| {
            dispatch_float!(rows.dtype(), T => kernel::apply_along_last_dim(op, rows, length, rows.shape(), length, move |row: &[T], out: &mut [T]| {
                let largest = row.iter().copied().fold(T::NEG_INFINITY, T::max);
                if is_safe && row.iter().all(|&value| value == T::NEG_INFINITY) {
                    return out.fill(T::default());
                }
                out.iter_mut().zip(row).for_each(|(out, &value)| *out = (value - largest).exp());
                let sum: f64 = out.iter().map(|value| value.to_f64()).sum();
                out.iter_mut().for_each(|out| *out = T::from_f64(out.to_f64() / sum));
            }))
        })?;
        if let Some(mut builder) = NodeBuilder::new(node, &[self])? {
            let saved = builder.save_output(&out)?;
            builder.set_history(&out, move |ctx, gradient| {
                let share = ctx.saved(saved)?;
                let total = gradient.mul(&share)?.sum(Some(&[dim]), true)?;
                Ok(vec![Some(gradient.sub(&total)?.mul(&share)?)])
            });
        }
        Ok(out)
    }

    /// Returns the negative log-likelihood loss of rows of log-probabilities `[N, C]` for the classes `[N]`.
    pub fn nll_loss(&self, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
        self.nll_loss_for("nll_loss", target, reduction)
    }

    /// Returns the loss like [`nll_loss`](Tensor::nll_loss), for an operation that errors name.
    fn nll_loss_for(&self, op: &'static str, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
        let classes = check_classes(op, self, target)?;
        let losses = dispatch_reduced!(self.dtype(), T => {
            let rows = self.detach().contiguous()?;
            kernel::gather::<T>(op, &rows, &target.detach().contiguous()?, classes)
        })?;
        if let Some(mut builder) = NodeBuilder::new("NllLossBackward0", &[self])? {
            let saved = builder.save(target)?;
            builder.set_history(&losses, move |ctx, gradient| {
                Ok(vec![Some(nll_loss_backward(gradient, &ctx.saved(saved)?, classes)?)])
            });
        }
        match reduction {
            Reduction::None => Ok(losses),
            Reduction::Mean => losses.mean(None, false),
            Reduction::Sum => losses.sum(None, false),
        }
    }

    /// Returns the cross entropy of rows of logits `[N, C]` for the classes `[N]`.
    pub fn cross_entropy(&self, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
        let op = "cross_entropy";
        check_classes(op, self, target)?;
        self.log_softmax(1)?.nll_loss_for(op, target, reduction)
    }
}

/// Returns the gradient of the input of `nll_loss`: zeros except for the negated gradient at the target class of each
/// row.
fn nll_loss_backward(gradient: &Tensor, targets: &Tensor, classes: usize) -> Result<Tensor> {
    let out = dispatch_reduced!(gradient.dtype(), T => {
        let (gradient, targets) = (gradient.detach().contiguous()?, targets.detach().contiguous()?);
        kernel::scatter_add::<T>("nll_loss", &gradient, &targets, classes)
    })?;
    if let Some(mut builder) = NodeBuilder::new("NllLossBackwardBackward0", &[gradient])? {
        let saved = builder.save(targets)?;
        builder.set_history(&out, move |ctx, second| {
            Ok(vec![Some(second.nll_loss(&ctx.saved(saved)?, Reduction::None)?)])
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, doubles, gradcheck};

    fn scores() -> Tensor {
        doubles(&[1.0, -2.0, 0.5, 0.0, 3.0, -1.0], &[2, 3])
    }

    fn classes(values: &[i64]) -> Tensor {
        Tensor::from_slice(values, &[values.len()]).unwrap()
    }

    #[test]
    fn log_softmax_of_large_elements_does_not_overflow() {
        let x = doubles(&[1000.0, 1000.0, -1000.0], &[3]);
        let half = 0.5f64.ln();
        assert_close(&x.log_softmax(0).unwrap(), &[half, half, -2000.0 + half]);
        assert_close(&scores().softmax(1).unwrap().sum(Some(&[1]), false).unwrap(), &[1.0, 1.0]);
    }

    #[test]
    fn cross_entropy_reductions_agree() {
        let losses =
            scores().cross_entropy(&classes(&[2, 0]), Reduction::None).unwrap().to_vec::<f64>().unwrap();
        let mean = scores().cross_entropy(&classes(&[2, 0]), Reduction::Mean).unwrap();
        let sum = scores().cross_entropy(&classes(&[2, 0]), Reduction::Sum).unwrap();
        assert_close(&mean, &[(losses[0] + losses[1]) / 2.0]);
        assert_close(&sum, &[losses[0] + losses[1]]);
    }

    #[test]
    fn cross_entropy_reports_a_missing_class_and_the_number_of_classes() {
        for bad in [3, -1] {
            let error = scores().cross_entropy(&classes(&[0, bad]), Reduction::Mean).unwrap_err();
            assert!(matches!(error, Error::Class { index, classes: 3, .. } if index == bad), "{error}");
        }
        assert!(scores().cross_entropy(&classes(&[0]), Reduction::Mean).is_err());
        assert!(scores().cross_entropy(&doubles(&[0.0, 1.0], &[2]), Reduction::Mean).is_err());
        assert!(classes(&[1]).log_softmax(0).is_err() && scores().log_softmax(2).is_err());
    }

    #[test]
    fn losses_pass_gradcheck() {
        for dim in [0, 1] {
            gradcheck(|x| x[0].log_softmax(dim)?.pow(2.0), &[scores()]);
            gradcheck(|x| x[0].softmax(dim)?.pow(2.0), &[scores()]);
        }
        for reduction in [Reduction::None, Reduction::Mean, Reduction::Sum] {
            gradcheck(|x| x[0].cross_entropy(&classes(&[2, 0]), reduction)?.exp(), &[scores()]);
        }
    }
}

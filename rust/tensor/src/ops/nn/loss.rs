//! Losses of each element, and the reductions of losses.

use crate::error::Tuple;
use crate::layout::broadcast;
use crate::ops::elementwise::operand::check_numeric;
use crate::{DType, Error, Result, Tensor};

/// The reduction of the losses of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Returns the loss of each sample.
    None,
    /// Returns the mean of the losses.
    #[default]
    Mean,
    /// Returns the sum of the losses.
    Sum,
}

impl Reduction {
    /// Reduces losses. The mean of weighted losses is divided by `total`, the sum of the weights.
    pub(crate) fn apply(self, losses: Tensor, total: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
        match self {
            Reduction::None => Ok(losses),
            Reduction::Sum => losses.sum(None, false),
            Reduction::Mean => losses.sum(None, false)?.div(&total()?),
        }
    }

    /// Reduces losses without weights.
    pub(crate) fn of(self, losses: Tensor) -> Result<Tensor> {
        match self {
            Reduction::None => Ok(losses),
            Reduction::Sum => losses.sum(None, false),
            Reduction::Mean => losses.mean(None, false),
        }
    }
}

/// Multiplies losses by weights, if there are any.
pub(super) fn weigh(losses: Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
    match weight {
        Some(weight) => losses.mul(weight),
        None => Ok(losses),
    }
}

/// Returns the difference of the input and the target in the type of arithmetic, and the promoted type.
fn difference(op: &'static str, input: &Tensor, target: &Tensor) -> Result<(Tensor, DType)> {
    // As in PyTorch the operands are broadcast first: a 0-d operand is expanded.
    let dtype = input.dtype().promote(target.dtype());
    check_numeric(op, "input", dtype, "; float() converts it")?;
    broadcast(op, input.shape(), target.shape())?;
    let compute = dtype.compute();
    Ok((input.cast(compute)?.sub(&target.cast(compute)?).map_err(|error| error.during(op))?, dtype))
}

/// Multiplies losses by the weights of the elements of `input`, if there are any, reduces them and rounds them to
/// `dtype`. Sums of integers remain int64.
fn reduce_weighted(
    op: &'static str,
    input: &Tensor,
    (losses, dtype): (Tensor, DType),
    weight: Option<&Tensor>,
    reduction: Reduction,
) -> Result<Tensor> {
    let rounded = |losses: Tensor, dtype: DType| {
        let is_sum = reduction == Reduction::Sum && !dtype.is_floating_point();
        if is_sum { Ok(losses) } else { losses.cast(dtype) }
    };
    let Some(weight) = weight else { return rounded(reduction.of(losses)?, dtype) };
    if weight.shape() != input.shape() {
        let expected = format!("have the shape of the input, {}", Tuple(input.shape()));
        return Err(Error::shape(op, "weight", expected, weight.shape()));
    }
    let dtype = dtype.promote(weight.dtype());
    let weight = weight.cast(dtype.compute())?;
    rounded(reduction.apply(losses.mul(&weight)?, || weight.sum(None, false))?, dtype)
}

impl Tensor {
    /// Returns the squares of the differences to `target`. The weighted mean is divided by the sum of the weights.
    pub fn mse_loss(&self, target: &Tensor, weight: Option<&Tensor>, reduction: Reduction) -> Result<Tensor> {
        let op = "mse_loss";
        let (difference, dtype) = difference(op, self, target)?;
        Error::when(!dtype.is_floating_point(), || Error::not_floating_point(op, "input", dtype))?;
        let losses = difference.mul(&difference)?;
        reduce_weighted(op, self, (losses, dtype), weight, reduction)
    }

    /// Returns the absolute values of the differences to `target`. The weighted mean is divided by the sum of the
    /// weights.
    pub fn l1_loss(&self, target: &Tensor, weight: Option<&Tensor>, reduction: Reduction) -> Result<Tensor> {
        let op = "l1_loss";
        for (argument, tensor) in [("input", self), ("target", target)] {
            check_numeric(op, argument, tensor.dtype(), "; float() converts it")?;
        }
        let (difference, dtype) = difference(op, self, target)?;
        if reduction == Reduction::Mean && !dtype.is_floating_point() {
            return Err(Error::not_floating_point(op, "input", dtype));
        }
        reduce_weighted(op, self, (difference.abs()?, dtype), weight, reduction)
    }
}

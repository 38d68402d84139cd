//! Samples from distributions whose probabilities are elements of a tensor.

use crate::dtype::{Bool8, dispatch_float};
use crate::iterate::{TensorPart, check_count, launch_unary};
use crate::layout::signed;
use crate::ops::elementwise::operand::check_floating_point;
use crate::ops::elementwise::sign::set_zero_gradient;
use crate::ops::reduction::order::{numbered, position_of, sort};
use crate::storage::fallible_alloc::try_collect;
use crate::{Element, Error, Generator, Result, Tensor, iterate};

impl Generator {
    /// Returns 1 with the probability that each element says, else 0, in the type of `probabilities`:
    /// `torch.bernoulli`. The gradient is 0.
    pub fn bernoulli(&self, probabilities: &Tensor) -> Result<Tensor> {
        let op = "bernoulli";
        self.draw(probabilities.shape(), |seed| {
            let out = iterate::cast(&bernoulli(op, &probabilities.detach(), seed)?, probabilities.dtype())?;
            set_zero_gradient("BernoulliBackward0", probabilities, &out)?;
            Ok(out)
        })
    }

    /// Returns a tensor of the shape and type of `like` that is 1 with probability `p`, else 0, without history.
    pub fn bernoulli_p(&self, like: &Tensor, p: f64) -> Result<Tensor> {
        let out = Tensor::zeros(like.shape(), like.options())?;
        self.bernoulli_(&out, p).map_err(|error| error.during("bernoulli"))?;
        // The result is not visible to the program yet, so its version stays 0.
        out.storage_handle().set_version(0);
        Ok(out)
    }

    /// Returns `num_samples` indices of each row of `weights`, which are drawn in proportion to its elements:
    /// `torch.multinomial`.
    pub fn multinomial(&self, weights: &Tensor, num_samples: i64, replacement: bool) -> Result<Tensor> {
        let op = "multinomial";
        check_floating_point(op, weights)?;
        let &[ref rows @ .., categories] = weights.shape() else {
            return Err(Error::shape(op, "input", "have 1 or 2 dimensions", weights.shape()));
        };
        Error::when(rows.len() > 1 || categories == 0, || {
            Error::shape(op, "input", "have 1 or 2 dimensions, the last of a size above 0", weights.shape())
        })?;
        let samples = usize::try_from(num_samples).ok().filter(|&samples| samples > 0);
        let samples = samples.ok_or_else(|| Error::value(op, "num_samples", "be positive", num_samples))?;
        if samples > categories && !replacement {
            let expected = format!("be at most {categories}, the number of categories, without replacement");
            return Err(Error::value(op, "num_samples", expected, num_samples));
        }
        let shape: Vec<usize> = rows.iter().copied().chain([samples]).collect();
        self.draw(&shape, |seed| {
            let read = weights.contiguous_for_arithmetic()?;
            dispatch_float!(read.dtype(), T => multinomial::<T>(op, &read, &shape, replacement, seed))
        })
    }
}

/// Returns true with the probability of each element of a tensor without history.
pub(crate) fn bernoulli(op: &'static str, probabilities: &Tensor, seed: u64) -> Result<Tensor> {
    check_floating_point(op, probabilities)?;
    let (read, shape) = (probabilities.contiguous_for_arithmetic()?, probabilities.shape());
    let source = TensorPart::contiguous(&read, shape.iter().product());
    dispatch_float!(read.dtype(), T => launch_unary(op, shape, source, move |out: &mut [Bool8], data: &[T]| {
        let mut generator = fastrand::Rng::with_seed(seed);
        for (out, probability) in out.iter_mut().zip(data) {
            let probability = probability.to_f64();
            if !(0.0..=1.0).contains(&probability) {
                return Err(Error::value(op, "each probability", "be from 0 to 1", probability));
            }
            *out = Bool8::new(generator.f64() < probability);
        }
        Ok(())
    }))
}

/// Returns indices of the rows of contiguous `weights`, which are drawn in proportion to the weights. The result has
/// `shape`, whose last size is the number of samples of a row.
pub(crate) fn multinomial<T: Element>(
    op: &'static str,
    weights: &Tensor,
    shape: &[usize],
    replacement: bool,
    seed: u64,
) -> Result<Tensor> {
    let samples = shape.last().copied().unwrap_or(0);
    let (categories, count) = (weights.shape().last().copied().unwrap_or(0), weights.numel());
    check_count(op, shape, count.checked_div(categories).unwrap_or(0).saturating_mul(samples))?;
    launch_unary(op, shape, TensorPart::contiguous(weights, count), move |out: &mut [i64], data: &[T]| {
        let mut generator = fastrand::Rng::with_seed(seed);
        let rows = data.chunks_exact(categories.max(1));
        for (out, row) in out.chunks_exact_mut(samples.max(1)).zip(rows) {
            let row = checked_weights(op, row)?;
            if replacement {
                draw_with_replacement(out, &row, &mut generator)?;
            } else {
                draw_without_replacement(out, &row, &mut generator)?;
            }
        }
        Ok(())
    })
}

/// Returns the weights of a row, or an error unless they describe a distribution.
fn checked_weights<T: Element>(op: &'static str, row: &[T]) -> Result<Vec<f64>> {
    let weights = try_collect(row.len(), row.iter().map(|weight| weight.to_f64()))?;
    if let Some(wrong) = weights.iter().find(|weight| !weight.is_finite() || **weight < 0.0) {
        return Err(Error::value(op, "each weight", "be finite and not negative", wrong));
    }
    if weights.iter().all(|&weight| weight == 0.0) {
        return Err(Error::value(op, "the weights of each row", "not all be 0", 0));
    }
    Ok(weights)
}

/// Draws each index by inversion of the cumulative weights.
fn draw_with_replacement(out: &mut [i64], weights: &[f64], generator: &mut fastrand::Rng) -> Result<()> {
    // Divided by the largest weight, so that their sum is finite.
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let mut total = 0.0;
    let bounds = weights.iter().map(|weight| {
        total += weight / largest;
        total
    });
    let bounds = try_collect(weights.len(), bounds)?;
    // An index of weight 0 has the bound of its predecessor, and rounding may return the total.
    let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
    for out in out {
        let drawn = generator.f64() * total;
        let index = bounds.partition_point(|&bound| bound <= drawn).min(last);
        *out = signed(index);
    }
    Ok(())
}

/// Draws distinct indices: those of the least of exponentially distributed numbers, whose rates are the weights, in
/// their order. Indices of weight 0 come last.
fn draw_without_replacement(out: &mut [i64], weights: &[f64], generator: &mut fastrand::Rng) -> Result<()> {
    // 0 / 0 is NaN: the index has weight 0, and comes last.
    let arrivals = weights.iter().map(|weight| -(1.0 - generator.f64()).ln() / weight);
    let arrivals: Vec<f64> = try_collect(weights.len(), arrivals)?;
    let mut arrivals = numbered(&arrivals, false)?;
    sort(&mut arrivals, out.len());
    out.iter_mut().zip(arrivals).for_each(|(out, arrival)| *out = position_of(arrival));
    Ok(())
}

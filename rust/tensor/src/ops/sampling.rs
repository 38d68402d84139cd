//! Samples from distributions whose probabilities are elements of a tensor.

use super::operand::check_floating_point;
use crate::autograd::NodeBuilder;
use crate::dtype::dispatch_float;
use crate::{Error, Generator, Result, Tensor, kernel};

impl Tensor {
    /// Returns 1 with the probability that each element says, else 0, in the type of this tensor: `torch.bernoulli`. The
    /// gradient is 0.
    pub fn bernoulli(&self) -> Result<Tensor> {
        Generator::of(self.placement()).bernoulli(self)
    }

    /// Returns a tensor of this shape and type that is 1 with probability `p`, else 0, without history.
    pub fn bernoulli_p(&self, p: f64) -> Result<Tensor> {
        Generator::of(self.placement()).bernoulli_p(self, p)
    }

    /// Returns `num_samples` indices of each row, which are drawn in proportion to its elements: `torch.multinomial`.
    pub fn multinomial(&self, num_samples: i64, replacement: bool) -> Result<Tensor> {
        Generator::of(self.placement()).multinomial(self, num_samples, replacement)
    }
}

impl Generator {
    /// Returns numbers like [`Tensor::bernoulli`].
    pub fn bernoulli(&self, probabilities: &Tensor) -> Result<Tensor> {
        let op = "bernoulli";
        check_floating_point(op, probabilities)?;
        let (dtype, seed) = (probabilities.dtype(), self.next_seed());
        let read = kernel::cast(&probabilities.detach().contiguous()?, dtype.compute())?;
        let drawn = dispatch_float!(dtype, T => kernel::bernoulli::<T>(op, &read, seed))?;
        let out = kernel::cast(&drawn, dtype)?;
        if let Some(builder) = NodeBuilder::new("BernoulliBackward0", &[probabilities])? {
            builder.set_history(&out, |_, gradient| {
                Ok(vec![Some(Tensor::zeros(gradient.shape(), gradient.options())?)])
            })?;
        }
        Ok(out)
    }

    /// Returns numbers like [`Tensor::bernoulli_p`].
    pub fn bernoulli_p(&self, like: &Tensor, p: f64) -> Result<Tensor> {
        let out = Tensor::zeros(like.shape(), like.options())?;
        self.bernoulli_(&out, p).map_err(|error| error.during("bernoulli"))?;
        // The result is not visible to the program yet, so its version stays 0.
        out.storage_handle().set_version(0);
        Ok(out)
    }

    /// Returns indices like [`Tensor::multinomial`].
    pub fn multinomial(&self, weights: &Tensor, num_samples: i64, replacement: bool) -> Result<Tensor> {
        let op = "multinomial";
        check_floating_point(op, weights)?;
        let &[ref rows @ .., categories] = weights.shape() else {
            return Err(Error::shape(op, "input", "have 1 or 2 dimensions", weights.shape()));
        };
        if rows.len() > 1 || categories == 0 {
            return Err(Error::shape(
                op,
                "input",
                "have 1 or 2 dimensions, the last of a size above 0",
                weights.shape(),
            ));
        }
        let samples = usize::try_from(num_samples).ok().filter(|&samples| samples > 0);
        let samples = samples.ok_or_else(|| Error::value(op, "num_samples", "be positive", num_samples))?;
        if samples > categories && !replacement {
            let expected = format!("be at most {categories}, the number of categories, without replacement");
            return Err(Error::value(op, "num_samples", expected, num_samples));
        }
        let shape: Vec<usize> = rows.iter().copied().chain([samples]).collect();
        let (dtype, seed) = (weights.dtype(), self.next_seed());
        let read = kernel::cast(&weights.detach().contiguous()?, dtype.compute())?;
        dispatch_float!(dtype, T => kernel::multinomial::<T>(op, &read, &shape, replacement, seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::testing::doubles;

    #[test]
    fn bernoulli_draws_ones_with_each_probability() {
        let p = doubles(&[0.0, 0.3, 1.0], &[3, 1]).expand(&[3, 10_000]).unwrap();
        let sums = p.bernoulli().unwrap().sum(Some(&[1]), false).unwrap().to_vec::<f64>().unwrap();
        assert!(sums[0] == 0.0 && sums[2] == 10_000.0 && (sums[1] - 3_000.0).abs() < 200.0);
        for wrong in [-0.1, 1.5, f64::NAN] {
            assert!(matches!(doubles(&[wrong], &[1]).bernoulli(), Err(Error::Value { op: "bernoulli", .. })));
        }
        assert!(p.cast(DType::Int64).unwrap().bernoulli().is_err());
    }

    #[test]
    fn multinomial_draws_in_proportion_to_the_weights() {
        let weights = doubles(&[0.0, 1.0, 3.0, 5.0, 0.0, 0.0], &[2, 3]);
        let drawn = weights.multinomial(4_000, true).unwrap();
        assert_eq!((drawn.shape(), drawn.dtype()), (&[2, 4_000][..], DType::Int64));
        let drawn = drawn.to_vec::<i64>().unwrap();
        let twos = drawn[..4_000].iter().filter(|&&index| index == 2).count();
        assert!((2_800..3_200).contains(&twos) && !drawn[..4_000].contains(&0));
        assert!(drawn[4_000..].iter().all(|&index| index == 0));
    }

    #[test]
    fn multinomial_without_replacement_returns_distinct_indices() {
        let weights = doubles(&[1.0, 2.0, 7.0], &[3]).expand(&[5_000, 3]).unwrap();
        let drawn = weights.multinomial(3, false).unwrap().to_vec::<i64>().unwrap();
        let mut first = [0usize; 3];
        for row in drawn.chunks_exact(3) {
            first[usize::try_from(row[0]).unwrap()] += 1;
            let mut sorted = row.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!((3_300..3_700).contains(&first[2]) && (380..620).contains(&first[0]), "{first:?}");
    }

    #[test]
    fn multinomial_rejects_weights_and_numbers_that_do_not_fit() {
        let draw = |weights: &[f64], samples| doubles(weights, &[weights.len()]).multinomial(samples, false);
        assert!(draw(&[1.0, 1.0], 3).is_err() && draw(&[1.0], 0).is_err() && draw(&[], 1).is_err());
        for wrong in [[-1.0, 2.0], [f64::NAN, 1.0], [f64::INFINITY, 1.0], [0.0, 0.0]] {
            assert!(matches!(draw(&wrong, 1), Err(Error::Value { op: "multinomial", .. })), "{wrong:?}");
        }
        assert!(doubles(&[1.0], &[]).multinomial(1, true).is_err());
        assert!(doubles(&[1.0], &[1, 1, 1]).multinomial(1, true).is_err());
        assert!(Tensor::ones(&[2], DType::Int64).unwrap().multinomial(1, true).is_err());
    }
}

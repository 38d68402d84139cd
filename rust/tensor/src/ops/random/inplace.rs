//! In-place operations that draw random numbers.

use super::new::{drawn, each, normal, uniform};
use super::samples::bernoulli;
use crate::dtype::Bool8;
use crate::error::check_fits;
use crate::layout::check_broadcastable_to;
use crate::ops::elementwise::operand::{Operand, check_floating_point};
use crate::ops::elementwise::writing::overwritten;
use crate::recording::NodeBuilder;
use crate::{DType, Error, Generator, Result, Scalar, Tensor, TensorOptions, iterate};

impl Tensor {
    /// Overwrites the elements with those of a tensor of the same shape and type that `drawn` returns.
    fn overwrite_drawn(
        &self,
        op: &'static str,
        node: &'static str,
        drawn: impl FnOnce() -> Result<Tensor>,
    ) -> Result<&Tensor> {
        let work = |_: Option<&mut NodeBuilder>| iterate::copy_into(op, self, &drawn()?);
        self.run_inplace(op, node, &[], work, |ctx, gradient| Ok(vec![overwritten(ctx, gradient)?]))
    }
}

impl Generator {
    /// Overwrites the elements of `target` with numbers of the normal distribution with this mean and standard
    /// deviation.
    pub fn normal_<'t>(&self, target: &'t Tensor, mean: f64, std: f64) -> Result<&'t Tensor> {
        let op = "normal_";
        check_floating_point(op, target)?;
        if std.is_nan() || std < 0.0 {
            return Err(Error::value(op, "std", "not be negative", Scalar::Float(std)));
        }
        let (shape, options) = (target.shape(), target.options());
        self.draw(shape, |seed| {
            target
                .overwrite_drawn(op, "NormalBackward0", || drawn(op, seed, shape, options, normal(mean, std)))
        })
    }

    /// Overwrites the elements of `target` with uniformly distributed numbers from `low` to `high` (exclusive).
    pub fn uniform_<'t>(&self, target: &'t Tensor, low: f64, high: f64) -> Result<&'t Tensor> {
        let (op, dtype) = ("uniform_", target.dtype());
        check_floating_point(op, target)?;
        for (argument, bound) in [("from_", low), ("to", high)] {
            if !bound.is_finite() {
                return Err(Error::value(op, argument, "be finite", Scalar::Float(bound)));
            }
            check_fits(Scalar::Float(bound), dtype, op, argument)?;
        }
        if low > high {
            let expected = format!("not be less than from_, {}", Scalar::Float(low));
            return Err(Error::value(op, "to", expected, Scalar::Float(high)));
        }
        let unit = uniform(dtype);
        let number = move |generator: &mut fastrand::Rng| {
            let number: f64 = Scalar::Float(low + unit(generator) * (high - low)).stored(dtype).cast();
            // Rounding may return the bound, which the range excludes.
            if number < high { number } else { low }
        };
        let (shape, options) = (target.shape(), target.options());
        self.draw(shape, |seed| {
            target.overwrite_drawn(op, "UniformBackward0", || drawn(op, seed, shape, options, each(number)))
        })
    }

    /// Overwrites the elements of `target` with 1 with probability `p`, else 0. A tensor of probabilities is
    /// broadcast.
    pub fn bernoulli_<'t, 'a>(&self, target: &'t Tensor, p: impl Into<Operand<'a>>) -> Result<&'t Tensor> {
        let op = "bernoulli_";
        match p.into() {
            Operand::Scalar(p) => {
                let probability: f64 = p.cast();
                if !(0.0..=1.0).contains(&probability) {
                    return Err(Error::value(op, "p", "be from 0 to 1", p));
                }
                let (shape, options) = (target.shape(), target.options());
                let bools = TensorOptions { dtype: DType::Bool, ..options };
                self.draw(shape, |seed| {
                    target.overwrite_drawn(op, "BernoulliBackward2", || {
                        let drawn = iterate::launch_nullary(op, bools, shape, move |out: &mut [Bool8]| {
                            let mut generator = fastrand::Rng::with_seed(seed);
                            out.iter_mut().for_each(|out| *out = Bool8::new(generator.f64() < probability));
                        })?;
                        iterate::cast(&drawn, options.dtype)
                    })
                })
            }
            Operand::Tensor(p) => {
                check_broadcastable_to(target.shape(), op, "p", p.shape())?;
                self.draw(target.shape(), |seed| {
                    let drawn = bernoulli(op, &p.detach().expand_as(target)?, seed)?;
                    let drawn = iterate::cast(&drawn, target.dtype())?;
                    let work = |_: Option<&mut NodeBuilder>| iterate::copy_into(op, target, &drawn);
                    target.run_inplace(op, "BernoulliBackward1", &[p], work, |ctx, gradient| {
                        let of_p = ctx.gradient(1, || Tensor::zeros(gradient.shape(), gradient.options()))?;
                        Ok(vec![overwritten(ctx, gradient)?, of_p])
                    })
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Placement;

    fn values(tensor: &Tensor) -> Vec<f64> {
        tensor.to_vec().unwrap()
    }

    #[test]
    fn uniform_never_returns_the_upper_bound() {
        let cpu = Generator::of(Placement::Cpu);
        let x = Tensor::zeros(&[20_000], DType::Float16).unwrap();
        assert!(values(cpu.uniform_(&x, 1.0, 2.0).unwrap()).iter().all(|value| (1.0..2.0).contains(value)));
        assert_eq!(values(cpu.uniform_(&x, 3.0, 3.0).unwrap())[..2], [3.0, 3.0]);
    }
}

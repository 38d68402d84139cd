//! In-place operations that draw random numbers.

use super::new::{drawn, drawn_as, each, normal, uniform};
use super::samples::bernoulli;
use crate::dtype::Bool8;
use crate::error::check_fits;
use crate::layout::check_broadcastable_to;
use crate::ops::elementwise::operand::{Operand, check_floating_point};
use crate::recording::NodeBuilder;
use crate::{Error, Generator, Result, Scalar, Tensor, iterate};

impl Tensor {
    /// Overwrites the elements with those of a tensor of the same shape and type that `drawn` returns. The gradients of
    /// this tensor and of its probabilities, if they are given, are zeros.
    fn overwrite_drawn(
        &self,
        op: &'static str,
        node: &'static str,
        probabilities: Option<&Tensor>,
        drawn: impl FnOnce() -> Result<Tensor>,
    ) -> Result<&Tensor> {
        let work = |_: Option<&mut NodeBuilder>| iterate::copy_into(op, self, &drawn()?);
        let inputs = probabilities.as_slice();
        let count = inputs.len();
        self.run_inplace(op, node, inputs, work, move |ctx, gradient| {
            let zeros = |input| ctx.gradient(input, || Tensor::zeros(gradient.shape(), gradient.options()));
            (0..=count).map(zeros).collect()
        })
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
            let numbers = || drawn(op, seed, shape, options, normal(mean, std));
            target.overwrite_drawn(op, "NormalBackward0", None, numbers)
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
            let numbers = || drawn(op, seed, shape, options, each(number));
            target.overwrite_drawn(op, "UniformBackward0", None, numbers)
        })
    }

    /// Overwrites the elements of `target` with 1 with probability `p`, else 0. A tensor of probabilities is
    /// broadcast.
    pub fn bernoulli_<'t, 'a>(&self, target: &'t Tensor, p: impl Into<Operand<'a>>) -> Result<&'t Tensor> {
        self.bernoulli_by(target, p.into())
    }

    fn bernoulli_by<'t>(&self, target: &'t Tensor, p: Operand<'_>) -> Result<&'t Tensor> {
        let op = "bernoulli_";
        match p {
            Operand::Scalar(p) => {
                let probability: f64 = p.cast();
                if !(0.0..=1.0).contains(&probability) {
                    return Err(Error::value(op, "p", "be from 0 to 1", p));
                }
                let (shape, options) = (target.shape(), target.options());
                let fill = move |generator: &mut fastrand::Rng, out: &mut [Bool8]| {
                    out.iter_mut().for_each(|out| *out = Bool8::new(generator.f64() < probability));
                };
                self.draw(shape, |seed| {
                    let bools = || drawn_as(op, seed, shape, options, fill);
                    target.overwrite_drawn(op, "BernoulliBackward2", None, bools)
                })
            }
            Operand::Tensor(p) => {
                check_broadcastable_to(target.shape(), op, "p", p.shape())?;
                self.draw(target.shape(), |seed| {
                    let drawn = bernoulli(op, &p.detach().expand_as(target)?, seed)?;
                    let drawn = iterate::cast(&drawn, target.dtype())?;
                    target.overwrite_drawn(op, "BernoulliBackward1", Some(p), || Ok(drawn))
                })
            }
        }
    }
}

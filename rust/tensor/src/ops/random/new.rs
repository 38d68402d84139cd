//! Random numbers.

use std::f64::consts::TAU;

use crate::dtype::dispatch_float;
use crate::error::check_fits;
use crate::layout::signed;
use crate::loops::real::Real;
use crate::loops::vectorized;
use crate::ops::elementwise::operand::check_numeric;
use crate::{DType, Element, Error, Generator, Result, Scalar, Tensor, TensorOptions, iterate};

/// The number of elements that are drawn at once. It is even, because numbers of the normal distribution come in pairs.
const BLOCK: usize = 256;

/// Returns a tensor of the type of `options` whose elements `fill` draws as `T` from a generator with this seed.
pub(crate) fn drawn_as<T: Element>(
    op: &'static str,
    seed: u64,
    shape: &[usize],
    options: TensorOptions,
    fill: impl Fn(&mut fastrand::Rng, &mut [T]) + Send + Sync + 'static,
) -> Result<Tensor> {
    let own = TensorOptions { dtype: T::DTYPE, ..options };
    let fill = move |out: &mut [T]| fill(&mut fastrand::Rng::with_seed(seed), out);
    iterate::cast(&iterate::launch_nullary(op, own, shape, fill)?, options.dtype)
}

/// Returns a tensor of numbers that `fill` draws from a generator with this seed, at most `BLOCK` at a time.
pub(crate) fn drawn(
    op: &'static str,
    seed: u64,
    shape: &[usize],
    options: TensorOptions,
    fill: impl Fn(&mut fastrand::Rng, &mut [f64]) + Send + Sync + 'static,
) -> Result<Tensor> {
    let dtype = options.dtype;
    Error::when(!dtype.is_floating_point(), || Error::dtype(op, "dtype", "floating point", dtype))?;
    dispatch_float!(dtype, T => drawn_as(op, seed, shape, options, move |generator, out: &mut [T]| {
        let mut numbers = [0.0; BLOCK];
        for out in out.chunks_mut(BLOCK) {
            let (numbers, _) = numbers.split_at_mut(out.len());
            fill(generator, numbers);
            out.iter_mut().zip(numbers).for_each(|(out, number)| *out = T::from_f64(*number));
        }
    }))
}

/// Returns a function that draws each number of a block with `f`.
pub(crate) fn each(
    f: impl Fn(&mut fastrand::Rng) -> f64 + Send + Sync + 'static,
) -> impl Fn(&mut fastrand::Rng, &mut [f64]) + Send + Sync {
    move |generator, numbers| numbers.iter_mut().for_each(|number| *number = f(generator))
}

/// Returns a function that draws numbers from 0 to 1 (exclusive), which rounding to `dtype` does not change.
pub(crate) fn uniform(dtype: DType) -> impl Fn(&mut fastrand::Rng) -> f64 + Send + Sync + Copy {
    // As many bits as the mantissa has are exact: rounding never returns 1.
    let bits = match dtype {
        DType::BFloat16 => Some(8),
        DType::Float16 => Some(11),
        DType::Float32 => Some(24),
        _ => None,
    };
    move |generator| match bits {
        Some(bits) => f64::from(generator.u32(..) >> (u32::BITS - bits)) / f64::from(1u32 << bits),
        None => generator.f64(),
    }
}

/// Returns a function that draws a block of numbers of the normal distribution with this mean and standard deviation.
///
/// Source: Box and Muller, "A Note on the Generation of Random Normal Deviates" (1958).
pub(crate) fn normal(mean: f64, std: f64) -> impl Fn(&mut fastrand::Rng, &mut [f64]) + Send + Sync {
    move |generator, numbers| {
        let pairs = numbers.len().div_ceil(2);
        let (mut sizes, mut angles) = ([0.0; BLOCK / 2], [0.0; BLOCK / 2]);
        for (size, angle) in sizes.iter_mut().zip(&mut angles).take(pairs) {
            // 1 - u is never 0.
            (*size, *angle) = (1.0 - generator.f64(), TAU * generator.f64());
        }
        vectorized(
            #[inline(always)]
            || {
                for (size, angle) in sizes.iter_mut().zip(&mut angles).take(pairs) {
                    let radius = std * (-2.0 * Real::ln(*size)).sqrt();
                    (*size, *angle) =
                        (radius.mul_add(Real::cos(*angle), mean), radius.mul_add(Real::sin(*angle), mean));
                }
            },
        );
        let drawn = sizes.iter().zip(&angles).flat_map(|(first, second)| [*first, *second]);
        numbers.iter_mut().zip(drawn).for_each(|(number, drawn)| *number = drawn);
    }
}

/// Returns an error unless a tensor of `dtype` can hold a bound of random integers.
fn check_bound(op: &'static str, argument: &'static str, bound: i64, dtype: DType) -> Result<()> {
    let value = Scalar::Int(bound);
    match dtype {
        DType::Bool if !(0..=1).contains(&bound) => Err(Error::out_of_bounds(op, argument, value, dtype)),
        dtype if dtype.is_floating_point() => {
            let fits = Scalar::Float(bound as f64).fits(dtype);
            if fits { Ok(()) } else { Err(Error::out_of_bounds(op, argument, value, dtype)) }
        }
        _ => check_fits(value, dtype, op, argument).map(drop),
    }
}

impl Generator {
    /// Returns uniformly distributed numbers from 0 to 1 (exclusive).
    pub fn rand(&self, shape: &[usize], options: impl Into<TensorOptions>) -> Result<Tensor> {
        self.rand_as(shape, options.into())
    }

    fn rand_as(&self, shape: &[usize], options: TensorOptions) -> Result<Tensor> {
        self.draw(shape, |seed| drawn("rand", seed, shape, options, each(uniform(options.dtype))))
    }

    /// Returns numbers of the standard normal distribution.
    pub fn randn(&self, shape: &[usize], options: impl Into<TensorOptions>) -> Result<Tensor> {
        self.randn_as(shape, options.into())
    }

    fn randn_as(&self, shape: &[usize], options: TensorOptions) -> Result<Tensor> {
        self.draw(shape, |seed| drawn("randn", seed, shape, options, normal(0.0, 1.0)))
    }

    /// Returns uniformly distributed integers from `low` to `high` (exclusive), of any type that holds them.
    pub fn randint(
        &self,
        low: i64,
        high: i64,
        shape: &[usize],
        options: impl Into<TensorOptions>,
    ) -> Result<Tensor> {
        self.randint_as(low, high, shape, options.into())
    }

    fn randint_as(&self, low: i64, high: i64, shape: &[usize], options: TensorOptions) -> Result<Tensor> {
        let op = "randint";
        Error::when(low >= high, || Error::value(op, "high", format!("be greater than low ({low})"), high))?;
        check_bound(op, "low", low, options.dtype)?;
        check_bound(op, "high - 1", high - 1, options.dtype)?;
        let fill = move |generator: &mut fastrand::Rng, out: &mut [i64]| {
            out.iter_mut().for_each(|out| *out = generator.i64(low..high));
        };
        self.draw(shape, |seed| drawn_as(op, seed, shape, options, fill))
    }

    /// Returns the integers from 0 to `n` (exclusive) in random order.
    pub fn randperm(&self, n: usize, options: impl Into<TensorOptions>) -> Result<Tensor> {
        self.randperm_as(n, options.into())
    }

    fn randperm_as(&self, n: usize, options: TensorOptions) -> Result<Tensor> {
        let op = "randperm";
        let dtype = options.dtype;
        check_numeric(op, "dtype", dtype, "")?;
        let last = signed(n).saturating_sub(1).max(0);
        // A floating-point type that holds both of two neighbours holds all smaller integers.
        let is_exact = [last, (last - 1).max(0)]
            .into_iter()
            .all(|number| Scalar::Int(number).stored(dtype).cast::<i64>() == number);
        Error::when(!is_exact, || Error::out_of_bounds(op, "n", Scalar::Int(last), dtype))?;
        let fill = |generator: &mut fastrand::Rng, out: &mut [i64]| {
            out.iter_mut().zip(0..).for_each(|(out, number)| *out = number);
            generator.shuffle(out);
        };
        // One element has one order, for which nothing is drawn, as in PyTorch.
        self.draw(&[n.saturating_sub(1)], |seed| drawn_as(op, seed, &[n], options, fill))
    }
}

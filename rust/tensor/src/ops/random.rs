//! Random numbers from the generator of the process.

use std::f64::consts::TAU;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::dtype::dispatch_float;
use crate::{DType, Element, Error, Result, Tensor, TensorOptions, kernel};

/// The default seed. It is fixed, so that runs are reproducible.
const FIRST_SEED: u64 = 0x5eed;

/// The seed of the next random tensor. Not a lock: a child that is forked while another thread draws must be able to
/// draw.
static NEXT_SEED: AtomicU64 = AtomicU64::new(FIRST_SEED);

/// Sets the seed of the random numbers: `torch.manual_seed`. The same calls return the same numbers after the same
/// seed.
pub fn manual_seed(seed: u64) {
    NEXT_SEED.store(seed, Ordering::Relaxed);
}

/// Returns the seed of the next tensor, whose numbers are the same on every device.
fn next_seed() -> u64 {
    // The golden ratio in 64 bits: consecutive seeds share no bit pattern (Weyl sequence).
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    NEXT_SEED.fetch_add(STEP, Ordering::Relaxed)
}

/// Returns a tensor of numbers that `f` draws.
pub(super) fn draw(
    op: &'static str,
    shape: &[usize],
    options: TensorOptions,
    f: impl Fn(&mut fastrand::Rng) -> f64 + Send + Sync + 'static,
) -> Result<Tensor> {
    let dtype = options.dtype;
    if !dtype.is_floating_point() {
        let expected = "floating point".to_owned();
        return Err(Error::DType { op, argument: "dtype", expected, given: dtype, cure: "" });
    }
    let seed = next_seed();
    let computed = TensorOptions { dtype: dtype.compute(), ..options };
    let drawn = dispatch_float!(dtype, T => kernel::launch_nullary(op, computed, shape, move |out: &mut [T]| {
        let mut generator = fastrand::Rng::with_seed(seed);
        out.iter_mut().for_each(|out| *out = T::from_f64(f(&mut generator)));
    }))?;
    kernel::cast(&drawn, dtype)
}

impl Tensor {
    /// Returns uniformly distributed numbers from 0 to 1 (exclusive).
    pub fn rand(shape: &[usize], options: impl Into<TensorOptions>) -> Result<Self> {
        let options = options.into();
        // As many bits as the mantissa has are exact: rounding never returns 1.
        let bits = match options.dtype {
            DType::BFloat16 => 8,
            DType::Float16 => 11,
            DType::Float32 => 24,
            _ => return draw("rand", shape, options, fastrand::Rng::f64),
        };
        draw("rand", shape, options, move |generator| {
            f64::from(generator.u32(..) >> (u32::BITS - bits)) / f64::from(1u32 << bits)
        })
    }

    /// Returns numbers of the standard normal distribution.
    pub fn randn(shape: &[usize], options: impl Into<TensorOptions>) -> Result<Self> {
        // Box-Muller transform; 1 - u is never 0.
        draw("randn", shape, options.into(), |generator| {
            (-2.0 * (1.0 - generator.f64()).ln()).sqrt() * (TAU * generator.f64()).cos()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because the generator is global and tests run concurrently.
    #[test]
    fn rand_and_randn_repeat_after_manual_seed_and_are_distributed() {
        let count = 20_000;
        manual_seed(7);
        let (even, normal) =
            (Tensor::rand(&[count], DType::Float32), Tensor::randn(&[count], DType::Float64));
        let even = even.unwrap().to_vec::<f64>().unwrap();
        let normal = normal.unwrap().to_vec::<f64>().unwrap();
        assert!(even.iter().all(|value| (0.0..1.0).contains(value)));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / count as f64;
        assert!((mean(&even) - 0.5).abs() < 0.02 && mean(&normal).abs() < 0.04);
        let squares: Vec<f64> = normal.iter().map(|value| value * value).collect();
        assert!((mean(&squares) - 1.0).abs() < 0.05);
        manual_seed(7);
        assert_eq!(Tensor::rand(&[count], DType::Float32).unwrap().to_vec::<f64>().unwrap(), even);
        for dtype in [DType::Float16, DType::BFloat16] {
            let halves = Tensor::rand(&[count], dtype).unwrap().to_vec::<f64>().unwrap();
            assert!(
                halves.iter().all(|value| (0.0..1.0).contains(value)) && (mean(&halves) - 0.5).abs() < 0.02
            );
        }
        assert!(Tensor::rand(&[1], DType::Int64).is_err());
    }
}

//! Plans of one-dimensional transforms: by the algorithms of `rustfft`, or by MKL.

use std::sync::Arc;

use rustfft::algorithm::butterflies::{Butterfly3, Butterfly5, Butterfly7};
use rustfft::algorithm::{BluesteinsAlgorithm, MixedRadix, Radix4};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::mkl::Descriptor;
use crate::Result;
use crate::storage::fallible_alloc::{check_available, try_from_elem};

/// A transform of signals of one length, in `float64`.
#[derive(Clone)]
pub(super) enum Plan {
    Native(Arc<dyn Fft<f64>>),
    Mkl(Arc<Descriptor>, FftDirection),
}

impl Plan {
    /// Plans transforms of `length` elements, at least one, by MKL, or returns why it does not.
    pub fn by_mkl(length: usize, direction: FftDirection) -> Result<Self, String> {
        Ok(Plan::Mkl(Arc::new(Descriptor::new(length)?), direction))
    }

    /// Plans transforms of `length` elements, at least one.
    pub fn new(length: usize, direction: FftDirection) -> Result<Self> {
        /// More bytes than all tables of an element have: those of a length that is a large prime are the longest.
        const BYTES: usize = 256;
        check_available(length.saturating_mul(BYTES))?;
        Ok(Plan::Native(planned(length, direction)))
    }

    /// Transforms what `load` writes, and passes the result to `store`.
    pub fn run(
        &self,
        load: impl FnOnce(&mut [Complex<f64>]),
        store: impl FnOnce(&[Complex<f64>]),
    ) -> Result<()> {
        let (length, scratch) = match self {
            Plan::Native(fft) => (fft.len(), fft.get_inplace_scratch_len()),
            Plan::Mkl(descriptor, _) => (descriptor.length(), 0),
        };
        let mut memory = try_from_elem(Complex::new(0.0, 0.0), length.saturating_add(scratch))?;
        let (signal, scratch) = memory.split_at_mut(length);
        load(signal);
        match self {
            Plan::Native(fft) => fft.process_with_scratch(signal, scratch),
            Plan::Mkl(descriptor, direction) => descriptor.run(*direction, signal)?,
        }
        store(signal);
        Ok(())
    }
}

/// Returns a transform: Cooley and Tukey's for factors 2, 3, 5 and 7, and Bluestein's for what remains. The planner of
/// `rustfft` knows more algorithms, and makes the library five times as large.
fn planned(length: usize, direction: FftDirection) -> Arc<dyn Fft<f64>> {
    if length.is_power_of_two() {
        return Arc::new(Radix4::new(length, direction));
    }
    for factor in [3, 5, 7] {
        if length.is_multiple_of(factor) {
            let small: Arc<dyn Fft<f64>> = match factor {
                3 => Arc::new(Butterfly3::new(direction)),
                5 => Arc::new(Butterfly5::new(direction)),
                _ => Arc::new(Butterfly7::new(direction)),
            };
            let rest = length / factor;
            return if rest == 1 {
                small
            } else {
                Arc::new(MixedRadix::new(small, planned(rest, direction)))
            };
        }
    }
    let even = 1 << length.trailing_zeros();
    if even > 1 {
        return Arc::new(MixedRadix::new(planned(even, direction), planned(length / even, direction)));
    }
    // The convolution of Bluestein's algorithm does not wrap around in twice the length.
    let padded = planned((2 * length - 1).next_power_of_two(), direction);
    Arc::new(BluesteinsAlgorithm::new(length, padded))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    /// Returns the transform by its definition.
    fn expected(signal: &[Complex<f64>], sign: f64) -> Vec<Complex<f64>> {
        let length = signal.len();
        let at = |k: usize| {
            let angle = |t: usize| sign * TAU * ((k * t) % length) as f64 / length as f64;
            signal.iter().enumerate().map(|(t, &x)| x * Complex::from_polar(1.0, angle(t))).sum()
        };
        (0..length).map(at).collect()
    }

    #[test]
    fn plans_of_every_kind_of_length_compute_the_definition() {
        let mut generator = fastrand::Rng::with_seed(5);
        let lengths = (1..=40).chain([49, 64, 67, 75, 97, 105, 128, 134, 201, 210, 243, 251, 256, 502, 625]);
        for length in lengths {
            let signal: Vec<_> =
                (0..length).map(|_| Complex::new(generator.f64() - 0.5, generator.f64() - 0.5)).collect();
            for (direction, sign) in [(FftDirection::Forward, -1.0), (FftDirection::Inverse, 1.0)] {
                let mut got = Vec::new();
                let plan = Plan::new(length, direction).unwrap();
                plan.run(|to| to.copy_from_slice(&signal), |from| got.extend_from_slice(from)).unwrap();
                for (got, expected) in got.iter().zip(expected(&signal, sign)) {
                    assert!((got - expected).norm() < 1e-12, "{length} {direction}: {got} {expected}");
                }
                assert_eq!(got.len(), length);
            }
        }
    }
}

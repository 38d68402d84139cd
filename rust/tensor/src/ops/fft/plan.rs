//! Plans of one-dimensional transforms: by the algorithms of `rustfft`, or by MKL.

use std::f64::consts::TAU;
use std::sync::Arc;

use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;
use rustfft::algorithm::butterflies::{
    Butterfly2, Butterfly3, Butterfly4, Butterfly5, Butterfly7, Butterfly8, Butterfly16, Butterfly32,
};
use rustfft::algorithm::{BluesteinsAlgorithm, MixedRadix, Radix4};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use super::mkl::Descriptor;
use crate::Result;
use crate::storage::fallible_alloc::{check_available, try_from_elem};

/// A transform of signals of one length, in `float64`.
#[derive(Clone)]
pub(super) enum Plan {
    Native(Arc<Native>),
    Mkl(Arc<Descriptor>, FftDirection),
}

/// A transform by this crate.
pub(super) struct Native {
    length: usize,
    is_real: bool,
    fft: Arc<dyn Fft<f64>>,
    roots: Vec<Complex<f64>>,
}

/// The plans that were used last, the latest first. The tables of a plan take several times as long as a transform.
static PLANS: ForkLock<Vec<Arc<Native>>> = ForkLock::new(rank::CPU_PLANS, Vec::new());

impl Native {
    /// Returns a plan for `length` real or complex numbers: a cached one, or a new one.
    fn cached(length: usize, direction: FftDirection, is_real: bool) -> Result<Arc<Self>> {
        let is_wanted = |plan: &Arc<Self>| {
            (plan.length, plan.fft.fft_direction(), plan.is_real) == (length, direction, is_real)
        };
        let mut plans = PLANS.lock();
        if let Some(index) = plans.iter().position(is_wanted) {
            let plan = plans.remove(index);
            plans.insert(0, plan.clone());
            return Ok(plan);
        }
        // A plan is made and dropped without the lock: a large one takes milliseconds.
        drop(plans);
        let plan = Arc::new(Self::new(length, direction, is_real)?);
        let mut plans = PLANS.lock();
        let evicted = Self::remember(&mut plans, &plan);
        drop(plans);
        drop(evicted);
        Ok(plan)
    }

    /// Adds the plan that was used last, unless it is larger than the limit, and returns those that are beyond the limits then.
    fn remember(plans: &mut Vec<Arc<Self>>, plan: &Arc<Self>) -> Vec<Arc<Self>> {
        /// The maximum number of plans.
        const PLANS: usize = 64;
        /// The maximum number of points of all plans, each of which has tables of 16 to 128 bytes.
        const POINTS: usize = 1 << 20;
        if plan.length > POINTS {
            return Vec::new();
        }
        plans.insert(0, plan.clone());
        let mut points = 0;
        let is_recent = |(number, plan): &(usize, &Arc<Self>)| {
            points += plan.length;
            *number < PLANS && points <= POINTS
        };
        let recent = plans.iter().enumerate().take_while(is_recent).count();
        plans.split_off(recent)
    }

    fn new(length: usize, direction: FftDirection, is_real: bool) -> Result<Self> {
        /// More bytes than all tables of an element have: those of a length that is a large prime are the longest.
        const BYTES: usize = 256;
        check_available(length.saturating_mul(BYTES))?;
        let is_halved = is_real && length.is_multiple_of(2);
        let points = if is_halved { length / 2 } else { length };
        let root = |index: usize| {
            let angle = -TAU * (index as f64 / length as f64);
            let root = if 4 * index == length { -Complex::I } else { Complex::from_polar(1.0, angle) };
            let root = Complex::new(root.im, -root.re);
            if direction == FftDirection::Forward { root } else { root.conj() }
        };
        let roots = if is_halved { (0..points).map(root).collect() } else { Vec::new() };
        Ok(Native { length, is_real, fft: planned(points, direction), roots })
    }
}

impl Plan {
    /// Plans transforms of `length` elements, at least one, by MKL, or returns why it does not.
    pub fn by_mkl(length: usize, direction: FftDirection) -> Result<Self, String> {
        Ok(Plan::Mkl(Arc::new(Descriptor::new(length)?), direction))
    }

    /// Plans transforms of `length` elements, at least one, from or to real numbers if it `is_real`.
    pub fn new(length: usize, direction: FftDirection, is_real: bool) -> Result<Self> {
        Native::cached(length, direction, is_real).map(Plan::Native)
    }

    /// Returns the factors that convert between the spectrum of a real signal of even length and the spectrum of the complex
    /// signal of half the length, each number of which is a pair of real ones. If there are none, the plan transforms complex
    /// signals of the whole length.
    ///
    /// The factors are `-i * exp(-2 pi i k / length)` for each index `k` of the complex signal, or their conjugates for the
    /// inverse (Press et al., Numerical Recipes, "FFT of Single Real Function").
    pub fn roots(&self) -> &[Complex<f64>] {
        match self {
            Plan::Native(native) => &native.roots,
            Plan::Mkl(..) => &[],
        }
    }

    /// Transforms `count` signals, each of which `load` writes, and passes the results to `store`.
    pub fn run(
        &self,
        count: usize,
        load: impl FnMut(&mut [Complex<f64>]),
        store: impl FnMut(&[Complex<f64>]),
    ) -> Result<()> {
        let (length, scratch) = match self {
            Plan::Native(native) => (native.fft.len(), native.fft.get_inplace_scratch_len()),
            Plan::Mkl(descriptor, _) => (descriptor.length(), 0),
        };
        let points = length.saturating_mul(count);
        let mut memory = try_from_elem(Complex::new(0.0, 0.0), points.saturating_add(scratch))?;
        let (signals, scratch) = memory.split_at_mut(points);
        signals.chunks_exact_mut(length).for_each(load);
        match self {
            Plan::Native(native) => native.fft.process_with_scratch(signals, scratch),
            Plan::Mkl(descriptor, direction) => {
                signals.chunks_exact_mut(length).try_for_each(|signal| descriptor.run(*direction, signal))?;
            }
        }
        signals.chunks_exact(length).for_each(store);
        Ok(())
    }
}

/// Returns a transform: Cooley and Tukey's for factors 2, 3, 5 and 7, and Bluestein's for what remains. The planner of
/// `rustfft` knows more algorithms, and makes the library five times as large.
fn planned(length: usize, direction: FftDirection) -> Arc<dyn Fft<f64>> {
    // `Radix4` would copy a short signal to compute the same.
    match length {
        2 => return Arc::new(Butterfly2::new(direction)),
        4 => return Arc::new(Butterfly4::new(direction)),
        8 => return Arc::new(Butterfly8::new(direction)),
        16 => return Arc::new(Butterfly16::new(direction)),
        32 => return Arc::new(Butterfly32::new(direction)),
        _ if length.is_power_of_two() => return Arc::new(Radix4::new(length, direction)),
        _ => {}
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
    use super::*;

    #[test]
    fn plans_beyond_the_limits_are_evicted() {
        let mut plans = Vec::new();
        let mut remember = |length: usize| {
            let fft = planned(1, FftDirection::Forward);
            let plan = Arc::new(Native { length, is_real: false, fft, roots: Vec::new() });
            let evicted = Native::remember(&mut plans, &plan);
            (evicted.iter().map(|plan| plan.length).collect::<Vec<_>>(), plans.len())
        };
        for length in 1..=64 {
            assert_eq!(remember(length), (vec![], length));
        }
        assert_eq!(remember(65), (vec![1], 64), "the number of plans");
        assert_eq!(remember((1 << 20) - 65), ((2..=64).rev().collect(), 2), "the points");
        assert_eq!(remember((1 << 20) + 1), (vec![], 2), "a plan that is too large");
    }
}

//! Sums of float32 elements, which are added in float64.

use pulp::Simd;

use super::lanes::fold_in_lanes;
use super::reduction::{OfRun, ReduceLoop, fold_runs};

/// Returns the loop that adds elements in float64, and computes results from the sums.
pub(crate) fn sum_of_singles(finish: impl Fn(f64) -> f32 + Copy + Send + Sync + 'static) -> impl ReduceLoop {
    fold_runs((0.0, |sum, element: f32| sum + f64::from(element)), |a, b| a + b, InRegisters, finish)
}

/// The sum of a run, with the bits of [`fold_in_lanes`]. The compiler would keep the lanes in memory; here they are vector
/// registers.
#[derive(Clone, Copy)]
struct InRegisters;

impl OfRun<f32, f64> for InRegisters {
    #[inline(always)]
    fn of_run<S: Simd>(self, simd: S, run: &[f32]) -> f64 {
        in_registers(simd, run)
            .unwrap_or_else(|| fold_in_lanes(run, 0.0, |sum, element| sum + f64::from(element), |a, b| a + b))
    }
}

/// Returns nothing: on other processors the compiler chooses where the lanes are.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn in_registers<S: Simd>(_simd: S, _run: &[f32]) -> Option<f64> {
    None
}

#[cfg(target_arch = "x86_64")]
use x86::in_registers;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::any::Any;

    use pulp::Simd;
    use pulp::x86::{V3, V4};

    use crate::loops::lanes::{LANES, MANY_LANES, merged};

    /// Returns the sum of a run, if the processor has AVX2.
    #[inline(always)]
    pub(super) fn in_registers<S: Simd>(simd: S, run: &[f32]) -> Option<f64> {
        let known: &dyn Any = &simd;
        if let Some(v4) = known.downcast_ref::<V4>() {
            let widen = |elements: &[f32; 8]| v4.convert_f32x8_to_f64x8(pulp::cast(*elements));
            return Some(sum::<_, 8, 16, 4>(*v4, run, widen));
        }
        let v3 = known.downcast_ref::<V3>()?;
        Some(sum::<_, 4, 32, 8>(*v3, run, |elements| v3.convert_f32x4_to_f64x4(pulp::cast(*elements))))
    }

    /// Adds elements in `MANY` registers of `N` lanes while there are many, then in a `FEW`, and the others in their order.
    /// `widen` converts them.
    #[inline(always)]
    fn sum<S: Simd, const N: usize, const MANY: usize, const FEW: usize>(
        simd: S,
        mut rest: &[f32],
        widen: impl Fn(&[f32; N]) -> S::f64s,
    ) -> f64 {
        const { assert!(N * MANY == MANY_LANES[1] && N * FEW == LANES) };
        let mut total = 0.0;
        if rest.len() >= 4 * MANY_LANES[1] {
            total = add_in::<S, N, MANY>(simd, &mut rest, &widen);
        }
        if rest.len() >= LANES {
            total += add_in::<S, N, FEW>(simd, &mut rest, &widen);
        }
        rest.iter().fold(total, |total, element| total + f64::from(*element))
    }

    /// Adds as many elements as `G` registers divide.
    #[inline(always)]
    fn add_in<S: Simd, const N: usize, const G: usize>(
        simd: S,
        rest: &mut &[f32],
        widen: &impl Fn(&[f32; N]) -> S::f64s,
    ) -> f64 {
        let (elements, others) = rest.split_at(rest.len() - rest.len() % (N * G));
        *rest = others;
        let mut lanes = [simd.splat_f64s(0.0); G];
        for block in elements.as_chunks::<N>().0.chunks_exact(G) {
            for (lane, elements) in lanes.iter_mut().zip(block) {
                *lane = simd.add_f64s(*lane, widen(elements));
            }
        }
        let sums = merged(&mut lanes, |a, b| simd.add_f64s(a, b));
        let mut sums = [sums.unwrap_or(simd.splat_f64s(0.0))];
        merged(pulp::bytemuck::cast_slice_mut(&mut sums), |a: f64, b| a + b).unwrap_or_default()
    }
}

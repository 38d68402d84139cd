//! Sums of float32 elements, which are added in float64.

use std::any::Any;

use pulp::Simd;
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};

use super::lanes::{LANES, MANY_LANES, fold_in_lanes, merged};
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
        let _known: &dyn Any = &simd;
        #[cfg(target_arch = "x86_64")]
        if let Some(v4) = _known.downcast_ref::<V4>() {
            return sum::<_, 8, 16, 4>(*v4, run, |elements| v4.convert_f32x8_to_f64x8(pulp::cast(*elements)));
        } else if let Some(v3) = _known.downcast_ref::<V3>() {
            return sum::<_, 4, 32, 8>(*v3, run, |elements| v3.convert_f32x4_to_f64x4(pulp::cast(*elements)));
        }
        fold_in_lanes(run, 0.0, |sum, element| sum + f64::from(element), |a, b| a + b)
    }
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
        total = in_registers::<S, N, MANY>(simd, &mut rest, &widen);
    }
    if rest.len() >= LANES {
        total += in_registers::<S, N, FEW>(simd, &mut rest, &widen);
    }
    rest.iter().fold(total, |total, element| total + f64::from(*element))
}

/// Adds as many elements as `G` registers divide.
#[inline(always)]
fn in_registers<S: Simd, const N: usize, const G: usize>(
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

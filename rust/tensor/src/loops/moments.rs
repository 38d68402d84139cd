//! The loop of the variance: means and sums of squared deviations.
//!
//! Blocks of elements get their mean first, and then the squares of the deviations from it; blocks are joined by the formula of
//! Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979). No
//! precision is lost if the mean is far from 0.

use super::blocks::fold_blocks;
use super::lanes::fold_in_lanes;
use super::reduction::ReduceLoop;
use crate::Element;

/// The moments of some elements.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: f64,
    mean: f64,
    /// The sum of the squared deviations from the mean.
    squares: f64,
}

impl Moments {
    /// Returns the moments of the elements of a block, of which there is at least one.
    #[inline(always)]
    fn of<T: Element>(elements: &[T]) -> Self {
        let count = elements.len() as f64;
        let sum = fold_in_lanes(elements, 0.0, |sum: f64, value: T| sum + value.to_f64(), |a, b| a + b);
        let mean = sum / count;
        let add = |sum: f64, value: T| {
            let deviation = value.to_f64() - mean;
            sum + deviation * deviation
        };
        Moments { count, mean, squares: fold_in_lanes(elements, 0.0, add, |a, b| a + b) }
    }

    /// Returns the moments of the elements of both.
    #[inline(always)]
    fn joined(self, other: Self) -> Self {
        let count = self.count + other.count;
        // The mean of no elements has no weight.
        let share = if count == 0.0 { 0.0 } else { other.count / count };
        let difference = other.mean - self.mean;
        let mean = self.mean + difference * share;
        // The deviation of an infinite element from its mean is NaN, and so are the squares.
        let squares =
            if mean.is_infinite() { f64::NAN } else { difference * difference * self.count * share };
        Moments { count, mean, squares: self.squares + other.squares + squares }
    }
}

/// Returns the loop that computes results from the sums of the squared deviations from the mean.
pub(crate) fn squared_deviations<T: Element>(
    finish: impl Fn(f64) -> T + Copy + Send + Sync + 'static,
) -> impl ReduceLoop {
    fold_blocks(
        Moments::default(),
        #[inline(always)]
        |elements: &[T]| Moments::of(elements),
        #[inline(always)]
        |a: Moments, b| a.joined(b),
        move |moments| finish(moments.squares),
    )
}

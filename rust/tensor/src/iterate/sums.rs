//! Sums and means.

use super::reduce;
use crate::dtype::Bool8;
use crate::{DType, Element, Result, Tensor, loops};

/// Sums over the dimensions marked in `reduced`, for `op`. `shape` is the shape of the result, which has the type of
/// floating-point numbers and is int64 otherwise.
pub(crate) fn sum(op: &'static str, source: &Tensor, reduced: &[bool], shape: &[usize]) -> Result<Tensor> {
    match source.dtype() {
        DType::Float32 | DType::Float64 => mean(op, source, reduced, shape, 1),
        DType::Float16 | DType::BFloat16 => {
            let sums = summation::<f32, f32, f32>(|sum| sum);
            reduce(op, source, reduced, (shape, source.dtype()), &sums)
        }
        DType::Bool => {
            reduce(op, source, reduced, (shape, DType::Int64), &summation::<Bool8, i64, i64>(|sum| sum))
        }
        _ => reduce(op, source, reduced, (shape, DType::Int64), &summation::<i64, i64, i64>(|sum| sum)),
    }
}

/// Divides the sums of floating-point numbers by `count`. The sums are added in float64 and are not rounded: they may be beyond
/// the range of the elements.
pub(crate) fn mean(
    op: &'static str,
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    count: usize,
) -> Result<Tensor> {
    let (to, count) = ((shape, source.dtype()), count as f64);
    match source.dtype() {
        DType::Float64 => {
            reduce(op, source, reduced, to, &summation::<f64, f64, f64>(move |sum| sum / count))
        }
        DType::Float32 => {
            reduce(op, source, reduced, to, &loops::sum_of_singles(move |sum| (sum / count) as f32))
        }
        _ => reduce(op, source, reduced, to, &summation::<f32, f64, f32>(move |sum| (sum / count) as f32)),
    }
}

/// Returns the loop that adds elements in the type `A`, and computes the result from the sum.
fn summation<T: Element, A: Element, U: Element>(
    finish: impl Fn(A) -> U + Copy + Send + Sync + 'static,
) -> impl loops::ReduceLoop {
    loops::fold(A::default(), |sum: A, value: T| sum.plus(value.cast()), A::plus, finish)
}

//! Sums and means.

use super::reduce;
use crate::{DType, Element, Result, Tensor, loops};

/// Sums over the dimensions marked in `reduced`, in the type `T` of its arithmetic. `shape` is the shape of the result, which
/// has the type of the source.
pub(crate) fn sum<T: Element>(source: &Tensor, reduced: &[bool], shape: &[usize]) -> Result<Tensor> {
    if T::DTYPE.is_floating_point() && !source.dtype().is_half() {
        return sum_in_float64::<T>("sum", source, reduced, shape, |sum| sum);
    }
    sum_of("sum", source, reduced, shape, |value: T| value)
}

/// Like [`sum`], of what `term` makes of the elements.
pub(crate) fn sum_of<T: Element>(
    op: &'static str,
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    term: impl Fn(T) -> T + Copy + Send + Sync + 'static,
) -> Result<Tensor> {
    let to = (shape, if T::DTYPE.is_floating_point() { source.dtype() } else { DType::Int64 });
    if source.dtype().is_half() {
        return reduce(op, source, reduced, to, &summation::<T, f32, f32>(term, |sum| sum));
    }
    if !T::DTYPE.is_floating_point() {
        return reduce(op, source, reduced, to, &summation::<T, i64, i64>(term, |sum| sum));
    }
    reduce(op, source, reduced, to, &summation::<T, f64, T>(term, T::from_f64))
}

/// Divides the sums of floating-point numbers by `count`. The sums are not rounded: they may be beyond the range of the
/// elements.
pub(crate) fn mean<T: Element>(
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    count: usize,
) -> Result<Tensor> {
    sum_in_float64::<T>("mean", source, reduced, shape, move |sum| sum / count as f64)
}

/// Adds floating-point numbers in float64, and computes the results from the sums.
fn sum_in_float64<T: Element>(
    op: &'static str,
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    finish: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static,
) -> Result<Tensor> {
    let to = (shape, source.dtype());
    if source.dtype() == DType::Float32 {
        return reduce(op, source, reduced, to, &loops::sum_of_singles(move |sum| finish(sum) as f32));
    }
    let finish = move |sum| T::from_f64(finish(sum));
    reduce(op, source, reduced, to, &summation::<T, f64, T>(|value| value, finish))
}

/// Returns the loop that adds what `term` makes of the elements in the type `A`, and computes the result from the sum.
fn summation<T: Element, A: Element, U: Element>(
    term: impl Fn(T) -> T + Copy + Send + Sync + 'static,
    finish: impl Fn(A) -> U + Copy + Send + Sync + 'static,
) -> impl loops::ReduceLoop {
    loops::fold(A::default(), move |sum: A, value: T| sum.plus(term(value).cast()), A::plus, finish)
}

//! Reductions of tensors.

use crate::iterate::reduce;
use crate::loops;
use crate::{DType, Element, Result, Tensor};

/// Sums over the dimensions marked in `reduced`, in the type `T` of its arithmetic. `shape` is the shape of the result, which
/// has the type of the source.
pub(crate) fn sum<T: Element>(source: &Tensor, reduced: &[bool], shape: &[usize]) -> Result<Tensor> {
    let to = (shape, if T::DTYPE.is_floating_point() { source.dtype() } else { DType::Int64 });
    if source.dtype().is_half() {
        return reduce("sum", source, reduced, to, &summation::<T, f32, f32>(|sum| sum));
    }
    if !T::DTYPE.is_floating_point() {
        return reduce("sum", source, reduced, to, &summation::<T, i64, i64>(|sum| sum));
    }
    reduce("sum", source, reduced, to, &summation::<T, f64, T>(T::from_f64))
}

/// Divides the sums of floating-point numbers by `count`. The sums are not rounded: they may be beyond the range of the
/// elements.
pub(crate) fn mean<T: Element>(
    source: &Tensor,
    reduced: &[bool],
    shape: &[usize],
    count: usize,
) -> Result<Tensor> {
    let mean = move |sum: f64| T::from_f64(sum / count as f64);
    reduce("mean", source, reduced, (shape, source.dtype()), &summation::<T, f64, T>(mean))
}

/// Returns the loop that adds elements in the type `A`, and computes the result from the sum.
fn summation<T: Element, A: Element, U: Element>(
    finish: impl Fn(A) -> U + Copy + Send + Sync + 'static,
) -> impl loops::ReduceLoop {
    loops::fold(A::default(), |sum: A, value: T| sum.plus(value.cast()), A::plus, finish)
}

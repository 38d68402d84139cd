//! Folds of floating-point elements in lanes.

/// The number of states among which elements are divided, element `i` to state `i % LANES`. It is the same on every CPU, so
/// that sums have equal bits; as many vector registers hide the latency of an addition.
pub(super) const LANES: usize = 32;

/// Adds elements to states in lanes, and the states to one. Fewer elements than lanes are added in their order.
#[inline(always)]
pub(super) fn fold_in_lanes<T: Copy, A: Copy>(
    elements: &[T],
    start: A,
    add: impl Fn(A, T) -> A,
    merge: impl Fn(A, A) -> A,
) -> A {
    let chunks = elements.chunks_exact(LANES);
    let rest = chunks.remainder();
    let mut total = start;
    if elements.len() >= LANES {
        let mut lanes = [start; LANES];
        for chunk in chunks {
            lanes.iter_mut().zip(chunk).for_each(|(lane, element)| *lane = add(*lane, *element));
        }
        total = lanes.into_iter().reduce(merge).unwrap_or(total);
    }
    rest.iter().fold(total, |total, element| add(total, *element))
}

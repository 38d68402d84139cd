//! Folds of floating-point elements in lanes.

/// The number of states among which elements are divided, element `i` to state `i % LANES`. It is the same on every CPU, so
/// that sums have equal bits; as many vector registers hide the latency of an addition.
pub(super) const LANES: usize = 32;

/// Adds elements to states in lanes, and the states to one another. Fewer elements than lanes are added in their order.
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
        total = merged(lanes, merge);
    }
    rest.iter().fold(total, |total, element| add(total, *element))
}

/// Adds the states of lanes in pairs, and these again until one is left.
#[inline(always)]
pub(super) fn merged<A: Copy>(mut lanes: [A; LANES], merge: impl Fn(A, A) -> A) -> A {
    let mut count = LANES;
    while count > 1 {
        count /= 2;
        let (left, right) = lanes.split_at_mut(count);
        left.iter_mut().zip(right).for_each(|(left, right)| *left = merge(*left, *right));
    }
    let [total, ..] = lanes;
    total
}

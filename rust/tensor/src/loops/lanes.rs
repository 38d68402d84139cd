//! Folds of floating-point elements in lanes.

use super::cache_aligned::CacheAligned;

/// The number of states among which elements are divided, element `i` to state `i % LANES`. It is the same on every CPU, so
/// that sums have equal bits; as many vector registers hide the latency of an addition.
pub(super) const LANES: usize = 32;

/// The number of states of up to 4 bytes, and of larger ones, for many elements: they fill 16 vector registers. The compiler
/// writes out loops over fewer states, and then uses small vectors.
pub(super) const MANY_LANES: [usize; 2] = [256, 128];

/// Adds elements to states in lanes, and the states to one another.
#[inline(always)]
pub(super) fn fold_in_lanes<T: Copy, A: Copy>(
    elements: &[T],
    start: A,
    add: impl Fn(A, T) -> A,
    merge: impl Fn(A, A) -> A,
) -> A {
    fold_indexed(
        elements.len(),
        // SAFETY: the fold asks for elements of the slice.
        #[inline(always)]
        |index| unsafe { *elements.get_unchecked(index) },
        start,
        add,
        merge,
    )
}

/// Like [`fold_in_lanes`], of elements that a function returns for their index. Fewer elements than lanes are added in their
/// order. The result depends on the elements alone, not on where they lie.
#[inline(always)]
pub(super) fn fold_indexed<T: Copy, A: Copy>(
    count: usize,
    element: impl Fn(usize) -> T,
    start: A,
    add: impl Fn(A, T) -> A,
    merge: impl Fn(A, A) -> A,
) -> A {
    let (mut total, mut first) = (start, 0);
    // Of fewer elements the sum of the states would take most of the time.
    let [small, large] = MANY_LANES;
    if size_of::<A>() <= 4 && count >= 4 * small {
        total = in_lanes::<{ MANY_LANES[0] }, _, _>(count, &mut first, &element, start, &add, &merge);
    } else if size_of::<A>() > 4 && count >= 4 * large {
        total = in_lanes::<{ MANY_LANES[1] }, _, _>(count, &mut first, &element, start, &add, &merge);
    }
    if count - first >= LANES {
        let rest = in_lanes::<LANES, _, _>(count, &mut first, &element, start, &add, &merge);
        total = merge(total, rest);
    }
    (first..count).fold(total, |total, index| add(total, element(index)))
}

/// Adds as many elements from index `first` on as `N` lanes divide.
#[inline(always)]
pub(super) fn in_lanes<const N: usize, T: Copy, A: Copy>(
    count: usize,
    first: &mut usize,
    element: &impl Fn(usize) -> T,
    start: A,
    add: &impl Fn(A, T) -> A,
    merge: &impl Fn(A, A) -> A,
) -> A {
    // The compiler keeps many lanes in memory.
    let CacheAligned(lanes) = &mut CacheAligned([start; N]);
    while count - *first >= N {
        for (lane, index) in lanes.iter_mut().zip(*first..) {
            *lane = add(*lane, element(index));
        }
        *first += N;
    }
    merged(lanes, merge).unwrap_or(start)
}

/// Merges pairs of lanes, whose number is a power of 2, until one is left.
#[inline(always)]
pub(super) fn merged<A: Copy>(lanes: &mut [A], merge: impl Fn(A, A) -> A) -> Option<A> {
    let mut width = lanes.len();
    while width > 1 {
        width /= 2;
        let (left, right) = lanes.split_at_mut(width);
        left.iter_mut().zip(right).for_each(|(left, right)| *left = merge(*left, *right));
    }
    lanes.first().copied()
}

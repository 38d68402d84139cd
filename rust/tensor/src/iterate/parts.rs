//! Parts of the slices that a kernel works on. A launch has proved that each slice has the size that the kernel derives from
//! its own sizes. A part beyond a slice is a bug of this crate: test builds panic, others use an empty slice or zeros.

/// Returns a source, or an empty slice if there are fewer.
pub(crate) fn source<'a, T>(sources: &[&'a [T]], index: usize) -> &'a [T] {
    sources.get(index).copied().unwrap_or_default()
}

/// Returns the elements from a position on.
#[inline]
pub(crate) fn rest<T>(data: &[T], start: usize) -> &[T] {
    debug_assert!(start <= data.len(), "elements from {start} on of {}", data.len());
    data.get(start..).unwrap_or_default()
}

/// Returns the elements from a position on, to write them.
#[inline]
pub(crate) fn rest_mut<T>(data: &mut [T], start: usize) -> &mut [T] {
    debug_assert!(start <= data.len(), "elements from {start} on of {}", data.len());
    data.get_mut(start..).unwrap_or_default()
}

/// Returns some elements from a position on.
#[inline]
pub(crate) fn part<T>(data: &[T], start: usize, length: usize) -> &[T] {
    let rest = rest(data, start);
    debug_assert!(length <= rest.len(), "{length} elements from {start} on of {}", data.len());
    rest.get(..length).unwrap_or_default()
}

/// Returns some elements from a position on, to write them.
#[inline]
pub(crate) fn part_mut<T>(data: &mut [T], start: usize, length: usize) -> &mut [T] {
    let rest = rest_mut(data, start);
    debug_assert!(length <= rest.len(), "{length} elements of the {} from {start} on", rest.len());
    rest.get_mut(..length).unwrap_or_default()
}

/// Returns the first elements and the others.
#[inline]
pub(crate) fn split_mut<T>(data: &mut [T], count: usize) -> (&mut [T], &mut [T]) {
    debug_assert!(count <= data.len(), "{count} of {} elements", data.len());
    data.split_at_mut_checked(count).unwrap_or_default()
}

/// Returns an element.
#[inline]
pub(crate) fn item<T: Copy + Default>(data: &[T], at: usize) -> T {
    debug_assert!(at < data.len(), "element {at} of {}", data.len());
    data.get(at).copied().unwrap_or_default()
}

/// Removes the first `count` elements from a slice and returns them; all of it is dropped if it has fewer. The results that
/// a call does not want have none.
pub(crate) fn take<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (first, others) = std::mem::take(rest).split_at_mut_checked(count).unwrap_or_default();
    *rest = others;
    first
}

//! Arrays whose address and length come from another language.

/// Returns the items of an array; `None` if they have more than `isize::MAX` bytes, which no array has.
///
/// ```
/// use interlock_core::base::raw_array::slice_of;
///
/// let items = [1_u32, 2];
/// // SAFETY: the array has two items, and the second count is refused.
/// let slices = unsafe { [slice_of(items.as_ptr(), 2), slice_of(items.as_ptr(), usize::MAX)] };
/// assert_eq!(slices, [Some(&items[..]), None]);
/// ```
///
/// # Safety
/// `items` is valid for `count` items during `'a`, or `count` is 0 or such that the items have more than `isize::MAX`
/// bytes.
pub unsafe fn slice_of<'a, T>(items: *const T, count: usize) -> Option<&'a [T]> {
    if count == 0 {
        return Some(&[]);
    }
    let fits = count <= max_count::<T>();
    // SAFETY: guaranteed by the caller; the bytes fit into `isize`, as a slice requires.
    fits.then(|| unsafe { std::slice::from_raw_parts(items, count) })
}

/// Returns the largest number of items that an array has.
pub const fn max_count<T>() -> usize {
    if size_of::<T>() == 0 { usize::MAX } else { isize::MAX.cast_unsigned() / size_of::<T>() }
}

//! A sort for short lists.

/// Sorts a short list; items that are equal keep their order. `in_order` returns whether an item may precede another one. The
/// sorts of the standard library are faster from some tens of items on, but compile to some 6 kB for each type.
///
/// Source: insertion sort: Knuth, "The Art of Computer Programming", volume 3 (1998), 5.2.1.
///
/// ```
/// use interlock_core::base::short_sort::sort_short_by;
///
/// let mut strides = [4, 1, 12];
/// sort_short_by(&mut strides, usize::le);
/// assert_eq!(strides, [1, 4, 12]);
/// ```
pub fn sort_short_by<T>(items: &mut [T], in_order: impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        for at in (1..=end).rev() {
            if items.get(at - 1..=at).is_none_or(|pair| pair.is_sorted_by(&in_order)) {
                break;
            }
            items.swap(at - 1, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_short_by_agrees_with_the_stable_sort() {
        for count in 0..40_usize {
            let mut items: Vec<(usize, usize)> = (0..count).map(|at| (at * 7919 % 11, at)).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|&(key, _)| key);
            sort_short_by(&mut items, |one, next| one.0 <= next.0);
            assert_eq!(items, expected);
        }
    }
}

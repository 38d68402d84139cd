//! Iteration over strided operands of the same shape, as ATen's `TensorIterator`.

use std::ops::Range;

/// Iterates over `N` strided operands in rows of `row_len` elements. Within a row each operand advances by its
/// `row_strides`.
#[derive(Clone)]
pub(crate) struct StridedIter<const N: usize> {
    outer: Vec<(usize, [usize; N])>,
    offsets: [usize; N],
    empty: bool,
    pub row_len: usize,
    pub row_strides: [usize; N],
}

impl<const N: usize> StridedIter<N> {
    /// Returns an iterator in row-major order of `shape`. Each operand has strides for this shape and an offset.
    pub fn new(shape: &[usize], operands: [(&[usize], usize); N]) -> Self {
        let offsets = operands.map(|(_, start)| start);
        let mut dims: Vec<(usize, [usize; N])> = Vec::with_capacity(shape.len());
        for (dim, &size) in shape.iter().enumerate() {
            if size == 1 {
                continue;
            }
            let strides = operands.map(|(strides, _)| strides.get(dim).copied().unwrap_or(0));
            // Coalesces dimensions that are contiguous for every operand. Without elements strides are arbitrary.
            if let Some((last, steps)) = dims.last_mut() {
                let joined =
                    steps.iter().zip(&strides).all(|(&step, &stride)| stride.checked_mul(size) == Some(step));
                if joined {
                    *last = last.saturating_mul(size);
                    *steps = strides;
                    continue;
                }
            }
            dims.push((size, strides));
        }
        let (row_len, row_strides) = dims.pop().unwrap_or((1, [0; N]));
        StridedIter { outer: dims, offsets, empty: shape.contains(&0), row_len, row_strides }
    }

    /// Returns the number of elements.
    pub fn numel(&self) -> usize {
        if self.empty {
            return 0;
        }
        self.outer.iter().fold(self.row_len, |count, (size, _)| count.saturating_mul(*size))
    }

    /// Returns the offset of each operand at an element, which is numbered in row-major order.
    pub fn offsets_at(&self, element: usize) -> [usize; N] {
        let mut position = self.offsets;
        let mut rest = element;
        let dims = [(self.row_len, self.row_strides)].into_iter().chain(self.outer.iter().rev().copied());
        for (size, steps) in dims {
            let index = rest % size.max(1);
            rest /= size.max(1);
            for (position, step) in position.iter_mut().zip(steps) {
                *position = position.saturating_add(index.saturating_mul(step));
            }
        }
        position
    }

    /// Calls `row` with the offset of each operand at the start of each row.
    pub fn for_each_row(&self, mut row: impl FnMut([usize; N])) {
        self.for_each_row_in(0..self.numel(), |at, _| row(at));
    }

    /// Calls `row` for the rows of a range of elements, which are numbered in row-major order: with the offset of each
    /// operand and the number of elements. The first and the last row may be parts of rows.
    pub fn for_each_row_in(&self, elements: Range<usize>, mut row: impl FnMut([usize; N], usize)) {
        let mut left = elements.len();
        if self.empty || left == 0 {
            return;
        }
        let mut at = self.offsets;
        let mut counts = vec![0usize; self.outer.len()];
        let mut rest = elements.start / self.row_len.max(1);
        for ((size, steps), count) in self.outer.iter().zip(&mut counts).rev() {
            *count = rest % size;
            rest /= size;
            for (position, step) in at.iter_mut().zip(steps) {
                *position += step * *count;
            }
        }
        let column = elements.start % self.row_len.max(1);
        let mut length = left.min(self.row_len - column);
        let mut first = at;
        for (position, step) in first.iter_mut().zip(self.row_strides) {
            *position += step * column;
        }
        row(first, length);
        loop {
            left -= length;
            if left == 0 {
                return;
            }
            length = left.min(self.row_len);
            // An odometer: increments the last dimension that is not at its end and resets those after it.
            let mut dims = self.outer.iter().zip(&mut counts).rev();
            loop {
                let Some((&(size, steps), count)) = dims.next() else { return };
                *count += 1;
                if *count < size {
                    for (position, step) in at.iter_mut().zip(steps) {
                        *position += step;
                    }
                    row(at, length);
                    break;
                }
                *count = 0;
                for (position, step) in at.iter_mut().zip(steps) {
                    *position -= step * (size - 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_iter_coalesces_contiguous_dimensions() {
        let iter = StridedIter::new(&[2, 1, 3, 4], [(&[12, 12, 4, 1], 0), (&[12, 0, 4, 1], 5)]);
        let mut rows = Vec::new();
        iter.for_each_row(|at| rows.push(at));
        assert_eq!((iter.row_len, iter.row_strides, rows), (24, [1, 1], vec![[0, 5]]));
    }

    #[test]
    fn for_each_row_visits_a_transposed_operand_in_row_major_order() {
        let iter = StridedIter::new(&[3, 2], [(&[1, 3], 0)]);
        let mut seen = Vec::new();
        iter.for_each_row(|[start]| seen.extend((0..iter.row_len).map(|i| start + i * iter.row_strides[0])));
        assert_eq!(seen, [0, 3, 1, 4, 2, 5]);
    }

    #[test]
    fn offsets_at_agrees_with_for_each_row() {
        let iter = StridedIter::new(&[2, 3, 4], [(&[1, 8, 2], 3), (&[0, 5, 1], 0)]);
        let mut walked = Vec::new();
        iter.for_each_row(|offsets| {
            walked.extend(
                (0..iter.row_len)
                    .map(|i| [offsets[0] + i * iter.row_strides[0], offsets[1] + i * iter.row_strides[1]]),
            );
        });
        assert_eq!(iter.numel(), 24);
        assert_eq!((0..24).map(|element| iter.offsets_at(element)).collect::<Vec<_>>(), walked);
        assert_eq!(StridedIter::new(&[2, 0], [(&[1, 1], 0)]).numel(), 0);
    }

    #[test]
    fn for_each_row_of_an_empty_shape_visits_one_element() {
        let mut count = 0;
        StridedIter::new(&[], [(&[], 7)]).for_each_row(|[at]| count += at);
        StridedIter::new(&[3, 0], [(&[1, 1], 7)]).for_each_row(|_| count += 100);
        assert_eq!(count, 7);
    }

    #[test]
    fn for_each_row_in_visits_every_range_of_elements() {
        let iter = StridedIter::new(&[2, 3, 4], [(&[1, 8, 2], 3), (&[0, 5, 1], 0)]);
        for start in 0..=24 {
            for end in start..=24 {
                let mut seen = Vec::new();
                iter.for_each_row_in(start..end, |at, length| {
                    seen.extend(
                        (0..length)
                            .map(|i| [at[0] + i * iter.row_strides[0], at[1] + i * iter.row_strides[1]]),
                    );
                });
                assert_eq!(seen, (start..end).map(|element| iter.offsets_at(element)).collect::<Vec<_>>());
            }
        }
    }
}

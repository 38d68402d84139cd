//! Reads and writes of elements that indices address.

use crate::Element;

/// A run of elements of a memory: element `i` is at `base + i * base_step + index[i * index_step] * step`. Those whose index is
/// not below `size` are skipped.
#[derive(Clone, Copy)]
pub(crate) struct IndexedRun<'a> {
    pub index: &'a [i64],
    pub index_step: usize,
    pub base: usize,
    pub base_step: usize,
    pub step: usize,
    pub size: usize,
    pub count: usize,
}

/// Returns the position of the last of elements at equal distances.
fn last(count: usize, step: usize) -> Option<usize> {
    count.checked_sub(1)?.checked_mul(step)
}

impl IndexedRun<'_> {
    /// Returns whether there are elements, whose indices exist, and which are all within a memory of this length.
    fn is_within(&self, length: usize) -> bool {
        let end = || {
            let last_base = self.base.checked_add(last(self.count, self.base_step)?)?;
            last_base.checked_add(last(self.size, self.step)?)
        };
        let has_indices = last(self.count, self.index_step).is_some_and(|last| last < self.index.len());
        has_indices && end().is_some_and(|end| end < length)
    }

    /// Returns the index of an element of the run, and its position unless it is skipped.
    ///
    /// # Safety
    /// The element exists.
    #[inline(always)]
    unsafe fn position(self, number: usize) -> (usize, usize) {
        // SAFETY: guaranteed by the caller.
        let index = unsafe { *self.index.get_unchecked(number * self.index_step) } as usize;
        (index, self.base.wrapping_add(number * self.base_step).wrapping_add(index.wrapping_mul(self.step)))
    }

    /// Writes the elements of a memory at the positions to a row of as many. It remains as it is where they are skipped.
    pub fn read<T: Element>(self, data: &[T], out: &mut [T]) {
        if self.base_step == 0 && self.step == 1 && self.index_step == 1 {
            let end = self.base.saturating_add(self.size);
            let row = data.get(self.base..end).unwrap_or_default();
            for (out, &index) in out.iter_mut().zip(self.index) {
                if let Some(element) = row.get(index as usize) {
                    *out = *element;
                }
            }
            return;
        }
        if !self.is_within(data.len()) || out.len() < self.count {
            debug_assert!(self.size == 0 || self.count == 0, "positions beyond {} elements", data.len());
            return;
        }
        for (number, out) in out.iter_mut().enumerate().take(self.count) {
            // SAFETY: the positions are within the memory.
            unsafe {
                let (index, at) = self.position(number);
                if index < self.size {
                    *out = *data.get_unchecked(at);
                }
            }
        }
    }

    /// Calls a function with the position of each element that is not skipped, and its value, which are at equal distances.
    #[inline(always)]
    pub fn visit<T: Element>(self, (values, step): (&[T], usize), mut function: impl FnMut(usize, T)) {
        let has_values = last(self.count, step).is_some_and(|last| last < values.len());
        let has_indices = last(self.count, self.index_step).is_some_and(|last| last < self.index.len());
        if !has_values || !has_indices {
            debug_assert!(self.count == 0, "{} values", values.len());
            return;
        }
        for number in 0..self.count {
            // SAFETY: there are as many indices and values.
            unsafe {
                let (index, at) = self.position(number);
                if index < self.size {
                    function(at, *values.get_unchecked(number * step));
                }
            }
        }
    }

    /// Replaces the elements of a memory at the positions by what a function returns for them and values at equal distances.
    #[inline(always)]
    pub fn write<T: Element>(self, data: &mut [T], values: (&[T], usize), combine: impl Fn(T, T) -> T) {
        if !self.is_within(data.len()) {
            debug_assert!(self.size == 0 || self.count == 0, "positions beyond {} elements", data.len());
            return;
        }
        self.visit(
            values,
            #[inline(always)]
            move |at, value| {
                // SAFETY: the positions are within the memory.
                let element = unsafe { data.get_unchecked_mut(at) };
                *element = combine(*element, value);
            },
        );
    }
}

//! Elements that several threads change at the same time.

use std::marker::PhantomData;
use std::mem::transmute_copy;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::Element;

/// A slice whose elements several threads may change at the same time. Each change is atomic; their order is not
/// determined.
pub(crate) struct AtomicSlice<'a, T> {
    pointer: *mut T,
    length: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: all accesses to the elements are atomic.
unsafe impl<T: Element> Sync for AtomicSlice<'_, T> {}

impl<'a, T: Element> AtomicSlice<'a, T> {
    /// Returns access to the elements, which no other code uses meanwhile.
    pub fn new(elements: &'a mut [T]) -> Self {
        AtomicSlice { pointer: elements.as_mut_ptr(), length: elements.len(), lifetime: PhantomData }
    }

    /// Replaces an element by `f` of it. `f` may be called several times. An index beyond the end has no effect.
    pub fn update(&self, index: usize, f: impl Fn(T) -> T) {
        /// Replaces the element by way of an unsigned integer of its size.
        macro_rules! update_as {
            ($cell:ident, $bits:ident) => {{
                // SAFETY: the pointer is within the slice and aligned for `T`, whose size and alignment are those of the
                // integer; all accesses are atomic while the slice is borrowed.
                let cell = unsafe { $cell::from_ptr(self.pointer.add(index).cast::<$bits>()) };
                // SAFETY: the sizes are equal, and every bit pattern is a valid element.
                let changed = |bits| unsafe { transmute_copy::<T, $bits>(&f(transmute_copy::<$bits, T>(&bits))) };
                let mut old = cell.load(Ordering::Relaxed);
                while let Err(now) =
                    cell.compare_exchange_weak(old, changed(old), Ordering::Relaxed, Ordering::Relaxed)
                {
                    old = now;
                }
            }};
        }
        if index >= self.length {
            return;
        }
        match size_of::<T>() {
            1 => update_as!(AtomicU8, u8),
            2 => update_as!(AtomicU16, u16),
            4 => update_as!(AtomicU32, u32),
            8 => update_as!(AtomicU64, u64),
            // No element has another size.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::dtype::Bool8;

    fn added_by_two_threads<T: Element>(one: T) -> Vec<T> {
        let mut elements = vec![T::default(); 3];
        let shared = AtomicSlice::new(&mut elements);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| (0..300).for_each(|at| shared.update(at % 4, |old| old.plus(one))));
            }
        });
        elements
    }

    #[test]
    fn update_on_two_threads_loses_no_change() {
        assert_eq!(added_by_two_threads(1.0f32), [150.0; 3]);
        assert_eq!(added_by_two_threads(0.5f64), [75.0; 3]);
        assert_eq!(added_by_two_threads(2i64), [300; 3]);
        assert_eq!(added_by_two_threads(f16::ONE), [f16::from_f32(150.0); 3]);
        assert_eq!(added_by_two_threads(Bool8::new(true)), [Bool8::new(true); 3]);
    }
}

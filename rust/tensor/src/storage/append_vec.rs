//! A vector to which threads append while other threads read it.

use std::sync::atomic::{AtomicUsize, Ordering};

use once_cell::race::OnceBox;

/// The number of slots of the first bucket. Each further bucket has twice as many.
const FIRST_BUCKET: usize = 8;

const BUCKETS: usize = 32;

/// A vector of values at stable addresses: a reference to one stays valid while others are appended, so that readers
/// need no lock.
#[derive(Debug)]
pub(crate) struct AppendVec<T> {
    buckets: [OnceBox<Vec<OnceBox<T>>>; BUCKETS],
    /// All slots before this position have a value.
    len: AtomicUsize,
}

impl<T> Default for AppendVec<T> {
    fn default() -> Self {
        AppendVec { buckets: std::array::from_fn(|_| OnceBox::new()), len: AtomicUsize::new(0) }
    }
}

impl<T> AppendVec<T> {
    /// Appends a value and returns its position.
    pub fn push(&self, value: T) -> usize {
        let mut value = Box::new(value);
        let mut position = self.len.load(Ordering::Acquire);
        // A slot that already has a value is that of another thread. If the buckets were full, memory would be too.
        while let Some(slot) = self.slot(position, true) {
            match slot.set(value) {
                Ok(()) => break,
                Err(returned) => value = returned,
            }
            position = position.saturating_add(1);
        }
        self.len.fetch_max(position.saturating_add(1), Ordering::AcqRel);
        position
    }

    /// Returns the value at a position.
    pub fn get(&self, position: usize) -> Option<&T> {
        self.slot(position, false)?.get()
    }

    /// Returns the value that was appended last.
    pub fn last(&self) -> Option<&T> {
        self.get(self.len.load(Ordering::Acquire).checked_sub(1)?)
    }

    fn slot(&self, position: usize, allocate: bool) -> Option<&OnceBox<T>> {
        let bucket = (position / FIRST_BUCKET).saturating_add(1).ilog2();
        let before = (FIRST_BUCKET << bucket).saturating_sub(FIRST_BUCKET);
        let slots = self.buckets.get(usize::try_from(bucket).ok()?)?;
        let slots = if allocate {
            slots.get_or_init(|| {
                Box::new(std::iter::repeat_with(OnceBox::new).take(FIRST_BUCKET << bucket).collect())
            })
        } else {
            slots.get()?
        };
        slots.get(position.checked_sub(before)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_positions_and_addresses() {
        let values = AppendVec::default();
        assert_eq!((values.last(), values.get(0)), (None, None));
        assert_eq!(values.push(0usize), 0);
        let first = values.get(0).unwrap();
        (1..1000).for_each(|number| assert_eq!(values.push(number), number));
        assert!((0..1000).all(|number| values.get(number) == Some(&number)));
        assert_eq!((first, values.last(), values.get(1000)), (&0, Some(&999), None));
        assert!(std::ptr::eq(first, values.get(0).unwrap()));
    }

    #[test]
    fn push_on_several_threads_loses_no_value() {
        let values = AppendVec::default();
        std::thread::scope(|threads| {
            for thread in 0..4 {
                let values = &values;
                threads.spawn(move || {
                    for number in 0..100 {
                        let position = values.push(thread * 100 + number);
                        assert_eq!(values.get(position), Some(&(thread * 100 + number)));
                        assert!(values.last().is_some());
                    }
                });
            }
        });
        let mut found: Vec<_> = (0..400).filter_map(|position| values.get(position).copied()).collect();
        found.sort_unstable();
        assert_eq!(found, (0..400).collect::<Vec<_>>());
    }
}

//! A typed slab, whose values refer to each other by keys.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ops::{Index, IndexMut};

/// The key of a value in its arena. A key is reused once its value has been removed.
pub(crate) struct Key<T> {
    /// One more than the index in the arena, so that an optional key is one word.
    number: NonZeroUsize,
    value: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    #[inline]
    fn from_index(index: usize) -> Self {
        Key { number: NonZeroUsize::MIN.saturating_add(index), value: PhantomData }
    }

    #[inline]
    fn index(self) -> usize {
        self.number.get() - 1
    }
}

/// Values by key.
///
/// Blocks are added and removed with almost every allocation and free, and the functions of the `slab` crate, which are
/// not inlined, move each value through memory twice.
#[derive(Debug)]
pub(super) struct Arena<T> {
    slots: Vec<Slot<T>>,
    /// The first vacant slot, or the length.
    vacant: usize,
}

#[derive(Debug)]
enum Slot<T> {
    Vacant {
        /// The next vacant slot, or the length.
        next: usize,
    },
    Occupied(T),
}

impl<T> Arena<T> {
    #[inline]
    pub(super) fn insert(&mut self, value: T) -> Key<T> {
        self.insert_with(|| value)
    }

    /// Inserts a value, which is constructed in its slot.
    #[inline]
    pub(super) fn insert_with(&mut self, value: impl FnOnce() -> T) -> Key<T> {
        let key = self.next_key();
        match self.slots.get_mut(self.vacant) {
            Some(slot) => {
                if let Slot::Vacant { next } = *slot {
                    self.vacant = next;
                }
                *slot = Slot::Occupied(value());
            }
            None => {
                self.slots.push(Slot::Occupied(value()));
                self.vacant = self.slots.len();
            }
        }
        key
    }

    /// Returns the key of the next inserted value.
    #[inline]
    pub(super) fn next_key(&self) -> Key<T> {
        Key::from_index(self.vacant)
    }

    #[inline]
    pub(super) fn remove(&mut self, key: Key<T>) -> T {
        let vacant = Slot::Vacant { next: self.vacant };
        match self.slots.get_mut(key.index()) {
            Some(slot @ Slot::Occupied(_)) => {
                self.vacant = key.index();
                match std::mem::replace(slot, vacant) {
                    Slot::Occupied(value) => value,
                    Slot::Vacant { .. } => missing(),
                }
            }
            _ => missing(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Key<T>, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| match slot {
            Slot::Occupied(value) => Some((Key::from_index(index), value)),
            Slot::Vacant { .. } => None,
        })
    }
}

#[cold]
#[expect(clippy::panic, reason = "keys come from the arena, and are dropped with their values")]
fn missing() -> ! {
    panic!("a key without a value")
}

#[cfg(test)]
impl<T> From<usize> for Key<T> {
    fn from(index: usize) -> Self {
        Key::from_index(index)
    }
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { slots: Vec::new(), vacant: 0 }
    }
}

impl<T> Index<Key<T>> for Arena<T> {
    type Output = T;

    #[inline]
    fn index(&self, key: Key<T>) -> &T {
        match self.slots.get(key.index()) {
            Some(Slot::Occupied(value)) => value,
            _ => missing(),
        }
    }
}

impl<T> IndexMut<Key<T>> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, key: Key<T>) -> &mut T {
        match self.slots.get_mut(key.index()) {
            Some(Slot::Occupied(value)) => value,
            _ => missing(),
        }
    }
}

// Derived, these traits would require the same trait of the value.
impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Key<T> {}

impl<T> Hash for Key<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arena_reuses_the_key_of_a_removed_value() {
        let mut arena = Arena::default();
        let [first, second, third] = [1, 2, 3].map(|value| arena.insert(value));
        assert_eq!((arena.remove(second), arena.remove(first)), (2, 1));
        assert_eq!(arena.next_key(), first);
        assert_eq!([4, 5, 6].map(|value| arena.insert(value)), [first, second, 3.into()]);
        arena[third] += 4;
        let values: Vec<_> = arena.iter().map(|(key, value)| (key, *value)).collect();
        assert_eq!(values, [(first, 4), (second, 5), (third, 7), (3.into(), 6)]);
    }
}

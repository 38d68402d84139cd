//! Values that refer to each other by keys: a typed slab.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ops::{Index, IndexMut};

use slab::Slab;

/// The key of a value in its arena. A key is reused once its value has been removed.
pub(in crate::accelerator) struct Key<T> {
    /// One more than the place in the slab, so that an optional key is one word.
    number: NonZeroUsize,
    value: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    #[inline]
    fn of_place(place: usize) -> Self {
        Key { number: NonZeroUsize::MIN.saturating_add(place), value: PhantomData }
    }

    #[inline]
    fn place(self) -> usize {
        self.number.get() - 1
    }
}

/// Values by their keys.
pub(super) struct Arena<T>(Slab<T>);

impl<T> Arena<T> {
    #[inline]
    pub(super) fn insert(&mut self, value: T) -> Key<T> {
        Key::of_place(self.0.insert(value))
    }

    /// The key that the next value gets.
    pub(super) fn next_key(&self) -> Key<T> {
        Key::of_place(self.0.vacant_key())
    }

    #[inline]
    pub(super) fn remove(&mut self, key: Key<T>) -> T {
        self.0.remove(key.place())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Key<T>, &T)> {
        self.0.iter().map(|(place, value)| (Key::of_place(place), value))
    }
}

#[cfg(test)]
impl<T> From<usize> for Key<T> {
    fn from(place: usize) -> Self {
        Key::of_place(place)
    }
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena(Slab::new())
    }
}

impl<T> Index<Key<T>> for Arena<T> {
    type Output = T;

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "keys come from here, and are dropped with their values")]
    fn index(&self, key: Key<T>) -> &T {
        &self.0[key.place()]
    }
}

impl<T> IndexMut<Key<T>> for Arena<T> {
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "keys come from here, and are dropped with their values")]
    fn index_mut(&mut self, key: Key<T>) -> &mut T {
        &mut self.0[key.place()]
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
        self.place().fmt(f)
    }
}

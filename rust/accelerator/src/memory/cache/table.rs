//! Values that refer to each other by numbers.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use slab::Slab;

/// The number of a value in its table. It may be that of another value once that one has been removed.
pub(crate) struct Id<T>(usize, PhantomData<fn() -> T>);

/// Values by their numbers.
pub(super) struct Table<T>(Slab<T>);

impl<T> Table<T> {
    pub(super) fn insert(&mut self, value: T) -> Id<T> {
        Id(self.0.insert(value), PhantomData)
    }

    /// The number that the next value gets.
    pub(super) fn next_id(&self) -> Id<T> {
        Id(self.0.vacant_key(), PhantomData)
    }

    pub(super) fn remove(&mut self, id: Id<T>) -> T {
        self.0.remove(id.0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Id<T>, &T)> {
        self.0.iter().map(|(place, value)| (Id(place, PhantomData), value))
    }
}

#[cfg(test)]
impl<T> From<usize> for Id<T> {
    fn from(place: usize) -> Self {
        Id(place, PhantomData)
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table(Slab::new())
    }
}

impl<T> Index<Id<T>> for Table<T> {
    type Output = T;

    #[expect(
        clippy::indexing_slicing,
        reason = "numbers come from here, and are forgotten with what they stand for"
    )]
    fn index(&self, id: Id<T>) -> &T {
        &self.0[id.0]
    }
}

impl<T> IndexMut<Id<T>> for Table<T> {
    #[expect(clippy::indexing_slicing, reason = "as above")]
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.0[id.0]
    }
}

// Derived, they would ask the same of the value.
impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Id<T> {}

impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

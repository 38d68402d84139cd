//! Values that refer to each other by keys: a typed slab.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ops::{Index, IndexMut};

/// The key of a value in its arena. A key is reused once its value has been removed.
pub(crate) struct Key<T> {
    /// One more than the place in the arena, so that an optional key is one word.
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
///
/// Blocks are added and removed with almost every allocation and free, and the functions of the `slab` crate, which are
/// not inlined, move each value through memory twice.
#[derive(Debug)]
pub(super) struct Arena<T> {
    slots: Vec<Option<T>>,
    /// The places of the vacant slots; the one that became vacant last is used first.
    vacant: Vec<usize>,
}

impl<T> Arena<T> {
    #[inline]
    pub(super) fn insert(&mut self, value: T) -> Key<T> {
        self.insert_with(|| value)
    }

    /// Inserts a value that is written in place.
    #[inline]
    pub(super) fn insert_with(&mut self, value: impl FnOnce() -> T) -> Key<T> {
        let key = self.next_key();
        self.vacant.pop();
        match self.slots.get_mut(key.place()) {
            Some(slot) => *slot = Some(value()),
            None => self.slots.push(Some(value())),
        }
        key
    }

    /// The key that the next value gets.
    #[inline]
    pub(super) fn next_key(&self) -> Key<T> {
        Key::of_place(self.vacant.last().map_or(self.slots.len(), |place| *place))
    }

    #[inline]
    pub(super) fn remove(&mut self, key: Key<T>) -> T {
        let value = self.slots.get_mut(key.place()).and_then(Option::take);
        self.vacant.push(key.place());
        value.unwrap_or_else(|| missing())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Key<T>, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(place, slot)| Some((Key::of_place(place), slot.as_ref()?)))
    }
}

#[cold]
#[expect(clippy::panic, reason = "keys come from the arena, and are dropped with their values")]
fn missing() -> ! {
    panic!("a key without a value")
}

#[cfg(test)]
impl<T> From<usize> for Key<T> {
    fn from(place: usize) -> Self {
        Key::of_place(place)
    }
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { slots: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Index<Key<T>> for Arena<T> {
    type Output = T;

    #[inline]
    fn index(&self, key: Key<T>) -> &T {
        match self.slots.get(key.place()) {
            Some(Some(value)) => value,
            _ => missing(),
        }
    }
}

impl<T> IndexMut<Key<T>> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, key: Key<T>) -> &mut T {
        match self.slots.get_mut(key.place()) {
            Some(Some(value)) => value,
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
        self.place().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_reused_once_its_value_was_removed() {
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

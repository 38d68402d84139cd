//! Interned values that do not fit a flag's word: each is stored once, until the process exits, and the word stores its
//! index.

use std::borrow::Borrow;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use once_cell::race::OnceRef;

/// An open-addressing hash table that only grows. Reads and inserts are lock-free, so a write needs no lock before that
/// of the process, and a fork never finds one locked.
pub(crate) struct Interned<T: 'static, const CAPACITY: usize> {
    slots: [OnceRef<'static, T>; CAPACITY],
}

impl<T: Eq, const CAPACITY: usize> Interned<T, CAPACITY> {
    pub(crate) const fn new() -> Self {
        Interned { slots: [const { OnceRef::new() }; CAPACITY] }
    }

    /// Returns the index of a value, and stores the value if it is new. Returns `None` if the table is full.
    pub(crate) fn index_of<Q>(&self, value: &Q) -> Option<u64>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = T> + ?Sized,
    {
        let start = BuildHasherDefault::<DefaultHasher>::default().hash_one(value) as usize % CAPACITY;
        let (before, after) = self.slots.split_at_checked(start)?;
        let probed = after.iter().enumerate().map(|(index, slot)| (start + index, slot));
        for (index, slot) in probed.chain(before.iter().enumerate()) {
            let stored = match slot.get() {
                Some(stored) => stored,
                // If another thread fills the slot first, the copy is leaked; at most one for each such race.
                None => {
                    let _ = slot.set(Box::leak(Box::new(value.to_owned())));
                    slot.get()?
                }
            };
            if stored.borrow() == value {
                return Some(index as u64);
            }
        }
        None
    }

    /// Returns the value with this index.
    pub(crate) fn get(&self, index: u64) -> Option<&'static T> {
        self.slots.get(usize::try_from(index).ok()?)?.get()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn index_of_equal_values_is_equal() {
        static TABLE: Interned<String, 64> = Interned::new();
        let texts: Vec<String> = (0..64).map(|number| number.to_string()).collect();
        let indices: Vec<u64> = texts.iter().map(|text| TABLE.index_of(text.as_str()).unwrap()).collect();
        assert_eq!(indices.iter().collect::<BTreeSet<_>>().len(), 64);
        for (text, index) in texts.iter().zip(indices) {
            assert_eq!(TABLE.index_of(text.as_str()), Some(index));
            assert_eq!(TABLE.get(index), Some(text));
        }
        assert_eq!(TABLE.index_of("one too many"), None);
        assert_eq!(TABLE.get(64), None);
    }

    #[test]
    fn index_of_the_same_value_on_two_threads_is_equal() {
        static TABLE: Interned<String, 512> = Interned::new();
        let indices =
            || (0..256).map(|number| TABLE.index_of(number.to_string().as_str())).collect::<Vec<_>>();
        let (first, second) = std::thread::scope(|threads| {
            let (first, second) = (threads.spawn(indices), threads.spawn(indices));
            (first.join().unwrap(), second.join().unwrap())
        });
        assert_eq!(first, second);
        assert_eq!(first.iter().flatten().collect::<BTreeSet<_>>().len(), 256);
    }
}

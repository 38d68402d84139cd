//! Interned values that do not fit a flag's word: each distinct value is stored once, until the process exits, and the
//! word stores its index.

use std::borrow::Borrow;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use once_cell::race::{OnceBox, OnceRef};

use crate::base::sync::RelaxedU64;

/// A table that only grows. Reads and inserts are lock-free, so a write of a flag needs no lock before the
/// writer lock of the process, and a fork never finds one locked.
pub(crate) struct Interned<T: 'static> {
    /// A binary tree: the bits of a value's hash are the path from the root to its node.
    root: OnceBox<Node<T>>,
    /// The nodes by index. The segment `n` has `FIRST_SEGMENT << n` entries.
    segments: [OnceBox<Vec<Entry<T>>>; SEGMENTS],
    /// The number of indices that were assigned.
    count: RelaxedU64,
}

struct Node<T: 'static> {
    value: T,
    index: u64,
    children: [OnceBox<Node<T>>; 2],
}

type Entry<T> = OnceRef<'static, Node<T>>;

const FIRST_SEGMENT: u64 = 64;

/// Together the segments have more than 2^62 entries, so that every payload has one.
const SEGMENTS: usize = 57;

/// Returns the segment of an index and the position in the segment.
const fn position_of(index: u64) -> (usize, usize) {
    let position = index.saturating_add(FIRST_SEGMENT);
    let segment = position.ilog2() - FIRST_SEGMENT.ilog2();
    (segment as usize, (position - (FIRST_SEGMENT << segment)) as usize)
}

impl<T: Eq> Interned<T> {
    pub(crate) const fn new() -> Self {
        Interned {
            root: OnceBox::new(),
            segments: [const { OnceBox::new() }; SEGMENTS],
            count: RelaxedU64::new(0),
        }
    }

    /// Returns the index of a value and the stored value, which is a copy if the value is new.
    pub(crate) fn intern<Q>(&'static self, value: &Q) -> (u64, &'static T)
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = T> + ?Sized,
    {
        let node = self.node_of(value);
        // Every thread stores the entry before it uses the index: the thread that has inserted the node may not have
        // stored it yet.
        let entry = self.entry(node.index);
        debug_assert!(entry.is_some(), "the index {} has no entry", node.index);
        let _ = entry.map(|entry| entry.set(node));
        (node.index, &node.value)
    }

    fn node_of<Q>(&'static self, value: &Q) -> &'static Node<T>
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = T> + ?Sized,
    {
        let mut hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(value);
        let mut cell = &self.root;
        loop {
            // If two threads insert here at the same time, the node and the index of one of them are discarded.
            let node = cell.get_or_init(|| {
                let children = [const { OnceBox::new() }; 2];
                Box::new(Node { value: value.to_owned(), index: self.count.add(1) - 1, children })
            });
            if node.value.borrow() == value {
                return node;
            }
            let [zero, one] = &node.children;
            cell = if hash & 1 == 0 { zero } else { one };
            hash = hash.rotate_right(1);
        }
    }

    /// Returns the entry of an index, whose segment is allocated if it is absent.
    fn entry(&'static self, index: u64) -> Option<&'static Entry<T>> {
        let (segment, position) = position_of(index);
        let new = || Box::new((0..FIRST_SEGMENT << segment).map(|_| OnceRef::new()).collect());
        self.segments.get(segment)?.get_or_init(new).get(position)
    }

    /// Returns the value with this index.
    pub(crate) fn get(&self, index: u64) -> Option<&'static T> {
        let (segment, position) = position_of(index);
        let node = self.segments.get(segment)?.get()?.get(position)?.get()?;
        Some(&node.value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn intern_returns_one_index_for_equal_values() {
        static TABLE: Interned<String> = Interned::new();
        let texts: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
        let indices: Vec<u64> = texts.iter().map(|text| TABLE.intern(text.as_str()).0).collect();
        assert_eq!(indices, (0..1000).collect::<Vec<_>>());
        for (text, index) in texts.iter().zip(indices) {
            assert_eq!(TABLE.intern(text.as_str()), (index, text));
            assert_eq!(TABLE.get(index), Some(text));
        }
        for absent in [1000, 1 << 40, u64::MAX] {
            assert_eq!(TABLE.get(absent), None);
        }
    }

    #[test]
    fn intern_stores_values_with_equal_hashes() {
        #[derive(Clone, Debug, PartialEq, Eq)]
        struct Same(u32);
        impl Hash for Same {
            fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
        }
        static TABLE: Interned<Same> = Interned::new();
        let indices: Vec<u64> = (0..200).map(|number| TABLE.intern(&Same(number)).0).collect();
        assert_eq!(indices, (0..200).collect::<Vec<_>>());
        assert_eq!(TABLE.get(150), Some(&Same(150)));
    }

    #[test]
    fn intern_on_several_threads_returns_one_index_for_equal_values() {
        static TABLE: Interned<String> = Interned::new();
        let indices = || {
            let indices: Vec<u64> = (0..2000).map(|number| TABLE.intern(&number.to_string()).0).collect();
            // The index is readable at once, also if another thread has inserted the value.
            assert!(indices.iter().zip(0..).all(|(index, number)| {
                TABLE.get(*index).is_some_and(|text| *text == number.to_string())
            }));
            indices
        };
        let all = std::thread::scope(|threads| {
            [(); 4].map(|()| threads.spawn(indices)).map(|thread| thread.join().unwrap())
        });
        assert!(all.iter().all(|indices| *indices == all[0]));
        assert_eq!(all[0].iter().collect::<BTreeSet<_>>().len(), 2000);
    }
}

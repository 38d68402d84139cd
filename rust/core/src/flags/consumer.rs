//! The operations that obey flags, from which `explain` lists them.

use std::iter;

use once_cell::race::OnceRef;

use super::flag::FlagWord;
use super::flag_spec::FlagSpec;
use super::precision::Node;
use crate::thread::{FlagId, Slot};

const MAX_CONSUMERS: usize = 1024;

/// Filled in order; read without a lock.
static CONSUMERS: [OnceRef<'static, Consumer>; MAX_CONSUMERS] = [const { OnceRef::new() }; MAX_CONSUMERS];

/// The flags that an operation obeys.
#[derive(Debug)]
pub(crate) struct Consumer {
    operation: &'static str,
    words: Vec<FlagId>,
    nodes: Vec<Node>,
}

impl Consumer {
    /// Adds the flags that an operation obeys and those that override them. If the table is full, `explain` does not list them.
    pub(crate) fn announce(operation: &'static str, words: Vec<&FlagWord>, nodes: Vec<Node>) {
        let with_overriders = |word| iter::once(word).chain(FlagWord::overriders(word).iter().copied());
        let words = words.into_iter().flat_map(with_overriders).map(|word| word.id).collect();
        let consumer: &'static Consumer = Box::leak(Box::new(Consumer { operation, words, nodes }));
        // If another thread fills an entry first, the next one is tried.
        let _ = CONSUMERS.iter().find(|entry| entry.get().is_none() && entry.set(consumer).is_ok());
    }

    fn obeys(&self, slot: Slot) -> bool {
        match slot {
            Slot::Flag(id) => self.words.contains(&id),
            Slot::Node(mask) => {
                let node = Node::of_slot(mask);
                self.nodes.iter().any(|read| read.inherits_from(node))
            }
        }
    }
}

impl FlagSpec {
    /// Returns the names of the operations of this process that obey the flag, in alphabetical order: their kernels
    /// require values of it, compute as it requests or are ordered by it.
    pub fn obeyed_by(&self) -> Vec<&'static str> {
        let consumers = CONSUMERS.iter().map_while(OnceRef::get);
        let obeying = consumers.filter(|consumer| self.slots().any(|slot| consumer.obeys(slot)));
        let mut names: Vec<_> = obeying.map(|consumer| consumer.operation).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

//! The operations that obey flags, from which `explain` lists them.

use std::{fmt, iter};

use once_cell::race::OnceRef;

use super::flag::FlagWord;
use super::flag_spec::FlagSpec;
use super::precision::Node;
use crate::thread::{FlagId, Slot};

const MAX_CONSUMERS: usize = 1024;

/// Filled in order; read without a lock.
static CONSUMERS: [OnceRef<'static, Consumer>; MAX_CONSUMERS] = [const { OnceRef::new() }; MAX_CONSUMERS];

/// The flags that an operation obeys.
pub(crate) struct Consumer {
    operation: &'static str,
    words: Vec<FlagId>,
    nodes: Vec<Node>,
    /// Returns whether the operation has the kernel that obeys the flags; `None` if it has it always.
    is_active: Option<IsActive>,
}

/// A function that returns whether a kernel is registered.
pub(crate) type IsActive = Box<dyn Fn() -> bool + Send + Sync>;

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("operation", &self.operation).finish_non_exhaustive()
    }
}

impl Consumer {
    /// Adds the flags that an operation obeys and those that override them. If the table is full, `explain` does not
    /// list them.
    pub(crate) fn announce(operation: &'static str, words: Vec<&FlagWord>, nodes: Vec<Node>) {
        Consumer::announce_while(operation, words, nodes, None);
    }

    /// Adds the flags as [`announce`](Consumer::announce) does, for a kernel that can be removed.
    pub(crate) fn announce_while(
        operation: &'static str,
        words: Vec<&FlagWord>,
        nodes: Vec<Node>,
        is_active: Option<IsActive>,
    ) {
        let with_overriders = |word| iter::once(word).chain(FlagWord::overriders(word).iter().copied());
        let words = words.into_iter().flat_map(with_overriders).map(|word| word.id).collect();
        let consumer: &'static Consumer =
            Box::leak(Box::new(Consumer { operation, words, nodes, is_active }));
        // If another thread fills an entry first, the next one is tried.
        let _ = CONSUMERS.iter().find(|entry| entry.get().is_none() && entry.set(consumer).is_ok());
    }

    fn obeys(&self, slot: Slot) -> bool {
        if self.is_active.as_ref().is_some_and(|is_active| !is_active()) {
            return false;
        }
        match slot {
            Slot::Flag(id) => self.words.contains(&id),
            Slot::Node(mask) => {
                let node = Node::from_slot(mask);
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

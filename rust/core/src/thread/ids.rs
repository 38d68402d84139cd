//! Ids of threads, tasks, scopes and layers.

use crate::base::sync::RelaxedU64;

/// Identifies a thread; 0 is none. Unique in a process, also after the thread has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadId(u64);

impl ThreadId {
    pub(super) const NONE: ThreadId = ThreadId(0);

    pub(super) fn next() -> Self {
        static LAST: RelaxedU64 = RelaxedU64::new(0);
        ThreadId(LAST.add(1))
    }

    pub(super) fn as_word(self) -> u64 {
        self.0
    }
}

/// Identifies a task for the steps of a thread; unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskId(u64);

impl TaskId {
    pub(super) fn next() -> Self {
        static LAST: RelaxedU64 = RelaxedU64::new(0);
        TaskId(LAST.add(1))
    }
}

/// Identifies a scope; 0 is none. Unique in a process: the address of a dropped scope may be reused while one of its
/// layers is still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScopeId(u64);

impl ScopeId {
    /// The id of a guard, which removes its layer by the id of the layer.
    pub(super) const NONE: ScopeId = ScopeId(0);

    pub(super) fn next() -> Self {
        static LAST: RelaxedU64 = RelaxedU64::new(0);
        ScopeId(LAST.add(1))
    }
}

/// Identifies a layer, or the base of a thread, task or context. Unique in a process, because tasks and contexts move
/// between threads. Never 0 for a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayerId(u64);

impl LayerId {
    pub(super) const NONE: LayerId = LayerId(0);

    /// Returns the number of the id.
    pub fn number(self) -> u64 {
        self.0
    }

    /// Returns the id with this number.
    pub fn from_number(number: u64) -> Self {
        LayerId(number)
    }
}

/// Orders the layers of a state where a layer is entered below others: a layer lies above those of lower positions, and
/// of those with its position above the ones that were entered before. The ids of layers don't order them, because each
/// thread takes its ids from a block of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// Returns the position of layers that are entered now.
    pub(super) fn current() -> Self {
        Position(CURRENT_POSITION.get())
    }

    /// Returns a position above all layers so far, and below all later ones.
    pub(super) fn next() -> Self {
        Position(CURRENT_POSITION.add(2) - 1)
    }
}

/// Advances by two with each [`Position::next`], which lies between, so that an enter only loads it.
static CURRENT_POSITION: RelaxedU64 = RelaxedU64::new(0);

/// Generates the layer ids of one thread; stores the last one. Threads reserve ids in blocks, so ids are unique in a
/// process with little contention.
#[derive(Debug)]
pub(super) struct LayerIds(u64);

pub(super) const BLOCK: u64 = 1 << 16;

/// The last block that was reserved. The first block is unused, because it has the id 0.
static BLOCKS: RelaxedU64 = RelaxedU64::new(0);

impl LayerIds {
    pub(super) const fn new() -> Self {
        LayerIds(BLOCK - 1)
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> LayerId {
        self.0 += 1;
        if self.0.is_multiple_of(BLOCK) {
            self.next_block();
        }
        LayerId(self.0)
    }

    #[cold]
    #[inline(never)]
    fn next_block(&mut self) {
        self.0 = BLOCKS.add(1) * BLOCK;
    }
}

/// The layer to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ExitTarget {
    /// The innermost layer of a scope.
    Scope(ScopeId),
    /// The layer of a guard.
    Layer(LayerId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layer_ids_of_two_threads_are_distinct() {
        let numbers_of =
            |ids: &mut LayerIds| -> Vec<u64> { (0..BLOCK + 2).map(|_| ids.next().number()).collect() };
        let (mut one, mut other) = (LayerIds::new(), LayerIds::new());
        let (first, second) = (numbers_of(&mut one), numbers_of(&mut other));
        let all: std::collections::HashSet<u64> = first.iter().chain(&second).copied().collect();
        assert_eq!(all.len(), first.len() + second.len());
        assert!(!all.contains(&0));
    }
}

//! The flags that a layer sets.

use super::Masked;
use crate::base::location::SourceLocation;
use crate::base::sync::RelaxedU64;

/// The number of layers of all threads, tasks and contexts that name flags. While it is zero, a read of a flag checks
/// no layer. A forked child also counts the layers of threads that it lacks, which only costs its reads one more load.
static ACTIVE_FLAG_LAYERS: RelaxedU64 = RelaxedU64::new(0);

/// Returns whether a layer of any thread names a flag.
#[inline]
pub(crate) fn any_flag_layer() -> bool {
    ACTIVE_FLAG_LAYERS.get() != 0
}

/// Returns the address of the number of layers that name flags.
#[cfg(not(loom))]
pub fn flag_layers_address() -> *const u64 {
    ACTIVE_FLAG_LAYERS.as_ptr()
}

pub(super) fn acquire(count: u64) {
    if count != 0 {
        ACTIVE_FLAG_LAYERS.add(count);
    }
}

pub(super) fn release(count: u64) {
    if count != 0 {
        ACTIVE_FLAG_LAYERS.subtract(count);
    }
}

/// Identifies a flag. Ids of interlock's own flags are constants; [`register`](crate::flags::register) assigns the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlagId(pub(crate) u16);

impl FlagId {
    /// Returns the bit of this flag in the word that summarizes which flags a thread's layers name. Flags whose ids are
    /// equal modulo 64 share a bit.
    #[inline]
    pub(super) fn bit(self) -> u64 {
        1 << (self.0 % 64)
    }
}

/// The bits of the precision tree's word that belong to one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeMask(pub(crate) u64);

/// A slot that stores part of the flags: a word of its own, or a node of the precision tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    Flag(FlagId),
    Node(NodeMask),
}

/// The flags that a layer sets, with their payloads.
///
/// A word of a layer is never unset: it is built with the value of the environment or the default, so that a read needs
/// no second lookup. A node of the precision tree may be empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlagSlots {
    pub(crate) words: Vec<(FlagId, u64)>,
    pub(crate) tree: Masked<u64>,
    /// The location that set each slot; empty unless writes are traced.
    pub(crate) sites: Vec<(Slot, SourceLocation)>,
}

impl FlagSlots {
    pub(crate) fn with_capacity(words: usize) -> Self {
        FlagSlots { words: Vec::with_capacity(words), ..FlagSlots::default() }
    }

    pub(super) fn name_any(&self) -> bool {
        !self.words.is_empty() || self.tree.mask != 0
    }

    pub(crate) fn word(&self, id: FlagId) -> Option<u64> {
        self.words.iter().find(|(named, _)| *named == id).map(|(_, payload)| *payload)
    }

    pub(super) fn names(&self, slot: Slot) -> bool {
        match slot {
            Slot::Flag(id) => self.word(id).is_some(),
            Slot::Node(node) => self.tree.mask & node.0 != 0,
        }
    }

    /// Returns the union of [`FlagId::bit`] of the flags.
    pub(super) fn named_bits(&self) -> u64 {
        self.words.iter().fold(0, |bits, (id, _)| bits | id.bit())
    }

    /// Adds the flags that `below` names and `self` does not.
    pub(crate) fn fill_from(&mut self, below: &FlagSlots) {
        let new = |slot: Slot| below.names(slot) && !self.names(slot);
        let sites: Vec<_> = below.sites.iter().filter(|(slot, _)| new(*slot)).cloned().collect();
        let words: Vec<_> = below.words.iter().filter(|(id, _)| new(Slot::Flag(*id))).copied().collect();
        self.tree = self.tree.over(below.tree);
        self.sites.extend(sites);
        self.words.extend(words);
    }

    pub(crate) fn record_site(&mut self, slot: Slot, site: SourceLocation) {
        self.sites.retain(|(noted, _)| *noted != slot);
        self.sites.push((slot, site));
    }
}

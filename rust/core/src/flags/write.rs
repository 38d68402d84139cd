//! The only path by which flags are written: a write is checked completely, then all slots are written under one lock.

use std::cell::RefCell;

use super::change::Changes;
use super::flag_spec::{FlagSpec, qualified};
use super::kind::Kind;
use super::scope::Purpose;
use super::store::STORE;
use super::table;
use super::{InputValue, Node, SourceLocation};
use crate::Result;
use crate::base::env;
use crate::thread::{self, FlagSlots, Masked, Slot};

/// The new contents of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotWrite {
    Set(u64),
    /// Unset: the value of the environment applies, else the default.
    Clear,
    /// In a scope: an empty node of the precision tree, regardless of the environment.
    Mask,
}

impl SlotWrite {
    pub(super) fn payload(self) -> Option<u64> {
        match self {
            SlotWrite::Set(payload) => Some(payload),
            SlotWrite::Clear | SlotWrite::Mask => None,
        }
    }
}

/// A checked write: the name that the program used, for messages, the slot and its new contents.
pub(super) type Write = (&'static str, Slot, SlotWrite);

/// Checked writes that are committed together, at most one for each slot.
pub(super) type Batch = Vec<Write>;

/// A collection of checked writes.
pub(super) trait Writes {
    /// Adds a write, which replaces an earlier one to the same slot. `name` is the one the program used.
    fn add(&mut self, name: &'static str, slot: Slot, new: SlotWrite);
}

impl Writes for Batch {
    fn add(&mut self, name: &'static str, slot: Slot, new: SlotWrite) {
        self.retain(|(_, taken, _)| *taken != slot);
        self.push((name, slot, new));
    }
}

/// Applies the writes to the flags of a new layer.
impl Writes for FlagSlots {
    #[inline]
    fn add(&mut self, _name: &'static str, slot: Slot, new: SlotWrite) {
        put_in_layer(self, slot, new);
    }
}

pub(super) fn put_in_layer(flags: &mut FlagSlots, slot: Slot, new: SlotWrite) {
    match slot {
        Slot::Flag(id) => {
            let payload = match new {
                SlotWrite::Set(payload) => payload,
                SlotWrite::Clear | SlotWrite::Mask => {
                    table::word(id).map_or(0, |word| word.fallback_payload())
                }
            };
            match flags.words.iter_mut().find(|(named, _)| *named == id) {
                Some(word) => word.1 = payload,
                None => flags.words.push((id, payload)),
            }
        }
        Slot::Node(mask) => {
            let node = Node::from_slot(mask);
            let payload = match new {
                SlotWrite::Set(payload) => payload,
                SlotWrite::Clear => node.fallback_payload(),
                SlotWrite::Mask => 0,
            };
            flags.tree = Masked::new(mask.0, node.word_bits(payload)).over(flags.tree);
        }
    }
}

/// Writes a slot of the process. The caller holds the lock of [`STORE`].
pub(super) fn put_in_process(slot: Slot, new: SlotWrite) {
    match slot {
        Slot::Flag(id) => {
            if let Some(word) = table::word(id) {
                word.set_in_process(new);
            }
        }
        Slot::Node(mask) => Node::from_slot(mask).set_in_process(new),
    }
}

/// Writes each slot in the innermost layer of this thread that sets it, else for the process. No two writes have the
/// same slot.
pub(super) fn commit(writes: &[Write], site: Option<SourceLocation>) -> Result<()> {
    let Some((name, ..)) = writes.first() else { return Ok(()) };
    let site = site.filter(|_| env::debug());
    let changes = RefCell::new(Changes::default());
    let written = thread::write_scoped(
        || qualified(name),
        |scoped| {
            let mut store = STORE.lock();
            store.freeze.check_writable(name)?;
            // Checked first, so that a write that fails changes nothing.
            for (name, slot, _) in writes {
                scoped.check(|| qualified(name), *slot)?;
            }
            let mut is_changed = false;
            let mut changes = changes.borrow_mut();
            for &(_, slot, new) in writes {
                let is_scoped = scoped.change(slot, |layer, flags| {
                    changes.put_in_layer(layer, flags, slot, new);
                    site.iter().for_each(|site| flags.record_site(slot, site.clone()));
                });
                if scoped.is_first_step() {
                    continue;
                }
                if let Some(site) = &site {
                    store.log.record(slot, new, site);
                }
                if !is_scoped {
                    changes.put_in_process(slot, new);
                    store.sites.retain(|(noted, _)| *noted != slot);
                    store.sites.extend(site.clone().map(|site| (slot, site)));
                    is_changed = true;
                }
            }
            if is_changed {
                store.advance_epoch();
            }
            Ok(())
        },
    );
    if written.is_ok() {
        changes.into_inner().report();
    }
    written
}

/// Writes several flags without a scope, all or none. `None` unsets a flag.
pub fn assign(
    writes: &[(&'static FlagSpec, Option<InputValue>)],
    site: Option<SourceLocation>,
) -> Result<()> {
    if let [(spec, given)] = writes
        && let Some(slot) = spec.single_slot()
    {
        let new = spec.checked_write(given.as_ref(), Purpose::Named)?;
        return commit(&[(spec.name, slot, new)], site);
    }
    let mut batch = Batch::default();
    for (spec, given) in writes {
        spec.add(given.as_ref(), Purpose::Named, &mut batch)?;
    }
    commit(&batch, site)
}

/// Runs `write` under the lock of the process, unless flags are frozen: for a setting of `backends` that is not a flag.
/// `name` is its name below `backends`.
pub fn write_unless_frozen(name: &str, write: impl FnOnce()) -> Result<()> {
    let store = STORE.lock();
    store.freeze.check_writable(name)?;
    write();
    Ok(())
}

/// Runs `write` under the lock of the process, unless flags are frozen: for a function that sets several values.
pub(crate) fn call_unless_frozen(function: &str, write: impl FnOnce()) -> Result<()> {
    let store = STORE.lock();
    store.freeze.check_function(function)?;
    write();
    Ok(())
}

/// Checks a count as a flag does: an integer from 0 to `max`. `name` is the name of the setting below `backends`.
pub fn parse_count(name: &str, given: &InputValue, max: u64) -> Result<u64> {
    let kind = Kind::Count { default: 0, max };
    kind.encode(given).map_err(|refusal| refusal.error(qualified(name), given.to_string(), kind.accepted()))
}

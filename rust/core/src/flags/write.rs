//! The one way in which flags are written: what a write stands for is worked out and checked first,
//! then everything is written under one lock, or nothing.

use super::attribute::{Attribute, qualified};
use super::kind::Kind;
use super::process::PROCESS;
use super::scope::Purpose;
use super::table;
use super::{Given, Node, SourceLocation};
use crate::Result;
use crate::base::env;
use crate::thread::{self, FlagSlots, Masked, Slot};

/// What a slot shall hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Value(u64),
    /// Nothing is assigned: the environment's value counts, else the default.
    Unset,
    /// In a scope: a node of the precision tree holds nothing, whatever the environment says.
    Nothing,
}

impl Held {
    pub(super) fn payload(self) -> Option<u64> {
        match self {
            Held::Value(payload) => Some(payload),
            Held::Unset | Held::Nothing => None,
        }
    }
}

/// Checked writes that belong together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The name is the one the program used, for messages.
    writes: Vec<(&'static str, Slot, Held)>,
}

impl Batch {
    fn held(&self, wanted: Slot) -> Held {
        let found = self.writes.iter().find(|(_, slot, _)| *slot == wanted);
        found.map_or(Held::Unset, |(_, _, held)| *held)
    }

    /// Writes each slot where the innermost layer of this thread decides it, else for the process.
    pub(super) fn commit(self, site: Option<SourceLocation>) -> Result<()> {
        let Some((name, ..)) = self.writes.first() else { return Ok(()) };
        let site = site.filter(|_| env::debug());
        let mut process = PROCESS.lock();
        process.freeze.admit(name)?;
        let outside =
            thread::write_scoped_all(self.writes.iter().map(|(_, slot, _)| *slot), |slot, flags| {
                put_in_layer(flags, slot, self.held(slot));
                if let Some(site) = &site {
                    flags.note_site(slot, site.clone());
                }
            });
        if let Some(site) = &site {
            self.writes.iter().for_each(|(_, slot, held)| process.log.note(*slot, *held, site));
        }
        for slot in &outside {
            put_in_process(*slot, self.held(*slot));
            process.sites.retain(|(noted, _)| noted != slot);
            process.sites.extend(site.clone().map(|site| (*slot, site)));
        }
        if !outside.is_empty() {
            process.note_change();
        }
        Ok(())
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = (Slot, Held)> {
        self.writes.iter().map(|(_, slot, held)| (*slot, *held))
    }

    pub(super) fn into_slots(self) -> impl Iterator<Item = (Slot, Held)> {
        self.writes.into_iter().map(|(_, slot, held)| (slot, held))
    }
}

/// Where checked writes are put.
pub(super) trait Writes {
    /// Adds a write; a later one to the same slot wins. `name` is the one the program used.
    fn add(&mut self, name: &'static str, slot: Slot, held: Held);
}

impl Writes for Batch {
    fn add(&mut self, name: &'static str, slot: Slot, held: Held) {
        self.writes.retain(|(_, taken, _)| *taken != slot);
        self.writes.push((name, slot, held));
    }
}

/// For a layer to be.
impl Writes for FlagSlots {
    #[inline]
    fn add(&mut self, _name: &'static str, slot: Slot, held: Held) {
        put_in_layer(self, slot, held);
    }
}

fn put_in_layer(flags: &mut FlagSlots, slot: Slot, held: Held) {
    match slot {
        Slot::Flag(id) => {
            let payload = match held {
                Held::Value(payload) => payload,
                Held::Unset | Held::Nothing => table::word(id).map_or(0, |word| word.fallback_payload()),
            };
            match flags.words.iter_mut().find(|(named, _)| *named == id) {
                Some(word) => word.1 = payload,
                None => flags.words.push((id, payload)),
            }
        }
        Slot::Node(mask) => {
            let node = Node::of_slot(mask);
            let payload = match held {
                Held::Value(payload) => payload,
                Held::Unset => node.fallback_payload(),
                Held::Nothing => 0,
            };
            flags.tree = Masked::new(mask.0, node.holding(payload)).over(flags.tree);
        }
    }
}

/// Only under the process's lock.
pub(super) fn put_in_process(slot: Slot, held: Held) {
    match slot {
        Slot::Flag(id) => {
            if let Some(word) = table::word(id) {
                word.set_in_process(held);
            }
        }
        Slot::Node(mask) => Node::of_slot(mask).set_in_process(held),
    }
}

/// Writes one slot as [`Batch::commit`] does, without collecting writes first. `name` is the one the program used.
pub(super) fn write_one(
    name: &'static str,
    slot: Slot,
    held: Held,
    site: Option<SourceLocation>,
) -> Result<()> {
    let site = site.filter(|_| env::debug());
    let mut process = PROCESS.lock();
    process.freeze.admit(name)?;
    let landed = thread::write_scoped(slot, |flags| {
        put_in_layer(flags, slot, held);
        if let Some(site) = &site {
            flags.note_site(slot, site.clone());
        }
    });
    if let Some(site) = &site {
        process.log.note(slot, held, site);
    }
    if !landed {
        put_in_process(slot, held);
        process.sites.retain(|(noted, _)| *noted != slot);
        process.sites.extend(site.map(|site| (slot, site)));
        process.note_change();
    }
    Ok(())
}

/// Writes several flags without a scope, all or none. `None` drops what is assigned.
pub fn assign(writes: &[(&'static Attribute, Option<Given>)], site: Option<SourceLocation>) -> Result<()> {
    if let [(attribute, given)] = writes
        && let Some((slot, held)) = attribute.single_write(given.as_ref())?
    {
        return write_one(attribute.name, slot, held, site);
    }
    let mut batch = Batch::default();
    for (attribute, given) in writes {
        match given {
            Some(given) => attribute.add_write(given, Purpose::Named, &mut batch)?,
            None => attribute.add_removal(&mut batch)?,
        }
    }
    batch.commit(site)
}

/// Runs `write` unless flags are frozen, and while no flag is written: for a setting that is no flag but belongs to
/// `backends`. `name` is its name below `backends`.
#[doc(hidden)]
pub fn check_writable(name: &str, write: impl FnOnce()) -> Result<()> {
    let process = PROCESS.lock();
    process.freeze.admit(name)?;
    write();
    Ok(())
}

/// Reads a count as a flag would: an integer from 0 to `max`. `name` is the name of the setting below `backends`.
#[doc(hidden)]
pub fn parse_count(name: &str, given: &Given, max: u64) -> Result<u64> {
    let kind = Kind::Count { default: 0, max };
    kind.encode(given).map_err(|refusal| refusal.error(qualified(name), given.to_string(), kind.allowed()))
}

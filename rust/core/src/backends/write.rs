//! The one way in which flags are written: what a write stands for is worked out and checked first,
//! then everything is written under one lock, or nothing.

use super::attribute::Attribute;
use super::process::PROCESS;
use super::scope::Purpose;
use super::table;
use super::{Given, Site};
use crate::state::{self, FlagId, FlagSlots, Masked, Slot};
use crate::{Error, Result, env};

/// What a slot shall hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Value(u64),
    /// Nothing: the environment's value counts, else the default.
    Unset,
}

/// Checked writes that belong together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The name is the one the program used, for messages.
    writes: Vec<(&'static str, Slot, Held)>,
}

impl Batch {
    /// Room for so many writes.
    pub(super) fn with_capacity(writes: usize) -> Self {
        Batch { writes: Vec::with_capacity(writes) }
    }

    /// Adds a write; a later one to the same slot wins.
    pub(super) fn add(&mut self, name: &'static str, slot: Slot, held: Held) {
        match self.writes.iter_mut().find(|(_, taken, _)| *taken == slot) {
            Some(write) => *write = (name, slot, held),
            None => self.writes.push((name, slot, held)),
        }
    }

    fn held(&self, wanted: Slot) -> Held {
        let found = self.writes.iter().find(|(_, slot, _)| *slot == wanted);
        found.map_or(Held::Unset, |(_, _, held)| *held)
    }

    /// Writes each slot where the innermost layer of this thread decides it, else for the process.
    pub(super) fn commit(self, site: Option<Site>) -> Result<()> {
        let Some((name, ..)) = self.writes.first() else { return Ok(()) };
        let site = site.filter(|_| env::debug());
        let mut process = PROCESS.lock();
        if let Some(by) = process.freeze.called_at() {
            return Err(Error::FlagsFrozen { name: (*name).to_owned(), by: by.clone() });
        }
        let outside = state::landed_writes(self.writes.iter().map(|(_, slot, _)| *slot), |slot, flags| {
            put_in_layer(flags, slot, self.held(slot));
            if let Some(site) = &site {
                flags.note_site(slot, site.clone());
            }
        });
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

    pub(super) fn into_writes(self) -> Vec<(&'static str, Slot, Held)> {
        self.writes
    }

    /// What a layer holds that names these slots.
    pub(super) fn into_layer(self, site: Option<Site>) -> FlagSlots {
        let site = site.filter(|_| env::debug());
        let mut flags = FlagSlots { words: Vec::with_capacity(self.writes.len()), ..FlagSlots::default() };
        for (_, slot, held) in self.writes {
            match slot {
                // Every slot is written once, so there is no earlier word to look for.
                Slot::Flag(id) => flags.words.push((id, layer_word(id, held))),
                Slot::Node(_) => put_in_layer(&mut flags, slot, held),
            }
            if let Some(site) = &site {
                flags.note_site(slot, site.clone());
            }
        }
        flags
    }
}

/// What a layer holds for a flag.
fn layer_word(id: FlagId, held: Held) -> u64 {
    match held {
        Held::Value(payload) => payload,
        Held::Unset => table::word(id).map_or(0, |word| word.fallback_payload()),
    }
}

fn put_in_layer(flags: &mut FlagSlots, slot: Slot, held: Held) {
    match slot {
        Slot::Flag(id) => {
            let payload = layer_word(id, held);
            match flags.words.iter_mut().find(|(named, _)| *named == id) {
                Some(word) => word.1 = payload,
                None => flags.words.push((id, payload)),
            }
        }
        Slot::Node(node) => {
            let payload = match held {
                Held::Value(payload) => payload,
                Held::Unset => node.fallback_payload(),
            };
            flags.tree = Masked::new(node.mask(), node.holding(payload)).over(flags.tree);
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
        Slot::Node(node) => node.set_in_process(held),
    }
}

/// Writes several flags without a scope, all or none. `None` drops what is assigned.
pub fn assign(writes: &[(&'static Attribute, Option<Given>)], site: Option<Site>) -> Result<()> {
    let mut batch = Batch::default();
    for (attribute, given) in writes {
        match given {
            Some(given) => attribute.add_write(given, Purpose::Named, &mut batch)?,
            None => attribute.add_removal(&mut batch)?,
        }
    }
    batch.commit(site)
}

//! Every flag of the process as one value, and back.

use super::attribute::{Part, Target};
use super::process::PROCESS;
use super::write::{Batch, Held, put_in_process};
use super::{Attribute, Given, Level, Purpose, Site, Value, precision, table};
use crate::state::FlagSlots;
use crate::{Result, env};

/// One flag of a [`Snapshot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// The dotted name.
    pub name: &'static str,
    /// What the process holds; for a node of the precision tree that holds nothing, [`Value::None`].
    pub value: Value,
    /// Where the process has it from: never [`Level::Scope`].
    pub level: Level,
}

/// What the process holds for every flag; views are left out, their nodes are there.
pub type Snapshot = Vec<SnapshotEntry>;

/// Takes all flags of the process as they are at one moment. Scopes are not part of it.
pub fn snapshot() -> Snapshot {
    let _no_writes = PROCESS.lock();
    table::attributes().filter_map(entry).collect()
}

fn entry(attribute: &'static Attribute) -> Option<SnapshotEntry> {
    let (value, level) = match &attribute.target {
        Target::Word(word, Part::Whole | Part::First) => {
            let (payload, level) = word.in_process();
            (word.kind.decode(payload), level)
        }
        Target::Node(node) => {
            let (held, level) = node.in_process();
            (held.map_or(Value::None, |precision| Value::Name(precision.name())), level)
        }
        Target::Tf32(_) | Target::Constant(_) | Target::Word(_, Part::Second) => return None,
    };
    Some(SnapshotEntry { name: attribute.name, value, level })
}

/// What the process holds for every flag at one moment, as a layer would hold it.
pub(crate) fn process_flags() -> FlagSlots {
    let process = PROCESS.lock();
    let words = table::attributes().filter_map(|attribute| match &attribute.target {
        Target::Word(word, Part::Whole | Part::First) => Some((word.id, word.in_process().0)),
        _ => None,
    });
    FlagSlots {
        words: words.collect(),
        tree: precision::process_tree(),
        sites: process.sites.clone(),
        ..FlagSlots::default()
    }
}

/// Assigns these flags for the process, past every scope, and drops what else is assigned: all, or
/// nothing where a name or value is refused or flags are frozen.
pub fn restore(assigned: &[(&'static Attribute, Given)], site: Option<Site>) -> Result<()> {
    let mut batch = removal_of_all()?;
    for (attribute, given) in assigned {
        attribute.add_write(given, Purpose::Named, &mut batch)?;
    }
    batch.commit_to_process("restore", site)
}

/// Drops whatever is assigned for the process.
pub fn reset() -> Result<()> {
    removal_of_all()?.commit_to_process("reset", None)
}

fn removal_of_all() -> Result<Batch> {
    let mut batch = Batch::default();
    for attribute in table::attributes().filter(|attribute| !attribute.is_read_only()) {
        attribute.add_removal(&mut batch)?;
    }
    Ok(batch)
}

impl Batch {
    fn commit_to_process(self, operation: &'static str, site: Option<Site>) -> Result<()> {
        let site = site.filter(|_| env::debug());
        let mut process = PROCESS.lock();
        process.freeze.admit(operation)?;
        process.sites.clear();
        for (slot, held) in self.into_slots() {
            put_in_process(slot, held);
            if let (Held::Value(_), Some(site)) = (held, &site) {
                process.sites.push((slot, site.clone()));
                process.log.note(slot, held, site);
            }
        }
        process.note_change();
        Ok(())
    }
}

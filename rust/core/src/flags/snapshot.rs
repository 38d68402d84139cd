//! Snapshots of the flags of the process, and restoring them.

use super::change::Changes;
use super::explain::process_value;
use super::flag_spec::{Backing, Projection};
use super::scope::Purpose;
use super::store::STORE;
use super::write::{Batch, SlotWrite, Write};
use super::{FlagSpec, InputValue, Level, SourceLocation, Value, precision, process_state, registry, table};
use crate::Result;
use crate::base::env;
use crate::thread::{self, FlagSlots, ProcessValues, ThreadState};

/// The value of one flag in a [`Snapshot`].
///
/// ```
/// use interlock_core::flags::flags::CUDNN_BENCHMARK;
/// use interlock_core::flags::{Level, snapshot};
///
/// CUDNN_BENCHMARK.set(true)?;
/// let snapshot = snapshot();
/// let assigned: Vec<_> = snapshot.iter().filter(|entry| entry.level == Level::Process).collect();
/// assert_eq!(assigned[0].name, "cudnn.benchmark");
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotEntry {
    /// The dotted name.
    pub name: &'static str,
    /// The value in the process; [`Value::None`] for an empty node of the precision tree.
    pub value: Value,
    /// The level of the value; never [`Level::Scope`].
    pub level: Level,
}

/// The values of every flag in the process. Aliases are omitted; their nodes are included. Modes and devices that were
/// set for the process follow, with the prefix `state.`.
pub type Snapshot = Vec<SnapshotEntry>;

/// Takes a consistent snapshot of all flags of the process, without scopes.
pub fn snapshot() -> Snapshot {
    let _no_writes = STORE.lock();
    table::flag_specs().filter_map(entry).chain(process_state::entries(ProcessValues::current())).collect()
}

fn entry(spec: &'static FlagSpec) -> Option<SnapshotEntry> {
    let (value, level) = match &spec.backing {
        Backing::Word(word, Projection::Whole | Projection::First) => {
            let (payload, level) = word.in_process();
            (word.kind.decode(payload), level)
        }
        Backing::Node(node) => {
            let (stored, level) = node.in_process();
            (stored.map_or(Value::None, |precision| Value::Name(precision.name())), level)
        }
        Backing::Tf32(_) | Backing::Constant(_) | Backing::Word(_, Projection::Second) => return None,
    };
    Some(SnapshotEntry { name: spec.name, value, level })
}

/// Returns all flags of the process at one moment, as a layer stores them.
fn process_flags() -> FlagSlots {
    let store = STORE.lock();
    let words = table::flag_specs().filter_map(|spec| match &spec.backing {
        Backing::Word(word, Projection::Whole | Projection::First) => Some((word.id, word.in_process().0)),
        _ => None,
    });
    FlagSlots { words: words.collect(), tree: precision::process_tree(), sites: store.sites.clone() }
}

impl ThreadState {
    /// Captures the state of this thread with every flag of the process: later assignments to the process have no
    /// effect where the state is active.
    pub fn capture_pinned() -> Self {
        ThreadState::capture().with_flags_below(&process_flags())
    }
}

/// Assigns these flags for the process, not in scopes, and unsets all others. Has no effect if a name or value is
/// refused or flags are frozen.
///
/// A flag of another library that is not registered yet is assigned when it is registered.
pub fn restore(assigned: &[(impl AsRef<str>, InputValue<'_>)], site: Option<SourceLocation>) -> Result<()> {
    commit_to_process(Restored::new(assigned)?, "backends.restore", site)
}

/// Like [`restore`], but succeeds without a write, even while flags are frozen, if exactly these flags are assigned
/// already.
pub fn install(assigned: &[(impl AsRef<str>, InputValue<'_>)], site: Option<SourceLocation>) -> Result<()> {
    let restored = Restored::new(assigned)?;
    if restored.deferred.is_empty() && restored.is_done() {
        return Ok(());
    }
    commit_to_process(restored, "backends.restore", site)
}

/// Checked values of all flags, modes and devices of the process.
struct Restored {
    flags: Batch,
    state: ProcessValues,
    /// Values of flags that are not registered yet.
    deferred: Vec<(String, InputValue<'static>)>,
}

impl Restored {
    fn new(assigned: &[(impl AsRef<str>, InputValue<'_>)]) -> Result<Self> {
        let mut restored =
            Restored { flags: unset_all()?, state: ProcessValues::default(), deferred: Vec::new() };
        for (name, given) in assigned {
            let name = name.as_ref();
            if process_state::set_entry(&mut restored.state, name, given)? {
                continue;
            }
            match table::find(name) {
                Ok(spec) => spec.add_write(given, Purpose::Named, &mut restored.flags)?,
                Err(_) if registry::may_be_registered(name) => {
                    restored.deferred.push((name.to_owned(), given.clone().into_owned()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(restored)
    }

    /// Returns whether the process has these values.
    fn is_done(&self) -> bool {
        let _no_writes = STORE.lock();
        let is_done = |(_, slot, new): &Write| match new {
            SlotWrite::Set(payload) => process_value(*slot) == (*payload, Level::Process),
            SlotWrite::Clear | SlotWrite::Mask => process_value(*slot).1 != Level::Process,
        };
        self.state == ProcessValues::current() && self.flags.iter().all(is_done)
    }
}

/// Unsets every flag, mode and device of the process.
pub fn reset(site: Option<SourceLocation>) -> Result<()> {
    let nothing: [(&str, InputValue); 0] = [];
    commit_to_process(Restored::new(&nothing)?, "backends.reset", site)
}

fn unset_all() -> Result<Batch> {
    let mut batch = Batch::default();
    for spec in table::flag_specs().filter(|spec| !spec.is_read_only()) {
        spec.add(None, Purpose::Named, &mut batch)?;
    }
    Ok(batch)
}

/// Writes to the process, not to scopes, and replaces the restored values of flags that are not registered yet.
fn commit_to_process(
    restored: Restored,
    operation: &'static str,
    site: Option<SourceLocation>,
) -> Result<()> {
    let site = site.filter(|_| env::debug());
    let mut store = STORE.lock();
    store.freeze.check_function(operation)?;
    store.sites.clear();
    store.deferred_restores = restored.deferred;
    restored.state.store();
    let mut changes = Changes::default();
    for (_, slot, new) in restored.flags {
        let was_assigned = process_value(slot).1 == Level::Process;
        changes.put_in_process(slot, new);
        let Some(site) = &site else { continue };
        if new != SlotWrite::Clear {
            store.sites.push((slot, site.clone()));
        }
        if new != SlotWrite::Clear || was_assigned {
            store.log.record(slot, new, site);
        }
    }
    store.advance_epoch();
    drop(store);
    // This thread reads modes and devices of the process.
    thread::sync();
    changes.report();
    Ok(())
}

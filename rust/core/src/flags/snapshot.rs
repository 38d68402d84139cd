//! Snapshots of the flags of the process, and restoring them.

use super::explain::process_value;
use super::flag_spec::{Backing, Projection};
use super::store::STORE;
use super::write::{Batch, SlotWrite, put_in_process};
use super::{FlagSpec, InputValue, Level, Purpose, SourceLocation, Value, precision, registry, table};
use crate::Result;
use crate::base::env;
use crate::thread::{FlagSlots, ThreadState};

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
pub struct SnapshotEntry {
    /// The dotted name.
    pub name: &'static str,
    /// The value in the process; [`Value::None`] for an empty node of the precision tree.
    pub value: Value,
    /// The level that decides it; never [`Level::Scope`].
    pub level: Level,
}

/// The values of every flag in the process. Aliases are omitted; their nodes are included.
pub type Snapshot = Vec<SnapshotEntry>;

/// Takes a consistent snapshot of all flags of the process, without scopes.
pub fn snapshot() -> Snapshot {
    let _no_writes = STORE.lock();
    table::flag_specs().filter_map(entry).collect()
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
    let (batch, deferred_restores) = restore_batch(assigned)?;
    commit_to_process(batch, "restore", deferred_restores, site)
}

/// Like [`restore`], but succeeds without a write, even while flags are frozen, if exactly these flags are assigned
/// already.
pub fn install(assigned: &[(impl AsRef<str>, InputValue<'_>)], site: Option<SourceLocation>) -> Result<()> {
    let (batch, deferred_restores) = restore_batch(assigned)?;
    if deferred_restores.is_empty() && is_done(&batch) {
        return Ok(());
    }
    commit_to_process(batch, "restore", deferred_restores, site)
}

type DeferredRestores = Vec<(String, InputValue<'static>)>;

fn restore_batch(assigned: &[(impl AsRef<str>, InputValue<'_>)]) -> Result<(Batch, DeferredRestores)> {
    let mut batch = unset_all()?;
    let mut deferred_restores = Vec::new();
    for (name, given) in assigned {
        let name = name.as_ref();
        match table::find(name) {
            Ok(spec) => spec.add_write(given, Purpose::Named, &mut batch)?,
            Err(_) if registry::may_be_registered(name) => {
                deferred_restores.push((name.to_owned(), given.clone().into_owned()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((batch, deferred_restores))
}

/// Unsets every flag of the process.
pub fn reset(site: Option<SourceLocation>) -> Result<()> {
    commit_to_process(unset_all()?, "reset", Vec::new(), site)
}

fn unset_all() -> Result<Batch> {
    let mut batch = Batch::default();
    for spec in table::flag_specs().filter(|spec| !spec.is_read_only()) {
        spec.add(None, Purpose::Named, &mut batch)?;
    }
    Ok(batch)
}

/// Returns whether the process has these values.
fn is_done(batch: &Batch) -> bool {
    let _no_writes = STORE.lock();
    batch.iter().all(|(_, slot, new)| match new {
        SlotWrite::Set(payload) => process_value(*slot) == (*payload, Level::Process),
        SlotWrite::Clear | SlotWrite::Mask => process_value(*slot).1 != Level::Process,
    })
}

/// Writes to the process, not to scopes, and replaces the restored values of flags that are not registered yet.
fn commit_to_process(
    batch: Batch,
    operation: &'static str,
    deferred_restores: DeferredRestores,
    site: Option<SourceLocation>,
) -> Result<()> {
    let site = site.filter(|_| env::debug());
    let mut store = STORE.lock();
    store.freeze.check_writable(operation)?;
    store.sites.clear();
    store.deferred_restores = deferred_restores;
    for (_, slot, new) in batch {
        let was_assigned = process_value(slot).1 == Level::Process;
        put_in_process(slot, new);
        let Some(site) = &site else { continue };
        if new != SlotWrite::Clear {
            store.sites.push((slot, site.clone()));
        }
        if new != SlotWrite::Clear || was_assigned {
            store.log.note(slot, new, site);
        }
    }
    store.note_change();
    Ok(())
}

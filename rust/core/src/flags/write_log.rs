//! The log of the last writes of flags by all threads, recorded while writes are traced (`INTERLOCK_DEBUG=1`).

use std::collections::VecDeque;

use super::precision::{Node, Precision};
use super::store::STORE;
use super::write::SlotWrite;
use super::{SourceLocation, Value, table};
use crate::thread::Slot;

/// The capacity of the log.
const LENGTH: usize = 1_000;

/// A traced write of a flag.
///
/// ```
/// use interlock_core::flags::recent_writes;
///
/// // Empty unless the process runs with INTERLOCK_DEBUG=1.
/// for write in recent_writes() {
///     println!("{}: {} was written", write.site, write.name);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedWrite {
    /// The dotted name of the flag or node; a write of an alias is logged for its nodes.
    pub name: &'static str,
    /// The value; `None` if the flag was unset.
    pub value: Option<Value>,
    /// The location of the write.
    pub site: SourceLocation,
}

pub(super) struct WriteLog(VecDeque<LoggedWrite>);

impl WriteLog {
    pub(super) const fn new() -> Self {
        WriteLog(VecDeque::new())
    }

    pub(super) fn record(&mut self, slot: Slot, new: SlotWrite, site: &SourceLocation) {
        let (name, value) = match slot {
            Slot::Flag(id) => {
                let Some(word) = table::word(id) else { return };
                (word.name, new.payload().map(|payload| word.kind.decode(payload)))
            }
            Slot::Node(mask) => {
                let precision = new.payload().and_then(Precision::from_payload);
                (Node::from_slot(mask).name(), precision.map(|precision| Value::Name(precision.name())))
            }
        };
        if self.0.len() == LENGTH {
            self.0.pop_front();
        }
        self.0.push_back(LoggedWrite { name, value, site: site.clone() });
    }
}

/// Returns the last writes, at most 1000, oldest first. Empty unless writes are traced. Entering a scope is not a
/// write.
pub fn recent_writes() -> Vec<LoggedWrite> {
    STORE.lock().log.0.iter().cloned().collect()
}

//! The last writes of flags, of every thread, while writes are traced (`INTERLOCK_DEBUG=1`): which library
//! changed what.

use std::collections::VecDeque;

use super::precision::{Node, Precision};
use super::store::STORE;
use super::write::SlotWrite;
use super::{SourceLocation, Value, table};
use crate::thread::Slot;

/// How many writes are kept.
const LENGTH: usize = 1_000;

/// A traced write of a flag.
///
/// ```
/// use interlock_core::flags::recent_writes;
///
/// // Empty unless the process runs with INTERLOCK_DEBUG=1.
/// for write in recent_writes() {
///     println!("{}: {} was recent_writes", write.site, write.name);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedWrite {
    /// The dotted name of what was written: of a view, the nodes that it shows.
    pub name: &'static str,
    /// What was written; `None` where what was assigned was dropped.
    pub value: Option<Value>,
    /// Who did it.
    pub site: SourceLocation,
}

pub(super) struct WriteLog(VecDeque<LoggedWrite>);

impl WriteLog {
    pub(super) const fn new() -> Self {
        WriteLog(VecDeque::new())
    }

    pub(super) fn note(&mut self, slot: Slot, held: SlotWrite, site: &SourceLocation) {
        let (name, value) = match slot {
            Slot::Flag(id) => {
                let Some(word) = table::word(id) else { return };
                (word.name, held.payload().map(|payload| word.kind.decode(payload)))
            }
            Slot::Node(mask) => {
                let precision = held.payload().and_then(Precision::of_payload);
                (Node::of_slot(mask).name(), precision.map(|precision| Value::Name(precision.name())))
            }
        };
        if self.0.len() == LENGTH {
            self.0.pop_front();
        }
        self.0.push_back(LoggedWrite { name, value, site: site.clone() });
    }
}

/// The last writes, the oldest first; to open a scope is none: at most a thousand, and none where writes are not traced.
pub fn recent_writes() -> Vec<LoggedWrite> {
    STORE.lock().log.0.iter().cloned().collect()
}

//! Where the value of a flag comes from.

use super::attribute::{Attribute, Target};
use super::precision::{Node, Precision};
use super::process::PROCESS;
use super::{Site, Value, table};
use crate::state::{self, Slot};

/// What decides a value, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Level {
    /// Nobody has said anything.
    Default = 1,
    /// An environment variable, read once.
    Environment = 2,
    /// An assignment for the process.
    Process = 3,
    /// A scope that is open on this thread.
    Scope = 4,
}

impl Level {
    /// The name in messages and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Default => "default",
            Level::Environment => "environment",
            Level::Process => "process",
            Level::Scope => "scope",
        }
    }

    pub(super) fn of_number(number: u64) -> Self {
        match number {
            2 => Level::Environment,
            3 => Level::Process,
            _ => Level::Default,
        }
    }
}

/// The value of a flag and where it comes from.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What is in force on this thread.
    pub value: Value,
    /// What decides it.
    pub level: Level,
    /// Who set it, where writes are traced (`INTERLOCK_DEBUG=1`).
    pub set_by: Option<Site>,
    /// What obeys it, and whether that is in this process.
    pub acts_on: String,
}

impl Attribute {
    /// Explains the value in force on this thread.
    pub fn explain(&self) -> Explanation {
        // What other threads have left is taken away before anything is looked at, not in between.
        state::settle();
        let (level, set_by) = self.deciding_slot().map_or((Level::Default, None), source);
        Explanation { value: self.read(), level, set_by, acts_on: self.effect.in_this_process() }
    }

    /// The slot that makes the value what it is; `None` where nothing is held anywhere.
    fn deciding_slot(&self) -> Option<Slot> {
        match &self.target {
            Target::Word(word, _) => Some(Slot::Flag(word.id)),
            Target::Node(node) => node.decided_by().map(Slot::Node),
            // One node that does not read tf32 makes a view false; else the first is as good as any.
            Target::Tf32(nodes) => {
                let refusing = nodes.iter().find(|node| node.get() != Precision::Tf32);
                refusing.or(nodes.first()).copied().and_then(Node::decided_by).map(Slot::Node)
            }
        }
    }
}

fn source(slot: Slot) -> (Level, Option<Site>) {
    if let Some(site) = state::scoped_site(slot) {
        return (Level::Scope, site);
    }
    let level = match slot {
        Slot::Flag(id) => table::word(id).map_or(Level::Default, |word| word.in_process().1),
        Slot::Node(node) => node.in_process().1,
    };
    let site = if level == Level::Process { PROCESS.lock().site(slot) } else { None };
    (level, site)
}

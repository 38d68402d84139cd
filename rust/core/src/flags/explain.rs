//! Explanations of flag values: the level and the location that set them.

use crate::named_enum;
use std::fmt;

use super::flag_spec::{Backing, FlagSpec};
use super::precision::{Node, Precision};
use super::store::STORE;
use super::{SourceLocation, Value, environment, table};
use crate::thread::{self, Slot};

named_enum! {
    /// The level of a flag's value, in ascending priority.
    ///
    /// ```
    /// use interlock_core::flags::flags::CUDNN_BENCHMARK;
    /// use interlock_core::flags::{Level, find};
    ///
    /// let spec = find("cudnn.benchmark")?;
    /// assert_eq!(spec.explain().level, Level::Default);
    /// let _guard = CUDNN_BENCHMARK.scope(true)?.guard();
    /// assert_eq!(spec.explain().level, Level::Scope);
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub enum Level {
        /// The flag's default: no variable, assignment or scope sets it.
        Default = 1 => "default",
        /// An environment variable, read once.
        Environment = 2 => "environment",
        /// An assignment for the process.
        Process = 3 => "process",
        /// A scope that is open on this thread.
        Scope = 4 => "scope",
    }
}

impl Level {
    pub(super) fn from_number(number: u64) -> Self {
        match number {
            2 => Level::Environment,
            3 => Level::Process,
            other => {
                debug_assert_eq!(other, 1, "a word that has been read has a level");
                Level::Default
            }
        }
    }
}

/// The source line or the environment variable that set a flag.
///
/// ```
/// use interlock_core::flags::{SetBy, find};
///
/// match find("cudnn.benchmark")?.explain().set_by {
///     Some(SetBy::Line(line)) => println!("set at {line}"),
///     Some(SetBy::Variable(name)) => println!("set by the environment variable {name}"),
///     _ => println!("not set, or writes are not traced"),
/// }
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetBy {
    /// A line of a program, if writes are traced (`INTERLOCK_DEBUG=1`).
    Line(SourceLocation),
    /// An environment variable.
    Variable(&'static str),
}

impl fmt::Display for SetBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetBy::Line(site) => site.fmt(f),
            SetBy::Variable(name) => f.write_str(name),
        }
    }
}

/// One flag, mode or device of a thread: its value and its source.
///
/// ```
/// use interlock_core::flags::flags::{CUDNN_BENCHMARK, CUDNN_DETERMINISTIC};
/// use interlock_core::flags::{Level, Value, find};
///
/// CUDNN_BENCHMARK.set(true)?;
/// CUDNN_DETERMINISTIC.set(true)?;
/// let benchmark = find("cudnn.benchmark")?.explain();
/// assert_eq!((benchmark.value, benchmark.level), (Value::Bool(true), Level::Process));
/// assert_eq!((benchmark.effective, benchmark.overridden_by), (Value::Bool(false), Some("cudnn.deterministic")));
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The name of a flag, or of an entry of a snapshot such as `state.grad`.
    pub name: &'static str,
    /// The active value on this thread.
    pub value: Value,
    /// The level of the value.
    pub level: Level,
    /// The line or variable that set it, if known.
    pub set_by: Option<SetBy>,
    /// The effective value, which differs from `value` if something overrides the flag.
    pub effective: Value,
    /// The flag or variable that overrides it.
    pub overridden_by: Option<&'static str>,
}

impl Explanation {
    /// Explains a mode or a device, which nothing overrides.
    pub(super) fn of_state(name: &'static str, value: Value, level: Level) -> Self {
        Explanation { name, value, level, set_by: None, effective: value, overridden_by: None }
    }

    /// Returns whether anything sets or overrides the value.
    pub fn is_set(&self) -> bool {
        self.level != Level::Default || self.overridden_by.is_some()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({}", self.name, self.effective.shown(), self.level)?;
        if let Some(set_by) = &self.set_by {
            write!(f, ", set by {set_by}")?;
        }
        if let Some(overridden_by) = self.overridden_by {
            write!(f, ": {}, overridden by {overridden_by}", self.value.shown())?;
        }
        f.write_str(")")
    }
}

impl FlagSpec {
    /// Explains the active value on this thread.
    pub fn explain(&self) -> Explanation {
        // Before anything is read, so that all results agree.
        thread::sync();
        let (level, set_by) = self.deciding_slot().map_or((Level::Default, None), source);
        let value = self.read();
        let (effective, overridden_by) =
            self.overridden().map_or((value, None), |overridden| (overridden.value, Some(overridden.by)));
        Explanation { name: self.name(), value, level, set_by, effective, overridden_by }
    }

    /// Returns the node above this one from which it inherits its value on this thread; `None` if the value is its own.
    pub fn inherited_from(&self) -> Option<&'static str> {
        let Backing::Node(node) = &self.backing else { return None };
        node.inherited_from().filter(|deciding| deciding != node).map(Node::name)
    }

    /// Returns the operations and libraries that the flag affects, and whether they are in this process.
    pub fn affects(&self) -> String {
        let obeyed_by = self.obeyed_by();
        if obeyed_by.is_empty() {
            return self.effect.in_this_process();
        }
        format!("{}: obeyed by {}", self.effect.operations(), obeyed_by.join(", "))
    }

    /// Returns the slot that has the value; `None` for a constant.
    fn deciding_slot(&self) -> Option<Slot> {
        match &self.backing {
            Backing::Word(word, _) => Some(Slot::Flag(word.id)),
            Backing::Node(node) => Some(deciding_node(*node)),
            Backing::Constant(_) => None,
            // A node that does not read tf32 makes an alias false. Otherwise the first node is as good as any.
            Backing::Tf32(nodes) => {
                let refusing = nodes.iter().find(|node| node.get() != Precision::Tf32);
                refusing.or(nodes.first()).copied().map(deciding_node)
            }
        }
    }
}

/// Returns the slot of the node that has the value. If all are empty, it is the node itself, which a scope may have
/// masked.
fn deciding_node(node: Node) -> Slot {
    node.inherited_from().unwrap_or(node).slot()
}

fn source(slot: Slot) -> (Level, Option<SetBy>) {
    if let Some(site) = thread::scoped_site(slot) {
        return (Level::Scope, site.map(SetBy::Line));
    }
    let (_, level) = process_value(slot);
    let set_by = match level {
        Level::Process => STORE.lock().site(slot).map(SetBy::Line),
        Level::Environment => variable(slot).map(SetBy::Variable),
        Level::Default | Level::Scope => None,
    };
    (level, set_by)
}

/// Returns the payload of a slot in the process and its level.
pub(super) fn process_value(slot: Slot) -> (u64, Level) {
    match slot {
        Slot::Flag(id) => table::word(id).map_or((0, Level::Default), |word| word.in_process()),
        Slot::Node(mask) => {
            let (stored, level) = Node::from_slot(mask).in_process();
            (stored.map_or(0, |precision| precision as u64), level)
        }
    }
}

fn variable(slot: Slot) -> Option<&'static str> {
    let env_value = match slot {
        Slot::Flag(id) => table::word(id).and_then(|word| word.env_value),
        Slot::Node(_) => None,
    };
    env_value.map(|env_value| env_value.variable).or_else(|| environment::source(slot))
}

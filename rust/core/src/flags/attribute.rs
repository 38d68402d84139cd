//! What a program sees: a dotted name, and the slots that reading or writing it stands for.

use super::effect::Effect;
use super::flag::FlagWord;
use super::kind::{Kind, Refusal};
use super::precision::{Node, Precision};
use super::scope::Purpose;
use super::variable::{Reading, Said, Variable};
use super::write::{Held, Writes};
use super::{Given, Value, registry, table};
use crate::base::env::{self, SWITCH_WORDS, parse_switch};
use crate::thread::Slot;
use crate::{Error, Result};

/// A dotted name below `backends`: a flag, a node of the precision tree, or an older name that is a view of them.
///
/// ```
/// use interlock_core::flags::{Value, find};
///
/// let attribute = find("cudnn.benchmark")?;
/// assert_eq!(attribute.read(), Value::Bool(false));
/// assert_eq!(attribute.variables(), ["INTERLOCK_CUDNN_BENCHMARK"]);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Attribute {
    pub(super) name: &'static str,
    pub(super) target: Target,
    pub(super) effect: &'static Effect,
    /// The name of its own variable where a library has chosen another than that of the flag in capitals.
    pub(super) own_variable: Option<&'static str>,
    /// Variables that PyTorch and the vendors read for it, besides our own.
    pub(super) variables: &'static [Variable],
    pub(super) doc: &'static str,
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Target {
    /// A flag's own word, or a part of what it holds.
    Word(&'static FlagWord, Part),
    /// A node of the precision tree.
    Node(Node),
    /// True while all these nodes read tf32.
    Tf32(&'static [Node]),
    /// What is always so.
    Constant(Value),
}

/// How much of a flag's value a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// The first of two; writing takes both.
    First,
    /// The second of two; it is written through the first, so it can only be read.
    Second,
}

impl Part {
    #[inline]
    fn of(self, value: Value) -> Value {
        match (self, value) {
            (Part::First, Value::Pair(first, _)) => Value::Bool(first),
            (Part::Second, Value::Pair(_, second)) => Value::Bool(second),
            _ => value,
        }
    }
}

/// The dotted name as a program writes it.
pub(super) fn qualified(name: &str) -> String {
    if registry::attributes().any(|attribute| attribute.name == name) {
        name.to_owned()
    } else {
        format!("backends.{name}")
    }
}

impl Attribute {
    /// The dotted name below `backends`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The module or object that has it, and its name there.
    pub fn owner_and_leaf(&self) -> (&'static str, &'static str) {
        self.name.rsplit_once('.').unwrap_or(("", self.name))
    }

    /// One sentence or more: what it does.
    pub fn doc(&self) -> &'static str {
        self.doc
    }

    /// What obeys it.
    pub fn effect(&self) -> &'static Effect {
        self.effect
    }

    /// Whether it can't be written.
    pub fn is_read_only(&self) -> bool {
        matches!(self.target, Target::Word(_, Part::Second) | Target::Constant(_))
    }

    /// The type that a read gives, as a stub writes it.
    pub fn annotation(&self) -> String {
        match &self.target {
            Target::Word(word, Part::Whole) => word.kind.annotation(),
            Target::Node(node) => node.annotation(),
            Target::Constant(Value::Names(_)) => "list[str]".to_owned(),
            Target::Constant(_) | Target::Tf32(_) | Target::Word(..) => "bool".to_owned(),
        }
    }

    /// The type that a write takes, as a stub writes it; `None` where it can't be written.
    pub fn accepted_annotation(&self) -> Option<String> {
        match &self.target {
            Target::Word(_, Part::Second) | Target::Constant(_) => None,
            Target::Word(word, _) => Some(word.kind.accepted_annotation()),
            Target::Node(_) | Target::Tf32(_) => Some(self.annotation()),
        }
    }

    /// The environment variables that decide it, the strongest first.
    pub fn variables(&self) -> Vec<String> {
        self.readings().into_iter().map(|(name, _)| name).collect()
    }

    /// The same, each with how its text is read.
    pub(super) fn readings(&self) -> Vec<(String, Reading)> {
        if self.is_read_only() {
            return Vec::new();
        }
        let own = (self.own_variable(), Reading::AsFlag);
        let others = self.variables.iter().map(|variable| (variable.name.to_owned(), variable.reading));
        std::iter::once(own).chain(others).collect()
    }

    /// The variable that sets the flag and no other.
    pub(super) fn own_variable(&self) -> String {
        if let Some(chosen) = self.own_variable {
            chosen.to_owned()
        } else if self.is_registered() {
            env::in_capitals(self.name)
        } else {
            env::variable_of_flag(self.name)
        }
    }

    /// Whether another library has registered it.
    pub fn is_registered(&self) -> bool {
        matches!(self.target, Target::Word(word, _) if word.id.0 >= table::first_free())
    }

    /// What it reads and writes.
    #[inline]
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        let (word, nodes): (_, &[Node]) = match &self.target {
            Target::Word(word, _) => (Some(Slot::Flag(word.id)), &[]),
            Target::Node(node) => (None, std::slice::from_ref(node)),
            Target::Tf32(nodes) => (None, nodes),
            Target::Constant(_) => (None, &[]),
        };
        word.into_iter().chain(nodes.iter().map(|node| node.slot()))
    }

    /// The slot that it reads and writes, unless it is a view of several.
    #[inline]
    pub(super) fn single_slot(&self) -> Option<Slot> {
        match &self.target {
            Target::Word(word, _) => Some(Slot::Flag(word.id)),
            Target::Node(node) => Some(node.slot()),
            Target::Tf32(_) | Target::Constant(_) => None,
        }
    }

    /// Returns the value that is active on this thread.
    #[inline]
    pub fn read(&self) -> Value {
        // Most flags are switches: reading one needs no jump table and no copy of a larger `Value`.
        match &self.target {
            Target::Word(word @ FlagWord { kind: Kind::Switch { .. }, .. }, Part::Whole) => {
                Value::Bool(word.payload() != 0)
            }
            _ => self.read_by_target(),
        }
    }

    fn read_by_target(&self) -> Value {
        match &self.target {
            Target::Word(word, part) => part.of(word.kind.decode(word.payload())),
            Target::Node(node) => Value::Name(node.get().name()),
            Target::Tf32(nodes) => Value::Bool(Node::all_read(nodes, Precision::Tf32)),
            Target::Constant(value) => *value,
        }
    }

    /// The value that it reads without a variable, an assignment or a scope.
    pub fn default(&self) -> Value {
        match &self.target {
            Target::Word(word, part) => part.of(word.kind.decode(word.kind.default())),
            Target::Node(node) => Value::Name(node.default().name()),
            Target::Tf32(nodes) => Value::Bool(nodes.iter().all(|node| node.default() == Precision::Tf32)),
            Target::Constant(value) => *value,
        }
    }

    /// What must be assigned to bring the flag back to how it is now; `None` where nothing is held and
    /// dropping what is assigned brings it back.
    ///
    /// It is the value that is held, not the one that is read: a node that inherits `ieee` holds nothing,
    /// and assigning `ieee` to it would cut it off from what it inherits.
    pub fn to_put_back(&self) -> Option<Value> {
        match &self.target {
            Target::Word(_, Part::Second) | Target::Constant(_) => None,
            Target::Word(word, _) => match word.held()? {
                // A bool is read as allowing split sums; only a pair says otherwise.
                Value::Pair(first, true) => Some(Value::Bool(first)),
                held => Some(held),
            },
            Target::Node(node) => node.held().map(|precision| Value::Name(precision.name())),
            Target::Tf32(nodes) => nodes.iter().any(|node| node.held().is_some()).then(|| self.read()),
        }
    }

    /// Adds what writing `given` stands for, or refuses it.
    pub(super) fn add_write(&self, given: &Given, purpose: Purpose, writes: &mut impl Writes) -> Result<()> {
        self.add(Some(given), purpose, writes)
    }

    /// Adds what writing `given` stands for, or for `None` what dropping the assigned value does.
    #[inline]
    pub(super) fn add(
        &self,
        given: Option<&Given>,
        purpose: Purpose,
        writes: &mut impl Writes,
    ) -> Result<()> {
        let held = self.checked_write(given, purpose)?;
        self.slots().for_each(|slot| writes.add(self.name, slot, held));
        Ok(())
    }

    /// What each slot holds once `given` is written, or for `None` once the assigned value is dropped.
    #[inline]
    pub(super) fn checked_write(&self, given: Option<&Given>, purpose: Purpose) -> Result<Held> {
        if self.is_read_only() {
            return Err(Error::ReadOnlyFlag { name: qualified(self.name) });
        }
        let Some(given) = given else { return Ok(Held::Unset) };
        self.held_for(given, purpose).map_err(|refusal| self.refusal(refusal, given, self.allowed()))
    }

    fn held_for(&self, given: &Given, purpose: Purpose) -> Result<Held, Refusal> {
        match (&self.target, given) {
            (Target::Word(word, _), given) => word.kind.encode(given).map(Held::Value),
            (Target::Node(node), Given::Text(name)) => node
                .precision_named(name)
                .map(|precision| Held::Value(precision as u64))
                .ok_or(Refusal::Value),
            (Target::Node(_), Given::None) if purpose == Purpose::Copied => Ok(Held::Nothing),
            // `flags(allow_tf32=True)` is what it does when nothing is said: it asks for no precision.
            (Target::Tf32(_), Given::Bool(true)) if purpose == Purpose::WholeModule => Ok(Held::Nothing),
            (Target::Tf32(_), Given::Bool(allowed)) => {
                Ok(Held::Value(if *allowed { Precision::Tf32 } else { Precision::Ieee } as u64))
            }
            (Target::Node(_) | Target::Tf32(_) | Target::Constant(_), _) => Err(Refusal::Type),
        }
    }

    /// What a program may write, in words.
    pub fn allowed(&self) -> String {
        match &self.target {
            Target::Word(word, _) => word.kind.allowed(),
            Target::Node(node) => node.allowed(),
            Target::Tf32(_) => "a bool".to_owned(),
            Target::Constant(_) => "nothing".to_owned(),
        }
    }

    fn refusal(&self, refusal: Refusal, given: &Given, allowed: String) -> Error {
        refusal.error(qualified(self.name), given.to_string(), allowed)
    }

    /// Adds what an environment variable stands for, whose value is `None` where it is no text; false where it
    /// says nothing.
    pub(super) fn add_variable(
        &self,
        reading: Reading,
        value: &Option<String>,
        writes: &mut impl Writes,
    ) -> Result<bool> {
        let Some(text) = value else {
            return Err(self.refusal(
                Refusal::Value,
                &Given::Other("no text".to_owned()),
                self.allowed_text(),
            ));
        };
        // Told as it was written, not as it was understood.
        let refused = |refusal, allowed| self.refusal(refusal, &Given::Text(text.into()), allowed);
        let (given, allowed) = match reading.of(text) {
            Some(Said::Nothing) => return Ok(false),
            Some(Said::Value(given)) => (given, self.allowed()),
            Some(Said::Unclear(allowed)) => return Err(refused(Refusal::Value, allowed.to_owned())),
            None => (self.parsed(text), self.allowed_text()),
        };
        let held = self.held_for(&given, Purpose::Named).map_err(|refusal| refused(refusal, allowed))?;
        self.slots().for_each(|slot| writes.add(self.name, slot, held));
        Ok(true)
    }

    /// What is allowed in the environment.
    pub(super) fn allowed_text(&self) -> String {
        match &self.target {
            Target::Word(word, _) => word.kind.allowed_text(),
            Target::Tf32(_) => SWITCH_WORDS.to_owned(),
            Target::Node(_) | Target::Constant(_) => self.allowed(),
        }
    }

    /// The value that a text spells; what can't be read stays text and is then refused.
    fn parsed<'a>(&self, text: &'a str) -> Given<'a> {
        match &self.target {
            Target::Word(word, _) => word.kind.parse(text),
            Target::Tf32(_) => parse_switch(text).map_or_else(|| Given::Text(text.into()), Given::Bool),
            Target::Node(_) | Target::Constant(_) => Given::Text(text.trim().to_lowercase().into()),
        }
    }
}

//! What a program sees: a dotted name, and the slots that reading or writing it stands for.

use super::effect::Effect;
use super::flag::FlagWord;
use super::kind::{Kind, Refusal};
use super::precision::{Node, Precision};
use super::scope::Purpose;
use super::env_parse::{EnvFormat, Parsed, EnvVar};
use super::write::{SlotWrite, Writes};
use super::{InputValue, Value, registry, table};
use crate::base::env::{self, SWITCH_WORDS, parse_switch};
use crate::thread::Slot;
use crate::{Error, Result};

/// A dotted name below `backends`: a flag, a node of the precision tree, or an older name that is a view of them.
///
/// ```
/// use interlock_core::flags::{Value, find};
///
/// let spec = find("cudnn.benchmark")?;
/// assert_eq!(spec.read(), Value::Bool(false));
/// assert_eq!(spec.variables(), ["INTERLOCK_CUDNN_BENCHMARK"]);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct FlagSpec {
    pub(super) name: &'static str,
    pub(super) backing: Backing,
    pub(super) effect: &'static Effect,
    /// The name of its own variable where a library has chosen another than that of the flag in capitals.
    pub(super) own_variable: Option<&'static str>,
    /// Variables that PyTorch and the vendors read for it, besides our own.
    pub(super) variables: &'static [EnvVar],
    pub(super) doc: &'static str,
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Backing {
    /// A flag's own word, or a part of what it holds.
    Word(&'static FlagWord, Projection),
    /// A node of the precision tree.
    Node(Node),
    /// True while all these nodes read tf32.
    Tf32(&'static [Node]),
    /// What is always so.
    Constant(Value),
}

/// How much of a flag's value a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Projection {
    /// All of it.
    Whole,
    /// The first of two; writing takes both.
    First,
    /// The second of two; it is written through the first, so it can only be read.
    Second,
}

impl Projection {
    #[inline]
    fn of(self, value: Value) -> Value {
        match (self, value) {
            (Projection::First, Value::Pair(first, _)) => Value::Bool(first),
            (Projection::Second, Value::Pair(_, second)) => Value::Bool(second),
            _ => value,
        }
    }
}

/// The dotted name as a program writes it.
pub(super) fn qualified(name: &str) -> String {
    if registry::flag_specs().any(|spec| spec.name == name) {
        name.to_owned()
    } else {
        format!("backends.{name}")
    }
}

impl FlagSpec {
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
        matches!(self.backing, Backing::Word(_, Projection::Second) | Backing::Constant(_))
    }

    /// The type that a read gives, as a stub writes it.
    pub fn annotation(&self) -> String {
        match &self.backing {
            Backing::Word(word, Projection::Whole) => word.kind.annotation(),
            Backing::Node(node) => node.annotation(),
            Backing::Constant(Value::Names(_)) => "list[str]".to_owned(),
            Backing::Constant(_) | Backing::Tf32(_) | Backing::Word(..) => "bool".to_owned(),
        }
    }

    /// The type that a write takes, as a stub writes it; `None` where it can't be written.
    pub fn accepted_annotation(&self) -> Option<String> {
        match &self.backing {
            Backing::Word(_, Projection::Second) | Backing::Constant(_) => None,
            Backing::Word(word, _) => Some(word.kind.accepted_annotation()),
            Backing::Node(_) | Backing::Tf32(_) => Some(self.annotation()),
        }
    }

    /// The environment variables that decide it, the strongest first.
    pub fn variables(&self) -> Vec<String> {
        self.env_formats().into_iter().map(|(name, _)| name).collect()
    }

    /// The same, each with how its text is read.
    pub(super) fn env_formats(&self) -> Vec<(String, EnvFormat)> {
        if self.is_read_only() {
            return Vec::new();
        }
        let own = (self.own_variable(), EnvFormat::AsFlag);
        let others = self.variables.iter().map(|variable| (variable.name.to_owned(), variable.format));
        std::iter::once(own).chain(others).collect()
    }

    /// The variable that sets the flag and no other.
    pub(super) fn own_variable(&self) -> String {
        if let Some(chosen) = self.own_variable {
            chosen.to_owned()
        } else if self.is_registered() {
            env::to_env_name(self.name)
        } else {
            env::flag_variable(self.name)
        }
    }

    /// Whether another library has registered it.
    pub fn is_registered(&self) -> bool {
        matches!(self.backing, Backing::Word(word, _) if word.id.0 >= table::first_registered_id())
    }

    /// What it reads and writes.
    #[inline]
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        let (word, nodes): (_, &[Node]) = match &self.backing {
            Backing::Word(word, _) => (Some(Slot::Flag(word.id)), &[]),
            Backing::Node(node) => (None, std::slice::from_ref(node)),
            Backing::Tf32(nodes) => (None, nodes),
            Backing::Constant(_) => (None, &[]),
        };
        word.into_iter().chain(nodes.iter().map(|node| node.slot()))
    }

    /// The slot that it reads and writes, unless it is a view of several.
    #[inline]
    pub(super) fn single_slot(&self) -> Option<Slot> {
        match &self.backing {
            Backing::Word(word, _) => Some(Slot::Flag(word.id)),
            Backing::Node(node) => Some(node.slot()),
            Backing::Tf32(_) | Backing::Constant(_) => None,
        }
    }

    /// Returns the value that is active on this thread.
    #[inline]
    pub fn read(&self) -> Value {
        // Most flags are switches: reading one needs no jump table and no copy of a larger `Value`.
        match &self.backing {
            Backing::Word(word @ FlagWord { kind: Kind::Switch { .. }, .. }, Projection::Whole) => {
                Value::Bool(word.payload() != 0)
            }
            _ => self.read_by_target(),
        }
    }

    fn read_by_target(&self) -> Value {
        match &self.backing {
            Backing::Word(word, part) => part.of(word.kind.decode(word.payload())),
            Backing::Node(node) => Value::Name(node.get().name()),
            Backing::Tf32(nodes) => Value::Bool(Node::all_read(nodes, Precision::Tf32)),
            Backing::Constant(value) => *value,
        }
    }

    /// The value that it reads without a variable, an assignment or a scope.
    pub fn default(&self) -> Value {
        match &self.backing {
            Backing::Word(word, part) => part.of(word.kind.decode(word.kind.default())),
            Backing::Node(node) => Value::Name(node.default().name()),
            Backing::Tf32(nodes) => Value::Bool(nodes.iter().all(|node| node.default() == Precision::Tf32)),
            Backing::Constant(value) => *value,
        }
    }

    /// What must be assigned to bring the flag back to how it is now; `None` where nothing is held and
    /// dropping what is assigned brings it back.
    ///
    /// It is the value that is held, not the one that is read: a node that inherits `ieee` holds nothing,
    /// and assigning `ieee` to it would cut it off from what it inherits.
    pub fn restore_value(&self) -> Option<Value> {
        match &self.backing {
            Backing::Word(_, Projection::Second) | Backing::Constant(_) => None,
            Backing::Word(word, _) => match word.set_value()? {
                // A bool is read as allowing split sums; only a pair says otherwise.
                Value::Pair(first, true) => Some(Value::Bool(first)),
                held => Some(held),
            },
            Backing::Node(node) => node.set_value().map(|precision| Value::Name(precision.name())),
            Backing::Tf32(nodes) => nodes.iter().any(|node| node.set_value().is_some()).then(|| self.read()),
        }
    }

    /// Adds what writing `given` stands for, or refuses it.
    pub(super) fn add_write(&self, given: &InputValue, purpose: Purpose, writes: &mut impl Writes) -> Result<()> {
        self.add(Some(given), purpose, writes)
    }

    /// Adds what writing `given` stands for, or for `None` what dropping the assigned value does.
    #[inline]
    pub(super) fn add(
        &self,
        given: Option<&InputValue>,
        purpose: Purpose,
        writes: &mut impl Writes,
    ) -> Result<()> {
        let held = self.checked_write(given, purpose)?;
        self.slots().for_each(|slot| writes.add(self.name, slot, held));
        Ok(())
    }

    /// What each slot holds once `given` is written, or for `None` once the assigned value is dropped.
    #[inline]
    pub(super) fn checked_write(&self, given: Option<&InputValue>, purpose: Purpose) -> Result<SlotWrite> {
        if self.is_read_only() {
            return Err(Error::ReadOnlyFlag { name: qualified(self.name) });
        }
        let Some(given) = given else { return Ok(SlotWrite::Clear) };
        self.held_for(given, purpose).map_err(|refusal| self.refusal(refusal, given, self.accepted()))
    }

    fn held_for(&self, given: &InputValue, purpose: Purpose) -> Result<SlotWrite, Refusal> {
        match (&self.backing, given) {
            (Backing::Word(word, _), given) => word.kind.encode(given).map(SlotWrite::Set),
            (Backing::Node(node), InputValue::Text(name)) => node
                .precision_named(name)
                .map(|precision| SlotWrite::Set(precision as u64))
                .ok_or(Refusal::Value),
            (Backing::Node(_), InputValue::None) if purpose == Purpose::Copied => Ok(SlotWrite::Mask),
            // `flags(allow_tf32=True)` is what it does when nothing is said: it asks for no precision.
            (Backing::Tf32(_), InputValue::Bool(true)) if purpose == Purpose::WholeModule => Ok(SlotWrite::Mask),
            (Backing::Tf32(_), InputValue::Bool(allowed)) => {
                Ok(SlotWrite::Set(if *allowed { Precision::Tf32 } else { Precision::Ieee } as u64))
            }
            (Backing::Node(_) | Backing::Tf32(_) | Backing::Constant(_), _) => Err(Refusal::Type),
        }
    }

    /// What a program may write, in words.
    pub fn accepted(&self) -> String {
        match &self.backing {
            Backing::Word(word, _) => word.kind.accepted(),
            Backing::Node(node) => node.accepted(),
            Backing::Tf32(_) => "a bool".to_owned(),
            Backing::Constant(_) => "nothing".to_owned(),
        }
    }

    fn refusal(&self, refusal: Refusal, given: &InputValue, allowed: String) -> Error {
        refusal.error(qualified(self.name), given.to_string(), allowed)
    }

    /// Adds what an environment variable stands for, whose value is `None` where it is no text; false where it
    /// says nothing.
    pub(super) fn add_variable(
        &self,
        format: EnvFormat,
        value: &Option<String>,
        writes: &mut impl Writes,
    ) -> Result<bool> {
        let Some(text) = value else {
            return Err(self.refusal(
                Refusal::Value,
                &InputValue::Other("no text".to_owned()),
                self.accepted_text(),
            ));
        };
        // Told as it was written, not as it was understood.
        let refused = |refusal, allowed| self.refusal(refusal, &InputValue::Text(text.into()), allowed);
        let (given, allowed) = match format.of(text) {
            Some(Parsed::Nothing) => return Ok(false),
            Some(Parsed::Value(given)) => (given, self.accepted()),
            Some(Parsed::Invalid(allowed)) => return Err(refused(Refusal::Value, allowed.to_owned())),
            None => (self.parsed(text), self.accepted_text()),
        };
        let held = self.held_for(&given, Purpose::Named).map_err(|refusal| refused(refusal, allowed))?;
        self.slots().for_each(|slot| writes.add(self.name, slot, held));
        Ok(true)
    }

    /// What is allowed in the environment.
    pub(super) fn accepted_text(&self) -> String {
        match &self.backing {
            Backing::Word(word, _) => word.kind.accepted_text(),
            Backing::Tf32(_) => SWITCH_WORDS.to_owned(),
            Backing::Node(_) | Backing::Constant(_) => self.accepted(),
        }
    }

    /// The value that a text spells; what can't be read stays text and is then refused.
    fn parsed<'a>(&self, text: &'a str) -> InputValue<'a> {
        match &self.backing {
            Backing::Word(word, _) => word.kind.parse(text),
            Backing::Tf32(_) => parse_switch(text).map_or_else(|| InputValue::Text(text.into()), InputValue::Bool),
            Backing::Node(_) | Backing::Constant(_) => InputValue::Text(text.trim().to_lowercase().into()),
        }
    }
}

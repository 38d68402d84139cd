//! The specification of a flag: its dotted name and the slots that back it.

use super::effect::Effect;
use super::env_parse::{EnvFormat, EnvVar, Parsed};
use super::flag::FlagWord;
use super::kind::{Kind, Refusal};
use super::precision::{Node, Precision};
use super::scope::Purpose;
use super::write::{SlotWrite, Writes};
use super::{InputValue, Value, registry, table};
use crate::base::env::{self, SWITCH_WORDS, parse_switch};
use crate::thread::Slot;
use crate::{Error, Result};

/// A dotted name below `backends`: a flag, a node of the precision tree, or an older name that is an alias of nodes.
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
    /// The environment variable that a registered flag declares, if it is not the name in capitals.
    pub(super) own_variable: Option<&'static str>,
    /// Further variables, which PyTorch and the vendors read.
    pub(super) variables: &'static [EnvVar],
    pub(super) doc: &'static str,
}

/// The storage of a flag.
#[derive(Debug)]
pub(super) enum Backing {
    /// The word of a flag, or a part of its value.
    Word(&'static FlagWord, Projection),
    /// A node of the precision tree.
    Node(Node),
    /// Reads true while all these nodes read tf32.
    Tf32(&'static [Node]),
    /// A constant.
    Constant(Value),
}

/// The part of a flag's value that a name reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Projection {
    /// The whole value.
    Whole,
    /// The first of two values; a write accepts both.
    First,
    /// The second of two values. It is written through the first, so it is read-only.
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

/// Returns the dotted name as a program writes it.
pub(crate) fn qualified(name: &str) -> String {
    if registry::flag_specs().any(|spec| spec.name == name) {
        name.to_owned()
    } else {
        format!("backends.{name}")
    }
}

impl FlagSpec {
    /// Returns the dotted name below `backends`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the dotted name of the owner, a module or object, and the name of the flag in it.
    pub fn owner_and_leaf(&self) -> (&'static str, &'static str) {
        self.name.rsplit_once('.').unwrap_or(("", self.name))
    }

    /// Returns the documentation of the flag.
    pub fn doc(&self) -> &'static str {
        self.doc
    }

    /// Returns the operations and libraries that the flag affects.
    pub fn effect(&self) -> &'static Effect {
        self.effect
    }

    /// Returns whether the flag is read-only.
    pub fn is_read_only(&self) -> bool {
        matches!(self.backing, Backing::Word(_, Projection::Second) | Backing::Constant(_))
    }

    /// Returns the type of the value as a Python annotation.
    pub fn annotation(&self) -> String {
        match &self.backing {
            Backing::Word(word, Projection::Whole) => word.kind.annotation(),
            Backing::Node(node) => node.annotation(),
            Backing::Constant(Value::Names(_)) => "list[str]".to_owned(),
            Backing::Constant(_) | Backing::Tf32(_) | Backing::Word(..) => "bool".to_owned(),
        }
    }

    /// Returns the type that a write accepts as a Python annotation; `None` if the flag is read-only.
    pub fn accepted_annotation(&self) -> Option<String> {
        match &self.backing {
            Backing::Word(_, Projection::Second) | Backing::Constant(_) => None,
            Backing::Word(word, _) => Some(word.kind.accepted_annotation()),
            Backing::Node(_) | Backing::Tf32(_) => Some(self.annotation()),
        }
    }

    /// Returns the environment variables that set the flag, in the order of priority.
    pub fn variables(&self) -> Vec<String> {
        self.env_formats().into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the environment variables that set the flag, each with the format of its text.
    pub(super) fn env_formats(&self) -> Vec<(String, EnvFormat)> {
        if self.is_read_only() {
            return Vec::new();
        }
        let own = (self.own_variable(), EnvFormat::AsFlag);
        let others = self.variables.iter().map(|variable| (variable.name.to_owned(), variable.format));
        std::iter::once(own).chain(others).collect()
    }

    /// Returns interlock's own variable for this flag.
    pub(super) fn own_variable(&self) -> String {
        if let Some(chosen) = self.own_variable {
            chosen.to_owned()
        } else if self.is_registered() {
            env::to_env_name(self.name)
        } else {
            env::flag_variable(self.name)
        }
    }

    /// Returns whether another library has registered the flag.
    pub fn is_registered(&self) -> bool {
        matches!(self.backing, Backing::Word(word, _) if word.id.0 >= table::first_registered_id())
    }

    /// Iterates over the slots that the flag reads and writes.
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

    /// Returns the slot that the flag reads and writes, unless it is an alias of nodes.
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
            Backing::Word(word, projection) => projection.of(word.kind.decode(word.payload())),
            Backing::Node(node) => Value::Name(node.get().name()),
            Backing::Tf32(nodes) => Value::Bool(Node::all_read(nodes, Precision::Tf32)),
            Backing::Constant(value) => *value,
        }
    }

    /// Returns the value without a variable, an assignment or a scope.
    pub fn default(&self) -> Value {
        match &self.backing {
            Backing::Word(word, projection) => projection.of(word.kind.decode(word.kind.default())),
            Backing::Node(node) => Value::Name(node.default().name()),
            Backing::Tf32(nodes) => Value::Bool(nodes.iter().all(|node| node.default() == Precision::Tf32)),
            Backing::Constant(value) => *value,
        }
    }

    /// Returns the value that must be assigned to restore the current state of the flag; `None` if unsetting the flag
    /// restores it.
    ///
    /// Returns the stored value, not the one that is read: a node that inherits `ieee` is empty, and assigning `ieee`
    /// to it would stop it from inheriting.
    pub fn restore_value(&self) -> Option<Value> {
        match &self.backing {
            Backing::Word(_, Projection::Second) | Backing::Constant(_) => None,
            Backing::Word(word, _) => match word.set_value()? {
                // A bool implies that split sums are allowed; only a pair can disallow them.
                Value::Pair(first, true) => Some(Value::Bool(first)),
                value => Some(value),
            },
            Backing::Node(node) => node.set_value().map(|precision| Value::Name(precision.name())),
            Backing::Tf32(nodes) => nodes.iter().any(|node| node.set_value().is_some()).then(|| self.read()),
        }
    }

    /// Checks a value and adds the writes of its slots.
    pub(super) fn add_write(
        &self,
        given: &InputValue,
        purpose: Purpose,
        writes: &mut impl Writes,
    ) -> Result<()> {
        self.add(Some(given), purpose, writes)
    }

    /// Checks a value and adds the writes of its slots. `None` unsets the flag.
    #[inline]
    pub(super) fn add(
        &self,
        given: Option<&InputValue>,
        purpose: Purpose,
        writes: &mut impl Writes,
    ) -> Result<()> {
        let new = self.checked_write(given, purpose)?;
        self.slots().for_each(|slot| writes.add(self.name, slot, new));
        Ok(())
    }

    /// Checks a value and returns the write for each slot. `None` unsets the flag.
    #[inline]
    pub(super) fn checked_write(&self, given: Option<&InputValue>, purpose: Purpose) -> Result<SlotWrite> {
        if self.is_read_only() {
            return Err(Error::ReadOnlyFlag { name: qualified(self.name) });
        }
        let Some(given) = given else {
            self.check_registered()?;
            return Ok(SlotWrite::Clear);
        };
        let new = self
            .slot_write_for(given, purpose)
            .map_err(|refusal| self.refusal(refusal, given, self.accepted()))?;
        if let (Backing::Word(word, _), SlotWrite::Set(payload)) = (&self.backing, new) {
            word.check(payload)?;
        }
        Ok(new)
    }

    /// Returns whether the flag was registered and is not any more. Its reads return what they did.
    #[inline]
    pub fn is_unregistered(&self) -> bool {
        matches!(self.backing, Backing::Word(word, _) if word.is_unregistered.get())
    }

    /// Returns the name of the function that checks the values of a registered flag.
    pub fn validator(&self) -> Option<&str> {
        match self.backing {
            Backing::Word(word, _) => word.validator.map(|validator| validator.name()),
            _ => None,
        }
    }

    /// Returns the error of the value of the environment variable, if it was refused when a library registered the flag.
    pub fn refused_variable(&self) -> Option<Error> {
        registry::refused_variable(self.name)
    }

    /// Fails if the flag was unregistered.
    pub fn check_registered(&self) -> Result<()> {
        match self.backing {
            Backing::Word(word, _) => word.check_registered(),
            _ => Ok(()),
        }
    }

    fn slot_write_for(&self, given: &InputValue, purpose: Purpose) -> Result<SlotWrite, Refusal> {
        match (&self.backing, given) {
            (Backing::Word(word, _), given) => word.kind.encode(given).map(SlotWrite::Set),
            (Backing::Node(node), InputValue::Text(name)) => node
                .precision_named(name)
                .map(|precision| SlotWrite::Set(precision as u64))
                .ok_or(Refusal::Value),
            (Backing::Node(_), InputValue::None) if purpose == Purpose::Copied => Ok(SlotWrite::Mask),
            // True is the default argument of `flags(allow_tf32=...)`: it requests no precision.
            (Backing::Tf32(_), InputValue::Bool(true)) if purpose == Purpose::WholeModule => {
                Ok(SlotWrite::Mask)
            }
            (Backing::Tf32(_), InputValue::Bool(allowed)) => {
                Ok(SlotWrite::Set(if *allowed { Precision::Tf32 } else { Precision::Ieee } as u64))
            }
            (Backing::Node(_) | Backing::Tf32(_) | Backing::Constant(_), _) => Err(Refusal::Type),
        }
    }

    /// Returns the accepted values, as a message describes them.
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

    /// Adds the writes for the value of an environment variable; `None` is a value that is not UTF-8. Returns false if
    /// the value requests nothing.
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
        // The error shows the text of the variable, not the parsed value.
        let refused = |refusal, allowed| self.refusal(refusal, &InputValue::Text(text.into()), allowed);
        let (given, allowed) = match format.of(text) {
            Some(Parsed::Nothing) => return Ok(false),
            Some(Parsed::Value(given)) => (given, self.accepted()),
            Some(Parsed::Invalid(allowed)) => return Err(refused(Refusal::Value, allowed.to_owned())),
            None => (self.parsed(text), self.accepted_text()),
        };
        let new = self.slot_write_for(&given, Purpose::Named).map_err(|refusal| refused(refusal, allowed))?;
        self.slots().for_each(|slot| writes.add(self.name, slot, new));
        Ok(true)
    }

    /// Returns the values that the environment variable accepts, as a message describes them.
    pub fn accepted_text(&self) -> String {
        match &self.backing {
            Backing::Word(word, _) => word.kind.accepted_text(),
            Backing::Tf32(_) => SWITCH_WORDS.to_owned(),
            Backing::Node(_) | Backing::Constant(_) => self.accepted(),
        }
    }

    /// Returns the word of the flag and the value that a text requests, for a name that reads all of a word.
    pub(crate) fn word_and_value(&self, text: &str) -> Result<Option<(&'static FlagWord, Value)>> {
        let Backing::Word(word, Projection::Whole) = &self.backing else { return Ok(None) };
        let refused = |refusal| self.refusal(refusal, &InputValue::Text(text.into()), self.accepted_text());
        let payload = word.kind.encode(&self.parsed(text)).map_err(refused)?;
        Ok(Some((word, word.kind.decode(payload))))
    }

    /// Parses the text of a variable. A text that cannot be parsed stays text, which the check then refuses.
    fn parsed<'a>(&self, text: &'a str) -> InputValue<'a> {
        match &self.backing {
            Backing::Word(word, _) => word.kind.parse(text),
            Backing::Tf32(_) => {
                parse_switch(text).map_or_else(|| InputValue::Text(text.into()), InputValue::Bool)
            }
            Backing::Node(_) | Backing::Constant(_) => InputValue::Text(text.trim().to_lowercase().into()),
        }
    }
}

//! Flags that are stored in a word of their own.

use std::marker::PhantomData;

use super::environment;
use super::flag_spec::qualified;
use super::kind::{FlagValue, Kind, Refusal};
use super::scope::{FlagScope, FlagScopeBuilder, Purpose};
use super::validator::Validator;
use super::write::{SlotWrite, commit};
use super::{Level, SourceLocation, Value};
use crate::base::sync::{RelaxedBool, RelaxedU64};
use crate::thread::{self, FlagId, Slot};
use crate::{Error, Result};

/// The word of a flag: the level in its two upper bits, the payload below. Zero until it is first read or written.
#[derive(Debug)]
pub(crate) struct FlagWord {
    pub(crate) name: &'static str,
    pub(crate) id: FlagId,
    pub(super) kind: Kind,
    /// The value of the environment for a registered flag. For interlock's own flags the environment is read once for
    /// all.
    pub(super) env_value: Option<EnvValue>,
    /// Checks the values of a registered flag.
    pub(super) validator: Option<&'static Validator>,
    /// Whether the flag was registered and is not any more.
    pub(super) is_unregistered: RelaxedBool,
    /// Whether a scope that set the flag was open when it was unregistered.
    pub(super) is_abandoned: RelaxedBool,
    bits: RelaxedU64,
}

/// The value that the environment sets for one flag.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnvValue {
    pub(super) payload: u64,
    pub(super) variable: &'static str,
}

const LEVEL_SHIFT: u32 = 62;
const PAYLOAD: u64 = (1 << LEVEL_SHIFT) - 1;

const fn with_level(level: Level, payload: u64) -> u64 {
    (level as u64) << LEVEL_SHIFT | payload & PAYLOAD
}

/// Compares texts at compile time.
const fn is_same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
        if *first != *second {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    left.is_empty() && right.is_empty()
}

impl FlagWord {
    pub(super) const fn new(name: &'static str, id: u16, kind: Kind) -> Self {
        FlagWord::registered(name, id, kind, None, None)
    }

    pub(super) const fn registered(
        name: &'static str,
        id: u16,
        kind: Kind,
        env_value: Option<EnvValue>,
        validator: Option<&'static Validator>,
    ) -> Self {
        FlagWord {
            name,
            id: FlagId(id),
            kind,
            env_value,
            validator,
            is_unregistered: RelaxedBool::new(false),
            is_abandoned: RelaxedBool::new(false),
            bits: RelaxedU64::new(0),
        }
    }

    /// Returns whether the value is one of several names, of which this is one.
    pub(crate) const fn has_name(&self, name: &str) -> bool {
        let Kind::Choice { mut names, .. } = self.kind else { return false };
        while let [first, rest @ ..] = names {
            if is_same(first.as_bytes(), name.as_bytes()) {
                return true;
            }
            names = rest;
        }
        false
    }

    /// Returns the active payload on this thread.
    #[inline]
    pub(super) fn payload(&self) -> u64 {
        if thread::any_flag_layer() && thread::flag_may_be_scoped(self.id) {
            return self.scoped_payload();
        }
        self.process_payload()
    }

    // A call, so that the code of a read without scopes stays small.
    #[inline(never)]
    fn scoped_payload(&self) -> u64 {
        thread::scoped_flag(self.id).unwrap_or_else(|| self.process_payload())
    }

    #[inline]
    fn process_payload(&self) -> u64 {
        let bits = self.bits.get();
        if bits == 0 { self.resolve() & PAYLOAD } else { bits & PAYLOAD }
    }

    #[cold]
    fn resolve(&self) -> u64 {
        self.bits.compare_set(0, self.fallback())
    }

    /// Returns the address of the word, which has been resolved, and so is never zero.
    #[cfg(not(loom))]
    pub(super) fn resolved_address(&self) -> *const u64 {
        self.in_process();
        self.bits.as_ptr()
    }

    /// Returns the value of the environment, else the default, with its level.
    fn fallback(&self) -> u64 {
        match self.env_value.map(|env_value| env_value.payload).or_else(|| environment::of_flag(self.id)) {
            Some(payload) => with_level(Level::Environment, payload),
            None => with_level(Level::Default, self.kind.default()),
        }
    }

    /// Returns the payload that a layer stores for an unset flag.
    pub(super) fn fallback_payload(&self) -> u64 {
        self.fallback() & PAYLOAD
    }

    /// Returns the value of the innermost layer of this thread that names the flag, else the assigned value, else
    /// `None`.
    pub(super) fn set_value(&self) -> Option<Value> {
        let assigned = || {
            let (payload, level) = self.in_process();
            (level == Level::Process).then_some(payload)
        };
        thread::scoped_flag(self.id).or_else(assigned).map(|payload| self.kind.decode(payload))
    }

    /// Returns the payload in the process and its level.
    pub(super) fn in_process(&self) -> (u64, Level) {
        let bits = match self.bits.get() {
            0 => self.resolve(),
            bits => bits,
        };
        (bits & PAYLOAD, Level::from_number(bits >> LEVEL_SHIFT))
    }

    /// Writes a value of the flag's type: into the innermost scope of this thread that sets the flag, else for the
    /// process.
    #[track_caller]
    pub(super) fn write<T: FlagValue>(&self, value: T) -> Result<()> {
        let new = SlotWrite::Set(self.checked(value)?);
        commit(&[(self.name, Slot::Flag(self.id), new)], Some(SourceLocation::caller()))
    }

    /// Checks a value and returns its payload.
    pub(super) fn checked<T: FlagValue>(&self, value: T) -> Result<u64> {
        let payload = value.payload();
        if !self.kind.is_valid_payload(payload) {
            return Err(Refusal::Value.error(qualified(self.name), value.display(), self.kind.accepted()));
        }
        self.check(payload)?;
        Ok(payload)
    }

    /// Fails if the flag was unregistered, or if its validator refuses the value of a payload. The caller holds no
    /// lock, because a validator is code of the program.
    #[inline]
    pub(super) fn check(&self, payload: u64) -> Result<()> {
        self.check_registered()?;
        match self.validator {
            None => Ok(()),
            validator => check_value(self.name, validator, self.kind.decode(payload)),
        }
    }

    /// Fails if the flag was unregistered.
    #[inline]
    pub(super) fn check_registered(&self) -> Result<()> {
        if self.is_unregistered.get() {
            return Err(Error::UnregisteredFlag { name: self.name.to_owned() });
        }
        Ok(())
    }

    /// Returns a scope that sets only this flag.
    pub(super) fn scope(&self, value: impl FlagValue, location: SourceLocation) -> Result<FlagScope> {
        let mut builder = FlagScopeBuilder::new(Purpose::Named, 1);
        builder.set_word(self, self.checked(value)?);
        Ok(builder.build(Some(location)))
    }

    /// Writes the word of the process. The caller holds the lock of [`STORE`](super::store::STORE).
    pub(super) fn set_in_process(&self, new: SlotWrite) {
        self.bits.set(match new {
            SlotWrite::Set(payload) => with_level(Level::Process, payload),
            SlotWrite::Clear | SlotWrite::Mask => self.fallback(),
        });
    }
}

/// Fails if a validator refuses a value. None needs no validator.
pub(super) fn check_value(name: &str, validator: Option<&Validator>, value: Value) -> Result<()> {
    match validator {
        Some(validator) if value != Value::None => validator.check(name, value),
        _ => Ok(()),
    }
}

/// A flag of interlock as Rust reads and writes it; [`flags`](super::flags) has one for each flag.
///
/// ```
/// use interlock_core::flags::flags::CUDNN_ENABLED;
///
/// let guard = CUDNN_ENABLED.scope(false)?.guard();
/// assert!(!CUDNN_ENABLED.get());
/// drop(guard);
/// assert!(CUDNN_ENABLED.get());
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Flag<T> {
    pub(super) word: FlagWord,
    value: PhantomData<fn() -> T>,
}

impl<T: FlagValue> Flag<T> {
    pub(super) const fn new(name: &'static str, id: u16, kind: Kind) -> Self {
        Flag { word: FlagWord::new(name, id, kind), value: PhantomData }
    }

    pub(crate) const fn word(&self) -> &FlagWord {
        &self.word
    }

    /// Returns the dotted name.
    pub fn name(&self) -> &'static str {
        self.word.name
    }

    /// Returns the active value on this thread: two loads while no scope of any thread is open.
    #[inline]
    pub fn get(&self) -> T {
        T::decode(self.word.payload())
    }

    /// Writes the flag in the innermost guard or scope that sets it, else for the process. Fails for a value
    /// that the flag does not accept, and while flags are frozen.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<()> {
        self.word.write(value)
    }

    /// Returns a scope that sets this flag for the thread that enters it. Fails for a value that the flag does not
    /// accept.
    #[track_caller]
    pub fn scope(&'static self, value: T) -> Result<FlagScope> {
        self.word.scope(value, SourceLocation::caller())
    }
}

//! What a key of the configuration holds, of its own type and of any.

use std::fmt;

use super::RoundupDivisions;

/// The value of a configuration key.
///
/// ```
/// use interlock_accelerator::memory::AllocatorConfig;
/// use interlock_accelerator::memory::config::{KEYS, Value};
///
/// let config = AllocatorConfig::default();
/// let key = KEYS.iter().find(|key| key.name() == "expandable_segments");
/// assert_eq!(key.map(|key| key.value(&config)), Some(Value::Switch(false)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Which allocator.
    Backend(Backend),
    /// On or off.
    Switch(bool),
    /// A number.
    Number(usize),
    /// A limit, if there is one.
    Limit(Option<usize>),
    /// A part of one.
    Fraction(f64),
    /// How sizes are rounded up.
    Divisions(RoundupDivisions),
}

/// As PyTorch's text has it. It has no word for a limit that is not there.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Backend(backend) => f.write_str(backend.name()),
            Value::Switch(true) => f.write_str("True"),
            Value::Switch(false) => f.write_str("False"),
            Value::Number(number) | Value::Limit(Some(number)) => number.fmt(f),
            Value::Limit(None) => f.write_str("none"),
            Value::Fraction(fraction) => fraction.fmt(f),
            Value::Divisions(divisions) => divisions.fmt(f),
        }
    }
}

/// A type that keys have.
pub(super) trait ConfigValue: Clone + Sized {
    /// Reads what a text says of a key.
    fn parse(word: &str) -> Option<Self>;

    fn into_value(self) -> Value;

    /// Nothing where the value is of another type.
    fn from_value(value: Value) -> Option<Self>;
}

/// The allocator of PyTorch that a configuration names.
///
/// ```
/// use interlock_accelerator::memory::AllocatorConfig;
/// use interlock_accelerator::memory::config::Backend;
///
/// let config: AllocatorConfig = "backend:cudaMallocAsync".parse()?;
/// assert_eq!(config.backend, Backend::CudaMallocAsync);
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The one that keeps memory itself.
    Native,
    /// The one that leaves that to the driver.
    CudaMallocAsync,
}

impl Backend {
    /// All of them.
    pub const ALL: [Backend; 2] = [Backend::Native, Backend::CudaMallocAsync];

    /// The name in a text.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Native => "native",
            Backend::CudaMallocAsync => "cudaMallocAsync",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Backend::ALL.into_iter().find(|backend| backend.name() == name)
    }
}

impl ConfigValue for Backend {
    fn parse(word: &str) -> Option<Self> {
        Backend::named(word)
    }

    fn into_value(self) -> Value {
        Value::Backend(self)
    }

    fn from_value(value: Value) -> Option<Self> {
        if let Value::Backend(backend) = value { Some(backend) } else { None }
    }
}

impl ConfigValue for bool {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::Switch(self)
    }

    fn from_value(value: Value) -> Option<Self> {
        if let Value::Switch(switch) = value { Some(switch) } else { None }
    }
}

impl ConfigValue for usize {
    /// Digits and nothing else: a sign, a fraction or a number that does not fit is no number here.
    fn parse(word: &str) -> Option<Self> {
        word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
    }

    fn into_value(self) -> Value {
        Value::Number(self)
    }

    fn from_value(value: Value) -> Option<Self> {
        if let Value::Number(number) = value { Some(number) } else { None }
    }
}

impl ConfigValue for Option<usize> {
    fn parse(word: &str) -> Option<Self> {
        usize::parse(word).map(Some)
    }

    fn into_value(self) -> Value {
        Value::Limit(self)
    }

    fn from_value(value: Value) -> Option<Self> {
        if let Value::Limit(limit) = value { Some(limit) } else { None }
    }
}

impl ConfigValue for f64 {
    fn parse(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    fn into_value(self) -> Value {
        Value::Fraction(self)
    }

    fn from_value(value: Value) -> Option<Self> {
        if let Value::Fraction(fraction) = value { Some(fraction) } else { None }
    }
}

impl ConfigValue for RoundupDivisions {
    fn parse(word: &str) -> Option<Self> {
        RoundupDivisions::parse(word)
    }

    fn into_value(self) -> Value {
        Value::Divisions(self)
    }

    fn from_value(value: Value) -> Option<Self> {
        if let Value::Divisions(divisions) = value { Some(divisions) } else { None }
    }
}

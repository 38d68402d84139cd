//! Values of configuration keys, typed and untyped.

use std::fmt;

use interlock_core::named_enum;

use super::RoundupDivisions;

/// The value of a configuration key.
///
/// ```
/// use interlock_accelerator::memory::AllocatorConfig;
/// use interlock_accelerator::memory::config::{KEYS, Value};
///
/// let config = AllocatorConfig::default();
/// let key = KEYS.iter().find(|key| key.name == "expandable_segments");
/// assert_eq!(key.map(|key| key.value(&config)), Some(Value::Switch(false)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The allocator.
    Backend(Backend),
    /// On or off.
    Switch(bool),
    /// A number.
    Number(usize),
    /// An optional limit.
    Limit(Option<usize>),
    /// A fraction from 0 to 1.
    Fraction(f64),
    /// The rounding of sizes.
    Divisions(RoundupDivisions),
}

/// Writes PyTorch's text format, and `none` for an absent limit, which the format can't express.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Backend(backend) => backend.fmt(f),
            Value::Switch(true) => f.write_str("True"),
            Value::Switch(false) => f.write_str("False"),
            Value::Number(number) | Value::Limit(Some(number)) => number.fmt(f),
            Value::Limit(None) => f.write_str("none"),
            Value::Fraction(fraction) => fraction.fmt(f),
            Value::Divisions(divisions) => divisions.fmt(f),
        }
    }
}

named_enum! {
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
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Backend {
        /// PyTorch's own caching allocator.
        Native => "native",
        /// The stream-ordered allocator of the driver.
        CudaMallocAsync => "cudaMallocAsync",
    }
}

/// The type of a key's value.
pub(super) trait ConfigValue: Clone + Sized {
    /// Parses the text of a value.
    fn parse(word: &str) -> Option<Self>;

    fn into_value(self) -> Value;

    /// Returns `None` if the value has another type.
    fn from_value(value: Value) -> Option<Self>;
}

macro_rules! config_values {
    ($($type:ty => $variant:ident, $parse:expr;)+) => {$(
        impl ConfigValue for $type {
            fn parse(word: &str) -> Option<Self> {
                $parse(word)
            }

            fn into_value(self) -> Value {
                Value::$variant(self)
            }

            fn from_value(value: Value) -> Option<Self> {
                if let Value::$variant(value) = value { Some(value) } else { None }
            }
        }
    )+};
}

config_values! {
    Backend => Backend, |word: &str| word.parse().ok();
    bool => Switch, parse_switch;
    usize => Number, parse_number;
    Option<usize> => Limit, |word| parse_number(word).map(Some);
    f64 => Fraction, |word: &str| word.parse().ok();
    RoundupDivisions => Divisions, RoundupDivisions::parse;
}

fn parse_switch(word: &str) -> Option<bool> {
    match word {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}

/// Parses a number that consists of digits only. Rejects signs, fractions and numbers that overflow.
pub(super) fn parse_number(word: &str) -> Option<usize> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

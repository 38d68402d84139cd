//! The types of registered flags.

use super::float;
use super::kind::{Kind, MAX_TEXT_BYTES, NONE_PAYLOAD, payload_of_text};
use super::value::InputValue;
use crate::base::invariant::UnwrapOrAssert;
use crate::base::quote::{quoted, shown};

/// The type, the range and the default of a registered flag.
///
/// ```
/// use interlock_core::flags::{FlagDecl, InputValue, FlagType, assign, register};
///
/// let flag_type = FlagType::Float { default: 0.5, minimum: 0.0, maximum: 1.0 };
/// let (spec, _) = register(FlagDecl::new("mylib.dropout", flag_type, "The share of dropped values."))?;
/// assert!(assign(&[(spec, Some(InputValue::Float(0.25)))], None).is_ok());
/// assert!(assign(&[(spec, Some(InputValue::Float(2.0)))], None).is_err());
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FlagType {
    /// On or off.
    Switch {
        /// The default.
        default: bool,
    },
    /// A non-negative integer.
    Count {
        /// The default.
        default: u64,
        /// The maximum.
        maximum: u64,
    },
    /// An integer.
    Integer {
        /// The default.
        default: i64,
        /// The minimum.
        minimum: i64,
        /// The maximum.
        maximum: i64,
    },
    /// A float except NaN.
    Float {
        /// The default.
        default: f64,
        /// The minimum; `-f64::INFINITY` for none.
        minimum: f64,
        /// The maximum; `f64::INFINITY` for none.
        maximum: f64,
    },
    /// One of several names.
    Choice {
        /// The default.
        default: String,
        /// The accepted names.
        names: Vec<String>,
    },
    /// Any text. Every text that the flag was set to stays in memory until the process exits.
    Text {
        /// The default.
        default: String,
    },
    /// A path. Every path that the flag was set to stays in memory until the process exits, as a text does.
    Path {
        /// The default, which is not empty.
        default: String,
    },
    /// A list of at most 1,024 values of a type that is neither a list nor optional. Every list that the flag was set to
    /// stays in memory until the process exits.
    List {
        /// The default.
        default: Vec<InputValue<'static>>,
        /// The type of the items, with any default.
        item: Box<FlagType>,
    },
    /// None, or a value of another type.
    Optional {
        /// The other type.
        flag_type: Box<FlagType>,
        /// Whether the default is None instead of the default of `flag_type`.
        default_is_none: bool,
    },
}

/// The largest integer that a registered flag accepts; the smallest one is its negative.
pub const MAX_INTEGER: u64 = 1 << 60;

impl FlagType {
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            FlagType::Switch { .. } => Ok(()),
            FlagType::Count { default, maximum } => whole_in_range((*default).into(), 0, (*maximum).into()),
            FlagType::Integer { default, minimum, maximum } => {
                whole_in_range((*default).into(), (*minimum).into(), (*maximum).into())
            }
            FlagType::Float { default, minimum, maximum }
                if default.is_nan() || minimum.is_nan() || maximum.is_nan() =>
            {
                Err("default, minimum and maximum must not be NaN, got nan".to_owned())
            }
            FlagType::Float { default, minimum, maximum } => in_range(*default, *minimum, *maximum),
            FlagType::Choice { default, names } if !names.contains(default) => {
                let names =
                    InputValue::List(names.iter().map(|name| InputValue::Text(name.into())).collect());
                Err(format!(
                    "default must be one of the choices {names}, got {}",
                    InputValue::Text(default.into())
                ))
            }
            FlagType::Choice { names, .. }
                if names
                    .iter()
                    .enumerate()
                    .any(|(at, name)| names.iter().take(at).any(|earlier| earlier == name)) =>
            {
                let names =
                    InputValue::List(names.iter().map(|name| InputValue::Text(name.into())).collect());
                Err(format!("choices must be distinct, got {names}"))
            }
            FlagType::Text { default } if default.len() > MAX_TEXT_BYTES => {
                Err(format!("default must be at most {MAX_TEXT_BYTES} bytes long, got {}", default.len()))
            }
            FlagType::Path { default } if default.is_empty() => {
                Err("default must not be an empty path".to_owned())
            }
            FlagType::List { item, .. }
                if matches!(**item, FlagType::List { .. } | FlagType::Optional { .. }) =>
            {
                Err("the type of the items must be neither a list nor optional".to_owned())
            }
            FlagType::List { item, .. } => item.check(),
            FlagType::Choice { .. } | FlagType::Text { .. } | FlagType::Path { .. } => Ok(()),
            FlagType::Optional { flag_type, .. } if matches!(**flag_type, FlagType::Optional { .. }) => {
                Err("the type of an optional flag must not be optional".to_owned())
            }
            FlagType::Optional { flag_type, .. } => flag_type.check(),
        }
    }

    /// Returns the kind, whose default has been checked. Leaked memory belongs to the flag.
    pub(super) fn kind(&self) -> Result<Kind, String> {
        let stored = |payload: Option<u64>| payload.ok_or("default must be a value of the flag");
        Ok(match self {
            FlagType::Switch { default } => Kind::Switch { default: *default },
            FlagType::Count { default, maximum } => Kind::Count { default: *default, max: *maximum },
            FlagType::Integer { default, minimum, maximum } => {
                Kind::Integer { default: *default, min: *minimum, max: *maximum }
            }
            FlagType::Float { default, minimum, maximum } => {
                Kind::Float { default: stored(float::encode(*default))?, min: *minimum, max: *maximum }
            }
            FlagType::Choice { default, names } => {
                let default = names.iter().position(|name| name == default);
                let default = default.unwrap_or_assert(0, "the default has been checked") as u64;
                let names: Vec<&'static str> = names.iter().map(|name| &*name.clone().leak()).collect();
                Kind::Choice { names: names.leak(), aliases: &[], default }
            }
            FlagType::Text { default } => Kind::Text { default: stored(payload_of_text(default))? },
            FlagType::Path { default } => {
                let kind = Kind::Path { default: 0 };
                let payload = kind.encode(&InputValue::Path(default.into()));
                Kind::Path { default: payload.map_err(|_| format!("default must be {}", kind.accepted()))? }
            }
            FlagType::List { default, item } => {
                let of: &'static Kind = Box::leak(Box::new(item.kind()?));
                let kind = Kind::List { of, default: 0 };
                let given = InputValue::List(default.clone());
                let payload = kind.encode(&given);
                let refused = |_| format!("default must be {}, got {given}", kind.accepted());
                Kind::List { of, default: payload.map_err(refused)? }
            }
            FlagType::Optional { flag_type, default_is_none } => {
                let of: &'static Kind = Box::leak(Box::new(flag_type.kind()?));
                Kind::Optional { of, default: if *default_is_none { NONE_PAYLOAD } else { of.default() } }
            }
        })
    }

    /// Describes the type, the default and the range.
    pub(super) fn parts(&self) -> [(&'static str, String); 3] {
        let (kind, default, values) = match self {
            FlagType::Switch { default } => ("bool", InputValue::Bool(*default).to_string(), String::new()),
            FlagType::Count { default, maximum } => ("int", default.to_string(), format!("0 to {maximum}")),
            FlagType::Integer { default, minimum, maximum } => {
                ("int", default.to_string(), format!("{minimum} to {maximum}"))
            }
            FlagType::Float { default, minimum, maximum } => {
                ("float", format!("{default:?}"), format!("{minimum:?} to {maximum:?}"))
            }
            FlagType::Choice { default, names } => {
                ("choice", quoted(default), shown(&format!("{names:?}")).into_owned())
            }
            FlagType::Text { default } => {
                ("str", InputValue::Text(default.as_str().into()).to_string(), String::new())
            }
            FlagType::Path { default } => {
                ("Path", InputValue::Path(default.into()).to_string(), String::new())
            }
            FlagType::List { default, item } => {
                let [(_, kind), _, values] = item.parts();
                let default = InputValue::List(default.clone()).to_string();
                return [("type", format!("tuple of {kind}")), ("default", default), values];
            }
            FlagType::Optional { flag_type, default_is_none } => {
                let [(_, kind), (_, default), values] = flag_type.parts();
                let default = if *default_is_none { InputValue::None.to_string() } else { default };
                return [("type", format!("{kind} or None")), ("default", default), values];
            }
        };
        [("type", kind.to_owned()), ("default", default), ("range of values", values)]
    }
}

/// Checks a range of integers, which must fit a payload.
fn whole_in_range(default: i128, minimum: i128, maximum: i128) -> Result<(), String> {
    const LARGEST: i128 = MAX_INTEGER as i128;
    if maximum > LARGEST {
        Err(format!("maximum must be at most {LARGEST}, got {maximum}"))
    } else if minimum < -LARGEST {
        Err(format!("minimum must be at least -{LARGEST}, got {minimum}"))
    } else {
        in_range(default, minimum, maximum)
    }
}

fn in_range<T: PartialOrd + std::fmt::Debug>(default: T, minimum: T, maximum: T) -> Result<(), String> {
    if default > maximum {
        Err(format!("default must be at most the maximum {maximum:?}, got {default:?}"))
    } else if default < minimum {
        Err(format!("default must be at least the minimum {minimum:?}, got {default:?}"))
    } else {
        Ok(())
    }
}

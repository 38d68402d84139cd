//! Input values and values of flags.

use std::borrow::Cow;
use std::fmt;

use super::priority_order::PriorityOrder;
use crate::base::quote::{shortened, shown};

/// An unchecked value to be written to a flag.
///
/// ```
/// use interlock_core::flags::{InputValue, assign, find};
///
/// let benchmark = find("cudnn.benchmark")?;
/// assign(&[(benchmark, Some(InputValue::Bool(true)))], None)?;
/// assert!(assign(&[(benchmark, Some(InputValue::Text("yes".into())))], None).is_err());
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputValue<'a> {
    /// Python's None.
    None,
    /// A bool.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// An integer that does not fit 64 bits.
    HugeInteger {
        /// The number as a message shows it.
        display: String,
        /// The nearest float; `None` if it is beyond the largest float.
        nearest: Option<f64>,
    },
    /// A float.
    Float(f64),
    /// Text.
    Text(Cow<'a, str>),
    /// A path.
    Path(Cow<'a, str>),
    /// A tuple or list.
    List(Vec<InputValue<'a>>),
    /// Any other value, as a message shows it.
    Other(String),
}

impl From<bool> for InputValue<'_> {
    fn from(value: bool) -> Self {
        InputValue::Bool(value)
    }
}

impl From<i64> for InputValue<'_> {
    fn from(number: i64) -> Self {
        InputValue::Integer(number)
    }
}

impl From<f64> for InputValue<'_> {
    fn from(number: f64) -> Self {
        InputValue::Float(number)
    }
}

impl<'a> From<&'a str> for InputValue<'a> {
    fn from(text: &'a str) -> Self {
        InputValue::Text(text.into())
    }
}

impl From<Value> for InputValue<'_> {
    fn from(value: Value) -> Self {
        value.to_input()
    }
}

impl InputValue<'_> {
    /// Returns the number as the nearest float; `None` for other values, and for a number beyond the largest float.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            InputValue::Integer(number) => Some(*number as f64),
            InputValue::HugeInteger { nearest, .. } => *nearest,
            InputValue::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns an owned copy of the value.
    pub fn into_owned(self) -> InputValue<'static> {
        match self {
            InputValue::None => InputValue::None,
            InputValue::Bool(value) => InputValue::Bool(value),
            InputValue::Integer(number) => InputValue::Integer(number),
            InputValue::HugeInteger { display, nearest } => InputValue::HugeInteger { display, nearest },
            InputValue::Float(number) => InputValue::Float(number),
            InputValue::Text(text) => InputValue::Text(text.into_owned().into()),
            InputValue::Path(path) => InputValue::Path(path.into_owned().into()),
            InputValue::List(items) => {
                InputValue::List(items.into_iter().map(InputValue::into_owned).collect())
            }
            InputValue::Other(display) => InputValue::Other(display),
        }
    }
}

impl fmt::Display for InputValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputValue::None => f.write_str("None"),
            InputValue::Bool(true) => f.write_str("True"),
            InputValue::Bool(false) => f.write_str("False"),
            InputValue::Integer(number) => write!(f, "{number}"),
            InputValue::Float(number) => write!(f, "{number:?} (float)"),
            InputValue::Text(text) => write!(f, "'{}'", shortened(text).escape_debug()),
            InputValue::Path(path) => write!(f, "Path('{}')", shortened(path).escape_debug()),
            InputValue::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().take(MAX_ITEMS_SHOWN).enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str(if items.len() > MAX_ITEMS_SHOWN { ", ...]" } else { "]" })
            }
            InputValue::HugeInteger { display: text, .. } | InputValue::Other(text) => {
                f.write_str(&shown(text))
            }
        }
    }
}

/// The number of list items that a message shows.
const MAX_ITEMS_SHOWN: usize = 8;

/// A float as a flag stores it: two are equal if all their bits are equal.
///
/// ```
/// use interlock_core::flags::Float;
///
/// assert_eq!(Float::new(0.5), Float::new(0.5));
/// assert_ne!(Float::new(0.0), Float::new(-0.0));
/// assert_eq!(Float::new(0.5).get(), 0.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Float {
    bits: u64,
}

impl Float {
    /// Creates the value from a number.
    pub const fn new(number: f64) -> Self {
        Float { bits: number.to_bits() }
    }

    /// Returns the number.
    pub const fn get(self) -> f64 {
        f64::from_bits(self.bits)
    }
}

/// The value of a flag.
///
/// ```
/// use interlock_core::flags::{Value, find};
///
/// match find("cudnn.benchmark")?.read() {
///     Value::Bool(value) => println!("on: {value}"),
///     other => println!("{other}"),
/// }
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// None, or an empty node.
    None,
    /// A bool.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A float.
    Float(Float),
    /// One of the names that the flag accepts.
    Name(&'static str),
    /// Text of any kind.
    Text(&'static str),
    /// A path.
    Path(&'static str),
    /// A list of values.
    List(&'static [Value]),
    /// Two bools.
    Pair(bool, bool),
    /// A list of names.
    Names(&'static [&'static str]),
    /// A priority order of these names.
    PriorityOrder(&'static [&'static str], PriorityOrder),
}

impl Value {
    /// Returns the value as a message shows it: texts in quotation marks.
    pub fn shown(self) -> String {
        match self {
            Value::Float(number) => format!("{:?}", number.get()),
            Value::List(_) => self.to_string(),
            value => value.to_input().to_string(),
        }
    }

    /// Returns the value as it can be assigned, also by [`restore`](super::restore).
    pub fn to_input(self) -> InputValue<'static> {
        let texts = |texts: &mut dyn Iterator<Item = &'static str>| {
            InputValue::List(texts.map(|text| InputValue::Text(text.into())).collect())
        };
        match self {
            Value::None => InputValue::None,
            Value::Bool(value) => InputValue::Bool(value),
            Value::Integer(number) => InputValue::Integer(number),
            Value::Float(number) => InputValue::Float(number.get()),
            Value::Name(text) | Value::Text(text) => InputValue::Text(text.into()),
            Value::Path(path) => InputValue::Path(path.into()),
            Value::List(items) => InputValue::List(items.iter().map(|item| item.to_input()).collect()),
            Value::Pair(first, second) => {
                InputValue::List(vec![InputValue::Bool(first), InputValue::Bool(second)])
            }
            Value::Names(names) => texts(&mut names.iter().copied()),
            Value::PriorityOrder(names, order) => texts(&mut order.names(names)),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("None"),
            Value::Bool(value) => InputValue::Bool(*value).fmt(f),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{:?}", number.get()),
            Value::Name(name) | Value::Text(name) | Value::Path(name) => f.write_str(name),
            Value::List(items) => {
                f.write_str("(")?;
                for (index, item) in items.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}{}", item.shown())?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Value::Names(names) => write!(f, "{names:?}"),
            Value::PriorityOrder(names, order) => order.show(names, f),
            Value::Pair(first, second) => {
                write!(f, "({}, {})", InputValue::Bool(*first), InputValue::Bool(*second))
            }
        }
    }
}

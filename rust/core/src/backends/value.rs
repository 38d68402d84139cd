//! Values of flags on their way in and out.

use std::fmt;

/// What somebody wants to write, not checked yet.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Python's None.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A whole number that 64 bits can't hold, in digits.
    HugeInteger(String),
    /// Text.
    Text(String),
    /// A tuple or list.
    List(Vec<Given>),
    /// Anything else, as a message shall show it.
    Other(String),
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::None => f.write_str("None"),
            Given::Bool(true) => f.write_str("True"),
            Given::Bool(false) => f.write_str("False"),
            Given::Integer(number) => write!(f, "{number}"),
            Given::Text(text) => write!(f, "'{}'", text.escape_debug()),
            Given::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Given::HugeInteger(text) | Given::Other(text) => f.write_str(text),
        }
    }
}

/// What a flag holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing is held and nothing is the default.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// One of the names that the flag allows.
    Name(&'static str),
    /// Two truth values.
    Pair(bool, bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("None"),
            Value::Bool(value) => Given::Bool(*value).fmt(f),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Name(name) => f.write_str(name),
            Value::Pair(first, second) => write!(f, "({}, {})", Given::Bool(*first), Given::Bool(*second)),
        }
    }
}

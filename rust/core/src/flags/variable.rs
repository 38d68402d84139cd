//! Environment variables that PyTorch and the vendors read, and what their text says of a flag.

use super::value::Given;
use crate::base::env::{SWITCH_WORDS, parse_switch};

/// A variable that says something of a flag, besides the one that is called like the flag.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) reading: Reading,
}

/// What the text of a variable means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reading {
    /// A value as the flag takes it.
    AsFlag,
    /// A switch: on asks for this value, off for nothing.
    AsksFor(&'static str),
    /// A switch: on asks for the flag to be on, off for nothing.
    AsksForOn,
    /// A number of KiB, for a flag that counts bytes.
    Kibibytes,
    /// What cuBLAS takes: `:SIZE:COUNT` again and again, sizes in KiB.
    /// Source: the documentation of cuBLAS, section "Results Reproducibility".
    WorkspaceConfiguration,
}

/// What a text says.
pub(super) enum Said<'a> {
    Nothing,
    Value(Given<'a>),
    /// It can't be understood; this is allowed.
    Unclear(&'static str),
}

impl Reading {
    /// `None` where the flag itself knows how to read it.
    pub(super) fn of(self, text: &str) -> Option<Said<'_>> {
        match self {
            Reading::AsFlag => None,
            Reading::AsksFor(value) => Some(asked(text, Given::Text(value.into()))),
            Reading::AsksForOn => Some(asked(text, Given::Bool(true))),
            Reading::Kibibytes => {
                Some(bytes_or(text.trim().parse().ok().and_then(bytes_of), "a number of KiB"))
            }
            Reading::WorkspaceConfiguration => {
                Some(bytes_or(workspace_bytes(text), ":SIZE:COUNT, again and again, sizes in KiB"))
            }
        }
    }
}

fn asked<'a>(text: &str, wanted: Given<'a>) -> Said<'a> {
    match parse_switch(text) {
        Some(true) => Said::Value(wanted),
        Some(false) => Said::Nothing,
        None => Said::Unclear(SWITCH_WORDS),
    }
}

fn bytes_or<'a>(bytes: Option<i64>, allowed: &'static str) -> Said<'a> {
    bytes.map_or(Said::Unclear(allowed), |bytes| Said::Value(Given::Integer(bytes)))
}

fn bytes_of(kibibytes: u32) -> Option<i64> {
    i64::from(kibibytes).checked_mul(1024)
}

/// The sum of what a configuration such as `:4096:2:16:8` asks for, in bytes.
fn workspace_bytes(text: &str) -> Option<i64> {
    let numbers: Vec<i64> = text
        .trim()
        .strip_prefix(':')?
        .split(':')
        .map(|number| number.parse::<u32>().ok().map(i64::from))
        .collect::<Option<_>>()?;
    let (pairs, rest) = numbers.as_chunks::<2>();
    let kibibytes =
        pairs.iter().try_fold(0i64, |sum, [size, count]| sum.checked_add(size.checked_mul(*count)?))?;
    if rest.is_empty() { kibibytes.checked_mul(1024) } else { None }
}

#[cfg(test)]
mod tests {
    use super::workspace_bytes;

    #[test]
    fn a_workspace_configuration_is_summed_up() {
        assert_eq!(workspace_bytes(":4096:8"), Some(4096 * 8 * 1024));
        assert_eq!(workspace_bytes(":4096:2:16:8"), Some((4096 * 2 + 16 * 8) * 1024));
    }

    #[test]
    fn what_is_no_configuration_is_nothing() {
        for text in ["", ":", "4096:8", ":4096", ":4096:8:", ":4096:-1", ":a:1", ":4294967295:4294967295"] {
            assert_eq!(workspace_bytes(text), None, "{text}");
        }
    }
}

//! The formats of environment variables that PyTorch and the vendors read.

use super::value::InputValue;
use crate::base::env::{SWITCH_WORDS, parse_switch};

/// A further variable that sets a flag, besides interlock's own.
#[derive(Debug)]
pub(super) struct EnvVar {
    pub(super) name: &'static str,
    pub(super) format: EnvFormat,
}

/// The format of a variable's text.
#[derive(Clone, Copy, Debug)]
pub(super) enum EnvFormat {
    /// A value that the flag accepts.
    AsFlag,
    /// A switch: on requests this value, off has no effect.
    SwitchTo(&'static str),
    /// A switch: on requests true, off has no effect.
    SwitchOn,
    /// A number of KiB, for a flag that counts bytes.
    Kibibytes,
    /// The format of `CUBLAS_WORKSPACE_CONFIG`: `:SIZE:COUNT`, repeated, sizes in KiB. Source: the documentation of
    /// cuBLAS, section "Results Reproducibility".
    WorkspaceConfiguration,
}

/// The parsed text of a variable.
pub(super) enum Parsed<'a> {
    Nothing,
    Value(InputValue<'a>),
    /// The text cannot be parsed; these values are accepted.
    Invalid(&'static str),
}

impl EnvFormat {
    /// Parses a text; `None` if the kind of the flag parses it.
    pub(super) fn of(self, text: &str) -> Option<Parsed<'_>> {
        match self {
            EnvFormat::AsFlag => None,
            EnvFormat::SwitchTo(value) => Some(switch_value(text, InputValue::Text(value.into()))),
            EnvFormat::SwitchOn => Some(switch_value(text, InputValue::Bool(true))),
            EnvFormat::Kibibytes => {
                Some(bytes_or(text.trim().parse().ok().and_then(bytes_of), "a number of KiB"))
            }
            EnvFormat::WorkspaceConfiguration => {
                Some(bytes_or(workspace_bytes(text), "one or more :SIZE:COUNT pairs, sizes in KiB"))
            }
        }
    }
}

fn switch_value<'a>(text: &str, wanted: InputValue<'a>) -> Parsed<'a> {
    match parse_switch(text) {
        Some(true) => Parsed::Value(wanted),
        Some(false) => Parsed::Nothing,
        None => Parsed::Invalid(SWITCH_WORDS),
    }
}

fn bytes_or<'a>(bytes: Option<i64>, allowed: &'static str) -> Parsed<'a> {
    bytes.map_or(Parsed::Invalid(allowed), |bytes| Parsed::Value(InputValue::Integer(bytes)))
}

fn bytes_of(kibibytes: u32) -> Option<i64> {
    i64::from(kibibytes).checked_mul(1024)
}

/// Returns the sum of the sizes of a configuration such as `:4096:2:16:8`, in bytes.
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
    fn workspace_bytes_adds_up_the_buffers() {
        assert_eq!(workspace_bytes(":4096:8"), Some(4096 * 8 * 1024));
        assert_eq!(workspace_bytes(":4096:2:16:8"), Some((4096 * 2 + 16 * 8) * 1024));
    }

    #[test]
    fn workspace_bytes_of_malformed_text_is_none() {
        for text in ["", ":", "4096:8", ":4096", ":4096:8:", ":4096:-1", ":a:1", ":4294967295:4294967295"] {
            assert_eq!(workspace_bytes(text), None, "{text}");
        }
    }
}

//! Sizes in messages and records.

use std::fmt;

/// Shows sizes as a Python tuple.
pub(crate) struct Tuple<'a, T>(pub &'a [T]);

impl<T: fmt::Display> fmt::Display for Tuple<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Items that are shown of a longer sequence: as many as a tensor has dimensions at most.
        const SHOWN: usize = 64;
        f.write_str("(")?;
        for (index, size) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{size}", if index > 0 { ", " } else { "" })?;
        }
        match self.0.len() {
            1 => f.write_str(",)"),
            length if length > SHOWN => write!(f, ", ...) with {length} items"),
            _ => f.write_str(")"),
        }
    }
}

/// Shows sizes as records do, such as "2x3".
pub(crate) struct Sizes<'a>(pub &'a [usize]);

impl fmt::Display for Sizes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("()");
        }
        for (index, size) in self.0.iter().enumerate() {
            write!(f, "{}{size}", if index > 0 { "x" } else { "" })?;
        }
        Ok(())
    }
}

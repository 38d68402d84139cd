//! Source locations of Rust and of other languages.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use once_cell::race::OnceBox;

use super::env;

/// The function that returns the current line of a program in another language on this thread.
static PROVIDER: OnceBox<fn() -> Option<SourceLocation>> = OnceBox::new();

/// A line of a program: a file and a number.
///
/// ```
/// use interlock_core::flags::SourceLocation;
///
/// let here = SourceLocation::caller();
/// assert!(here.to_string().contains(".rs:"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceLocation {
    /// In Rust.
    Rust(&'static Location<'static>),
    /// In another language.
    Foreign {
        /// The file as that language names it.
        file: Arc<str>,
        /// The line, counted from 1.
        line: u32,
    },
}

impl SourceLocation {
    /// Returns the location of the caller in Rust.
    #[track_caller]
    pub fn caller() -> Self {
        SourceLocation::Rust(Location::caller())
    }

    /// Sets the function that returns the current line of another language. Only the first call has an effect.
    pub fn set_provider(provider: fn() -> Option<SourceLocation>) {
        let _ = PROVIDER.set(Box::new(provider));
    }

    /// Returns the current line of another language, if writes are traced (`INTERLOCK_DEBUG=1`).
    pub fn current() -> Option<Self> {
        if !env::debug() {
            return None;
        }
        PROVIDER.get().and_then(|provider| provider())
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceLocation::Rust(location) => write!(f, "{}:{}", location.file(), location.line()),
            SourceLocation::Foreign { file, line } => write!(f, "{file}:{line}"),
        }
    }
}

//! Where in a program something was done.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A file and a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Site {
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

impl Site {
    /// The Rust code that called the function which calls this.
    #[track_caller]
    pub fn caller() -> Self {
        Site::Rust(Location::caller())
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Site::Rust(location) => write!(f, "{}:{}", location.file(), location.line()),
            Site::Foreign { file, line } => write!(f, "{file}:{line}"),
        }
    }
}

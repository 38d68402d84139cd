//! Where in a program something was done.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use once_cell::race::OnceBox;

use crate::env;

/// Who knows which line of a program in another language runs.
static TELLER: OnceBox<fn() -> Option<Site>> = OnceBox::new();

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

    /// The first binding of another language tells here which of its lines runs on this thread.
    pub fn ask_for_lines(teller: fn() -> Option<Site>) {
        // Of two bindings the first one stays.
        let _ = TELLER.set(Box::new(teller));
    }

    /// The line of another language that runs, where writes are traced (`INTERLOCK_DEBUG=1`).
    pub fn running() -> Option<Self> {
        if !env::debug() {
            return None;
        }
        TELLER.get().and_then(|teller| teller())
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

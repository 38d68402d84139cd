//! What obeys a flag, and whether any of it is in this process.

use crate::libraries::Library;

/// What obeys a flag.
#[derive(Debug)]
pub struct Effect {
    /// The operations.
    pub(super) what: &'static str,
    /// The libraries that run them; one of them must be there for the flag to matter.
    pub(super) libraries: &'static [&'static Library],
}

impl Effect {
    /// The operations that obey the flag.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// What obeys the flag in this process, in words.
    pub fn in_this_process(&self) -> String {
        let (loaded, missing): (Vec<&Library>, Vec<&Library>) =
            self.libraries.iter().partition(|library| library.is_loaded());
        if loaded.is_empty() {
            format!("{}: no effect here, {} not loaded", self.what, names(&missing))
        } else {
            format!("{} through {}", self.what, names(&loaded))
        }
    }
}

fn names(libraries: &[&Library]) -> String {
    let names: Vec<&str> = libraries.iter().map(|library| library.name()).collect();
    names.join(", ")
}

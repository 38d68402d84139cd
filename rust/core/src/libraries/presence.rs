//! Whether a library is in this process or would be found, remembered for a moment: a search opens dozens of files, and
//! `explain` asks for several libraries.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::python_paths::{self, PythonPaths};
use super::{Library, search};
use crate::base::env;

/// Whether a library is there.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is loaded into this process, by this crate or by other code.
    Loaded,
    /// A file of its name is found, which is not loaded.
    Found,
    /// No file of its name is found.
    Absent,
}

/// How long files that appear or disappear may go unnoticed.
const MOMENT: Duration = Duration::from_secs(1);

/// What a look found, and what that depends on.
#[derive(Debug)]
pub(super) struct SearchResult {
    presence: Presence,
    at: Instant,
    depends_on: Dependencies,
}

/// Everything but files that decides what a look finds.
#[derive(Debug, PartialEq, Eq)]
struct Dependencies {
    /// How many libraries the loader has added to this process and removed from it.
    loader: (u64, u64),
    packages: Option<Arc<PythonPaths>>,
    variables: Vec<Option<OsString>>,
    folder: Option<PathBuf>,
}

impl Dependencies {
    /// `None` where the loader does not tell whether it has loaded something meanwhile.
    fn now(library: &Library) -> Option<Self> {
        let loader = loader_counts()?;
        let own = env::library_variable(library.name);
        let mut variables = vec![env::value(&own), env::value(env::LIBRARY_PATH)];
        variables.extend(library.search_paths.variables().map(env::value));
        // Paths that are relative depend on the working directory.
        let is_set = variables.iter().flatten().any(|value| !value.is_empty());
        let folder = if is_set { std::env::current_dir().ok() } else { None };
        Some(Dependencies { loader, packages: python_paths::current(), variables, folder })
    }
}

impl Library {
    /// Returns whether the library is loaded or would be found; looking does not load it. A path that the user gave and
    /// that can't be used finds none.
    ///
    /// What was found is remembered: a change of the environment, of Python's packages or of what is loaded is noticed
    /// at once, a file that appears or disappears after at most a second.
    pub fn presence(&self) -> Presence {
        if self.handle.get().is_some() {
            return Presence::Loaded;
        }
        // Before the look, so that what changes meanwhile counts as changed afterwards.
        let (Some(depends_on), at) = (Dependencies::now(self), Instant::now()) else {
            return self.look_for();
        };
        let is_recent = |look: &&SearchResult| look.depends_on == depends_on && at.duration_since(look.at) < MOMENT;
        let remembered = self.last_search.try_lock();
        if let Some(look) = remembered.as_ref().and_then(|last_search| last_search.as_ref().filter(is_recent)) {
            return look.presence;
        }
        // The look may take its time.
        drop(remembered);
        let presence = self.look_for();
        let look = Some(SearchResult { presence, at, depends_on });
        let replaced = match self.last_search.try_lock() {
            Some(mut last_search) => std::mem::replace(&mut *last_search, look),
            // Another thread remembers what it found; in a forked child, perhaps one that the child lacks.
            None => look,
        };
        drop(replaced);
        presence
    }

    fn look_for(&self) -> Presence {
        if self.loaded_elsewhere().is_some() {
            return Presence::Loaded;
        }
        let is_found = match self.user_path() {
            Ok(given) => given.is_some() || search::files(self).next().is_some(),
            Err(_) => false,
        };
        if is_found { Presence::Found } else { Presence::Absent }
    }
}

/// Returns how many libraries the loader has added to this process and removed from it, where it reports that.
#[cfg(target_os = "linux")]
fn loader_counts() -> Option<(u64, u64)> {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" fn note(
        info: *mut libc::dl_phdr_info,
        size: libc::size_t,
        counts: *mut c_void,
    ) -> c_int {
        if size >= size_of::<libc::dl_phdr_info>() {
            // SAFETY: the loader lends what it says it has, with all fields that are known here, and hands on the pointer
            // that `dl_iterate_phdr` was given.
            unsafe { *counts.cast::<Option<(u64, u64)>>() = Some(((*info).dlpi_adds, (*info).dlpi_subs)) };
        }
        // Every library is told the same counts.
        1
    }

    let mut counts: Option<(u64, u64)> = None;
    // SAFETY: calls the function with a pointer to a local, before it returns.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut counts).cast()) };
    counts
}

#[cfg(not(target_os = "linux"))]
fn loader_counts() -> Option<(u64, u64)> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn loader_counts_stay_as_long_as_nothing_is_loaded() {
        // Other tests of this process may load libraries at any time.
        let unchanged = (0..1000).any(|_| {
            let before = loader_counts();
            before.is_some() && before == loader_counts()
        });
        assert!(unchanged);
    }

    #[test]
    fn presence_agrees_with_a_search() {
        for library in super::super::ALL {
            let searched = match (library.is_loaded(), library.is_available()) {
                (true, _) => Presence::Loaded,
                (false, Ok(true)) => Presence::Found,
                (false, _) => Presence::Absent,
            };
            assert_eq!([library.presence(), library.presence()], [searched; 2], "{}", library.name());
        }
    }
}

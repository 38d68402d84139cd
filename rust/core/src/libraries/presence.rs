//! Cached lookups of whether a library is loaded or would be found: a search opens dozens of files, and `explain`
//! queries several libraries.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::python_paths::{self, PythonPaths};
use super::{Library, search};
use crate::base::env;

/// The state of a library: loaded, found or absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Loaded in this process, by this crate or by other code.
    Loaded,
    /// A file of its name is found and is not loaded.
    Found,
    /// No file of its name is found.
    Absent,
}

/// The longest time for which a cached result is used after files have appeared or disappeared.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The result of a search and its dependencies.
#[derive(Debug)]
pub(super) struct SearchResult {
    presence: Presence,
    at: Instant,
    depends_on: Dependencies,
}

/// Everything except files that the result of a search depends on.
#[derive(Debug, PartialEq, Eq)]
struct Dependencies {
    /// The number of libraries that the loader has added to this process and removed from it.
    loader: (u64, u64),
    packages: Option<Arc<PythonPaths>>,
    variables: Vec<Option<OsString>>,
    folder: Option<PathBuf>,
}

impl Dependencies {
    /// Returns the current dependencies; `None` if the loader does not count what it loads.
    fn now(library: &Library) -> Option<Self> {
        let loader = loader_counts()?;
        let own = env::library_variable(library.name);
        let mut variables = vec![env::value(&own), env::value(env::LIBRARY_PATH)];
        variables.extend(library.search_paths.variables().map(env::value));
        // Relative paths depend on the working directory.
        let is_set = variables.iter().flatten().any(|value| !value.is_empty());
        let folder = if is_set { std::env::current_dir().ok() } else { None };
        Some(Dependencies { loader, packages: python_paths::current(), variables, folder })
    }
}

impl Library {
    /// Returns whether the library is loaded or would be found; does not load it. A user-supplied path that cannot be
    /// used counts as absent.
    ///
    /// The result is cached. A change of the environment, of Python's packages or of the loaded libraries takes effect
    /// at once, a file that appears or disappears after at most a second.
    pub fn presence(&self) -> Presence {
        if self.handle.get().is_some() {
            return Presence::Loaded;
        }
        // Read before the search, so that changes during the search invalidate its result.
        let (Some(depends_on), at) = (Dependencies::now(self), Instant::now()) else {
            return self.search();
        };
        let is_recent = |result: &&SearchResult| {
            result.depends_on == depends_on && at.duration_since(result.at) < MAX_AGE
        };
        let cached = self.last_search.try_lock();
        if let Some(result) = cached.as_ref().and_then(|last_search| last_search.as_ref().filter(is_recent)) {
            return result.presence;
        }
        // Not held during the search, which may be slow.
        drop(cached);
        let presence = self.search();
        let result = Some(SearchResult { presence, at, depends_on });
        let replaced = match self.last_search.try_lock() {
            Some(mut last_search) => std::mem::replace(&mut *last_search, result),
            // Another thread stores its result; in a forked child, that may be a thread that the child lacks.
            None => result,
        };
        drop(replaced);
        presence
    }

    fn search(&self) -> Presence {
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

/// Returns the number of libraries that the loader has added to this process and removed from it, if it counts them.
#[cfg(target_os = "linux")]
pub fn loader_counts() -> Option<(u64, u64)> {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" fn read_counts(
        info: *mut libc::dl_phdr_info,
        size: libc::size_t,
        counts: *mut c_void,
    ) -> c_int {
        if size >= size_of::<libc::dl_phdr_info>() {
            // SAFETY: the loader passes a structure of at least this size, with all fields that are read, and the
            // pointer that `dl_iterate_phdr` received.
            unsafe { *counts.cast::<Option<(u64, u64)>>() = Some(((*info).dlpi_adds, (*info).dlpi_subs)) };
        }
        // The counts are the same for every library, so the first suffices.
        1
    }

    let mut counts: Option<(u64, u64)> = None;
    // SAFETY: calls the function with a pointer to a local, before it returns.
    unsafe { libc::dl_iterate_phdr(Some(read_counts), (&raw mut counts).cast()) };
    counts
}

/// Returns None: the loader of this system counts no libraries.
#[cfg(not(target_os = "linux"))]
pub fn loader_counts() -> Option<(u64, u64)> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn loader_counts_are_constant_while_nothing_is_loaded() {
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

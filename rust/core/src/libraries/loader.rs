//! Loading a library and looking functions up in it.

use std::error::Error as _;
use std::ffi::{CStr, OsStr};

use libloading::os::unix::{Library as Loaded, RTLD_LAZY, RTLD_LOCAL};
use once_cell::race::OnceBox;

use super::{Library, search};
use crate::Error;

/// The library once it is loaded. It is never closed: a library that started threads or handed out
/// addresses is not safe to take away.
#[derive(Debug)]
pub(super) struct Handle(OnceBox<Loaded>);

impl Handle {
    pub(super) const fn new() -> Self {
        // Not a blocking cell: a fork while another thread fills it would leave the child waiting. Two
        // threads that fill it at once load the library twice, which only counts references.
        Handle(OnceBox::new())
    }
}

/// The library if it is in this process already.
pub(super) fn loaded_already(soname: &str) -> Option<Loaded> {
    // SAFETY: RTLD_NOLOAD never runs a library's initialisers; it only counts one more reference to
    // a library that is there, and dropping the handle takes that back.
    unsafe { Loaded::open(Some(soname), RTLD_LAZY | libc::RTLD_NOLOAD) }.ok()
}

fn open(file: &OsStr) -> Result<Loaded, libloading::Error> {
    // SAFETY: the search gives only files that are named as a vendor's library, whose initialisers are
    // made to run in any process.
    unsafe { Loaded::open(Some(file), RTLD_LAZY | RTLD_LOCAL) }
}

impl Library {
    /// Loads the library if it is not loaded yet. An absence is not remembered: it may be there the
    /// next time. The error says what `operation` needs it for.
    pub(super) fn load(&self, operation: &str) -> crate::Result<&Loaded> {
        self.handle.0.get_or_try_init(|| self.first_that_loads().map(Box::new)).map_err(|reason| {
            Error::LibraryNotFound { library: self.name(), operation: operation.to_owned(), reason }
        })
    }

    fn first_that_loads(&self) -> Result<Loaded, String> {
        if let Some(loaded) = self.sonames.iter().find_map(|soname| loaded_already(soname)) {
            return Ok(loaded);
        }
        let mut failure = None;
        for file in self.files() {
            match open(file.as_os_str()) {
                Ok(loaded) => return Ok(loaded),
                Err(error) => {
                    failure.get_or_insert_with(|| format!("it can't be loaded: {}", reason_of(&error)));
                }
            }
        }
        Err(failure.unwrap_or_else(|| {
            format!("none was found, looked for {} {}", self.sonames.join(", "), search::places(self))
        }))
    }

    /// A function of the library by its name in C.
    ///
    /// # Safety
    /// `F` is the type of a function pointer, and the function has that signature.
    pub(super) unsafe fn function<F: Copy>(&self, name: &CStr, operation: &str) -> crate::Result<F> {
        let loaded = self.load(operation)?;
        // SAFETY: the caller's promise; the library is never closed, so the copy stays good.
        let found = unsafe { loaded.get::<F>(name.to_bytes_with_nul()) };
        found.map(|function| *function).map_err(|error| Error::LibraryNotFound {
            library: self.name(),
            operation: operation.to_owned(),
            reason: format!(
                "the one that was loaded lacks {}: {}",
                name.to_string_lossy(),
                reason_of(&error)
            ),
        })
    }
}

/// The loader's own words, on one line.
pub(crate) fn reason_of(error: &libloading::Error) -> String {
    // The error itself only says which call failed.
    error.source().map_or_else(|| error.to_string(), ToString::to_string).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_loaders_own_and_names_the_file() {
        let error = open(OsStr::new("/nowhere/libnothing.so")).unwrap_err();
        assert!(reason_of(&error).contains("/nowhere/libnothing.so"), "{error:?}");
    }
}

//! Loading a library and looking functions up in it.

use std::error::Error as _;
use std::ffi::{CStr, OsStr, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Shared, RTLD_LAZY, RTLD_LOCAL};
use once_cell::race::OnceBox;

use super::user_path::UserPath;
use super::{Found, Library, Source, search};
use crate::{Error, Result};

/// The library once it is loaded. It is never closed: a library that started threads or handed out
/// addresses is not safe to take away.
#[derive(Debug)]
pub(super) struct Handle(OnceBox<Loaded>);

impl Handle {
    pub(super) const fn new() -> Self {
        // Not a blocking cell: a fork while another thread fills it would leave the child waiting. Two
        // threads may load the library at once, and both then use the one that was there first.
        Handle(OnceBox::new())
    }

    pub(super) fn get(&self) -> Option<&Loaded> {
        self.0.get()
    }
}

/// A library in this process, and its file.
#[derive(Debug)]
pub(super) struct Loaded {
    library: ManuallyDrop<Shared>,
    found: Found,
    /// What gave its path, where a user did.
    user_path: Option<UserPath>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Looking at what others have loaded only counted a reference. What was opened here has run its initialisers,
        // and stays also where two threads opened one file each and the library is the other's.
        if self.found.source == Source::Loaded {
            // SAFETY: nobody uses the field after this.
            unsafe { ManuallyDrop::drop(&mut self.library) }
        }
    }
}

impl Loaded {
    fn new(shared: Shared, path: PathBuf, source: Source) -> Self {
        Loaded { library: ManuallyDrop::new(shared), found: Found { path, source }, user_path: None }
    }

    /// Opens a file, if it is that of `library`.
    fn open(library: &Library, file: &Path, source: Source) -> Result<Self, String> {
        // SAFETY: what is opened is named as a vendor's library, or the user says that it is one; the initialisers
        // of these are made to run in any process.
        let opened = unsafe { Shared::open(Some(file), RTLD_LAZY | RTLD_LOCAL) };
        let shared = opened.map_err(|error| reason_of(&error))?;
        let name = library.function.to_string_lossy();
        let reason = match file_of_library(library, &shared) {
            // What it needs is searched for functions as well.
            Some(other) if file.is_absolute() && !is_same_file(&other, file) => {
                format!("the function {name} is not in it but in {}", other.display())
            }
            Some(path) => return Ok(Loaded::new(shared, path, source)),
            None => format!("it lacks the function {name}"),
        };
        // Its initialisers have run, and who knows whether it may be taken away again.
        std::mem::forget(shared);
        Err(reason)
    }

    pub(super) fn found(&self) -> &Found {
        &self.found
    }

    /// A function of the library by its name in C; the error is the loader's reason.
    ///
    /// # Safety
    /// `F` is the type of a function pointer, and the function has that signature.
    pub(super) unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        // SAFETY: the caller's promise. What has been handed out is never closed, so the copy stays good.
        let found = unsafe { self.library.get::<F>(name.to_bytes_with_nul()) };
        found.map(|function| *function).map_err(|error| reason_of(&error))
    }
}

impl Library {
    /// The library if somebody else has loaded it into this process; looking does not load it.
    pub(super) fn loaded_elsewhere(&self) -> Option<Loaded> {
        self.sonames.iter().find_map(|soname| open_if_loaded(self, soname))
    }

    /// Loads the library if it is not loaded yet. An absence is not remembered: it may be there the
    /// next time. The error says what `operation` needs it for.
    pub(super) fn loaded(&self, operation: &str) -> Result<&Loaded> {
        self.handle.0.get_or_try_init(|| match self.user_path()? {
            Some(given) => self.opened(given),
            None => self.load_first().map(Box::new).map_err(|reason| self.not_found(operation, reason)),
        })
    }

    /// Loads the library from a path that an argument gave.
    pub(super) fn loaded_from(&self, path: &Path) -> Result<&Loaded> {
        let given = || self.at(path, format!("backends.libraries.load({:?}, path)", self.name));
        let loaded = self.handle.0.get_or_try_init(|| self.opened(given()?))?;
        let (given, found) = (given()?, loaded.found());
        if is_same_file(&given.file, &found.path) {
            return Ok(loaded);
        }
        let reason = format!("it is loaded from {} already", found.path.display());
        Err(given.error(self, reason))
    }

    fn opened(&self, given: UserPath) -> Result<Box<Loaded>> {
        match Loaded::open(self, &given.file, Source::Explicit) {
            Ok(mut loaded) => {
                loaded.user_path = Some(given);
                Ok(Box::new(loaded))
            }
            Err(reason) => Err(given.error(self, reason)),
        }
    }

    fn load_first(&self) -> Result<Loaded, String> {
        if let Some(loaded) = self.loaded_elsewhere() {
            return Ok(loaded);
        }
        if self.sonames.is_empty() {
            return Err("it is not made for this system".to_owned());
        }
        let mut failure = None;
        for Found { path, source } in search::files(self) {
            match Loaded::open(self, &path, source) {
                Ok(loaded) => return Ok(loaded),
                Err(reason) => {
                    failure.get_or_insert_with(|| format!("{} can't be loaded: {reason}", path.display()));
                }
            }
        }
        // The loader may know folders that no file tells of.
        let mut by_name = self.sonames.iter().map(Path::new);
        let loaded = by_name.find_map(|soname| Loaded::open(self, soname, Source::System).ok());
        loaded.ok_or_else(|| {
            failure.unwrap_or_else(|| format!("none was found, looked for {}", search::describe_search(self)))
        })
    }

    /// A function of the library by its name in C.
    ///
    /// # Safety
    /// `F` is the type of a function pointer, and the function has that signature.
    #[doc(hidden)]
    pub unsafe fn function<F: Copy>(&self, name: &CStr, operation: &str) -> Result<F> {
        let loaded = self.loaded(operation)?;
        // SAFETY: the caller's promise.
        unsafe { loaded.function(name) }.map_err(|reason| {
            let lack = format!("{:?} lacks {}: {reason}", loaded.found.path, name.to_string_lossy());
            match &loaded.user_path {
                Some(given) => given.error(self, lack),
                None => self.not_found(operation, lack),
            }
        })
    }

    fn not_found(&self, operation: &str, reason: String) -> Error {
        Error::LibraryNotFound { library: self.title, operation: operation.to_owned(), reason }
    }
}

/// What is in this process under a name.
pub(super) fn open_if_loaded(library: &Library, soname: &str) -> Option<Loaded> {
    // SAFETY: RTLD_NOLOAD never runs a library's initialisers; it only counts one more reference to
    // a library that is there, and dropping the handle takes that back.
    let shared = unsafe { Shared::open(Some(soname), RTLD_LAZY | libc::RTLD_NOLOAD) }.ok()?;
    let path = file_of_library(library, &shared)?;
    Some(Loaded::new(shared, path, Source::Loaded))
}

/// The file that was opened; `None` where it is another library.
fn file_of_library(library: &Library, shared: &Shared) -> Option<PathBuf> {
    // SAFETY: the address is not called.
    let function = unsafe { shared.get::<*const c_void>(library.function.to_bytes_with_nul()) };
    file_of((*function.ok()?).addr())
}

pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The file from which the loader mapped an address; `None` where the address is in no loaded file.
pub fn file_of(address: usize) -> Option<PathBuf> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: looks an address up and writes what it belongs to; zeros are a value of that, too.
    let found = unsafe {
        libc::dladdr(std::ptr::without_provenance(address), found.as_mut_ptr());
        found.assume_init()
    };
    if found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader keeps the name, which ends with a zero, as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// The loader's own words, on one line.
pub fn reason_of(error: &libloading::Error) -> String {
    // The error itself only says which call failed.
    error.source().map_or_else(|| error.to_string(), ToString::to_string).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::super::CUDNN;
    use super::*;

    #[test]
    fn the_reason_is_the_loaders_own_and_names_the_file() {
        let reason = Loaded::open(&CUDNN, Path::new("/nowhere/libnothing.so"), Source::Explicit).unwrap_err();
        assert!(reason.contains("/nowhere/libnothing.so"), "{reason}");
    }

    #[test]
    fn the_file_of_a_function_is_where_it_was_loaded_from() {
        let file = file_of(std::env::current_exe as *const () as usize).unwrap();
        assert!(is_same_file(&file, &std::env::current_exe().unwrap()), "{file:?}");
    }

    #[test]
    fn a_library_that_lacks_the_function_is_another_library() {
        let name = if cfg!(target_os = "macos") { "libSystem.B.dylib" } else { "libc.so.6" };
        let reason = Loaded::open(&CUDNN, Path::new(name), Source::Explicit).unwrap_err();
        assert!(reason.contains("cudnnGetVersion"), "{reason}");
    }
}

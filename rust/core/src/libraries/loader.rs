//! Loading libraries and looking up their functions.

use std::error::Error as _;
use std::ffi::{CStr, OsStr, c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Shared, RTLD_LAZY, RTLD_LOCAL};
use once_cell::race::OnceBox;

use super::user_path::UserPath;
use super::{Found, Library, Source, search};
use crate::{Error, Result};

/// The loaded library. It is never closed: a library that started threads or returned addresses cannot be unloaded
/// safely.
#[derive(Debug)]
pub(super) struct Handle(OnceBox<Loaded>);

impl Handle {
    pub(super) const fn new() -> Self {
        // Not a blocking cell: a fork while another thread fills it would block the child. Two threads may load the
        // library at the same time; both then use the one that was stored first.
        Handle(OnceBox::new())
    }

    pub(super) fn get(&self) -> Option<&Loaded> {
        self.0.get()
    }
}

/// A loaded library and its file.
#[derive(Debug)]
pub(super) struct Loaded {
    library: ManuallyDrop<Shared>,
    found: Found,
    /// The user-supplied path from which it was loaded.
    user_path: Option<UserPath>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // A handle of a library that other code has loaded only holds a reference, which is released. A library that
        // this crate has opened has run its initializers, so it stays loaded, also if another thread has stored its own
        // handle first.
        if self.found.source == Source::Loaded {
            // SAFETY: the field is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.library) }
        }
    }
}

impl Loaded {
    fn new(shared: Shared, path: PathBuf, source: Source) -> Self {
        Loaded { library: ManuallyDrop::new(shared), found: Found { path, source }, user_path: None }
    }

    /// Opens a file and checks that it is `library`.
    fn open(library: &Library, file: &Path, source: Source) -> Result<Self, String> {
        // SAFETY: the file has the name of a vendor's library, or the caller supplied its path as this library. The
        // initializers of these libraries may run in any process.
        let open_user_path = unsafe { Shared::open(Some(file), RTLD_LAZY | RTLD_LOCAL) };
        let shared = open_user_path.map_err(|error| reason_of(&error))?;
        let name = library.function.to_string_lossy();
        let reason = match file_of_library(library, &shared) {
            // `dlsym` also searches the libraries that it depends on.
            Some(other) if file.is_absolute() && !is_same_file(&other, file) => {
                format!("the function {name} is defined in {} instead", other.display())
            }
            Some(path) => return Ok(Loaded::new(shared, path, source)),
            None => format!("it lacks the function {name}"),
        };
        // Its initializers have run, so unloading it may be unsafe.
        std::mem::forget(shared);
        Err(reason)
    }

    pub(super) fn found(&self) -> &Found {
        &self.found
    }

    /// Returns a function by its C name; the error is the message of the loader.
    ///
    /// # Safety
    /// `F` is the type of a function pointer, and the function has that signature.
    pub(super) unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F, String> {
        // SAFETY: as the caller guarantees.
        self.address(name).map(|address| unsafe { pointer_at(address) })
    }

    /// Returns the address of a function. A library whose functions were returned is never closed, so it stays valid.
    fn address(&self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: the address is not used.
        let found = unsafe { self.library.get::<*mut c_void>(name.to_bytes_with_nul()) };
        found.map(|address| *address).map_err(|error| reason_of(&error))
    }

    /// Calls `R function(int)`, if the library has a function of this name.
    ///
    /// # Safety
    /// The function has this signature, accepts the value, and may be called by any thread at any time.
    pub(super) unsafe fn call_with_int<R>(&self, name: &CStr, value: c_int) {
        // SAFETY: as the caller guarantees.
        unsafe {
            if let Ok(function) = self.function::<unsafe extern "C" fn(c_int) -> R>(name) {
                function(value);
            }
        }
    }
}

impl Library {
    /// Returns the library if other code has loaded it into this process; does not load it.
    pub(super) fn loaded_elsewhere(&self) -> Option<Loaded> {
        let by_name = self.loader_names().find_map(|soname| open_if_loaded(self, soname));
        by_name.or_else(|| search::packaged_files(self).find_map(|file| open_if_loaded(self, &file)))
    }

    /// Loads the library if it is not loaded yet. A failure is not cached, so the next call searches again. `operation`
    /// is named in the error.
    pub(super) fn loaded(&self, operation: &str) -> Result<&Loaded> {
        self.handle.0.get_or_try_init(|| match self.user_path()? {
            Some(user_path) => self.open_user_path(user_path),
            None => self.load_first().map(Box::new).map_err(|reason| self.not_found(operation, reason)),
        })
    }

    /// Loads the library from a path that an argument supplied.
    pub(super) fn loaded_from(&self, path: &Path) -> Result<&Loaded> {
        let user_path = || self.resolve_path(path, format!("backends.libraries.load({:?}, path)", self.name));
        let loaded = self.handle.0.get_or_try_init(|| self.open_user_path(user_path()?))?;
        let (user_path, found) = (user_path()?, loaded.found());
        if is_same_file(&user_path.file, &found.path) {
            return Ok(loaded);
        }
        let reason = format!("it is loaded from {} already", found.path.display());
        Err(user_path.error(self, reason))
    }

    fn open_user_path(&self, user_path: UserPath) -> Result<Box<Loaded>> {
        match Loaded::open(self, &user_path.file, Source::Explicit) {
            Ok(mut loaded) => {
                loaded.user_path = Some(user_path);
                Ok(Box::new(loaded))
            }
            Err(reason) => Err(user_path.error(self, reason)),
        }
    }

    fn load_first(&self) -> Result<Loaded, String> {
        if let Some(loaded) = self.loaded_elsewhere() {
            return Ok(loaded);
        }
        if self.sonames.is_empty() {
            return Err("it is not built for this system".to_owned());
        }
        let mut failure = None;
        for Found { path, source } in search::files(self) {
            match Loaded::open(self, &path, source) {
                Ok(loaded) => return Ok(loaded),
                Err(reason) => {
                    failure.get_or_insert_with(|| format!("{} cannot be loaded: {reason}", path.display()));
                }
            }
        }
        // The loader may know folders that no configuration file names.
        let loaded = self.loader_names().find_map(|soname| Loaded::open(self, soname, Source::System).ok());
        loaded.ok_or_else(|| {
            failure.unwrap_or_else(|| format!("not found; searched for {}", search::describe_search(self)))
        })
    }

    /// Returns a function of the library by its C name, and loads the library if necessary.
    ///
    /// # Safety
    /// `F` is the type of a function pointer, and the function has that signature.
    ///
    /// # Errors
    /// Fails if the library cannot be loaded or lacks the function. The message names `operation`.
    ///
    /// ```
    /// use interlock_core::libraries::NVML;
    ///
    /// type Version = unsafe extern "C" fn(*mut i32) -> i32;
    ///
    /// // SAFETY: NVIDIA's `nvml.h` declares this signature.
    /// match unsafe { NVML.function::<Version>(c"nvmlSystemGetCudaDriverVersion", "cuda_version") } {
    ///     Ok(version) => println!("found at {version:?}"),
    ///     Err(error) => println!("{error}"),
    /// }
    /// ```
    pub unsafe fn function<F: Copy>(&self, name: &CStr, operation: &str) -> Result<F> {
        // SAFETY: as the caller guarantees.
        self.address(name, operation).map(|address| unsafe { pointer_at(address) })
    }

    fn address(&self, name: &CStr, operation: &str) -> Result<*mut c_void> {
        let loaded = self.loaded(operation)?;
        loaded.address(name).map_err(|reason| {
            let lack = format!("{:?} lacks {}: {reason}", loaded.found.path, name.to_string_lossy());
            match &loaded.user_path {
                Some(user_path) => user_path.error(self, lack),
                None => self.not_found(operation, lack),
            }
        })
    }

    fn not_found(&self, operation: &str, reason: String) -> Error {
        Error::LibraryNotFound { library: self.title, operation: operation.to_owned(), reason }
    }
}

/// Returns an address as a pointer to a function.
///
/// # Safety
/// `F` is the type of a function pointer, and the function at the address has that signature.
unsafe fn pointer_at<F: Copy>(address: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "a function pointer") };
    // SAFETY: as the caller guarantees.
    unsafe { std::mem::transmute_copy(&address) }
}

/// Returns whether a file is loaded under a name.
pub(super) fn is_loaded(soname: &str) -> bool {
    handle_if_loaded(Path::new(soname)).is_some()
}

/// Returns the library that is loaded under a name or from a file.
pub(super) fn open_if_loaded(library: &Library, soname: &Path) -> Option<Loaded> {
    let shared = handle_if_loaded(soname)?;
    let path = file_of_library(library, &shared)?;
    Some(Loaded::new(shared, path, Source::Loaded))
}

fn handle_if_loaded(soname: &Path) -> Option<Shared> {
    #[cfg(target_os = "macos")]
    let soname =
        &if soname.is_absolute() { soname.to_owned() } else { super::images::path_of(soname.to_str()?)? };
    // SAFETY: RTLD_NOLOAD never runs a library's initializers; it only adds a reference to a loaded library, which
    // dropping the handle releases.
    unsafe { Shared::open(Some(soname), RTLD_LAZY | libc::RTLD_NOLOAD) }.ok()
}

/// Returns the file that was opened; `None` if it is another library.
fn file_of_library(library: &Library, shared: &Shared) -> Option<PathBuf> {
    let find = |name: &CStr| {
        // SAFETY: the address is not called.
        unsafe { shared.get::<*const c_void>(name.to_bytes_with_nul()) }
            .ok()
            .map(|function| (*function).addr())
    };
    file_of(library.functions().find_map(find)?)
}

pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Returns the file from which the loader mapped an address; `None` if no loaded file contains it.
pub fn file_of(address: usize) -> Option<PathBuf> {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: writes the result to a local, for which zeros are a valid value.
    let found = unsafe {
        libc::dladdr(std::ptr::without_provenance(address), found.as_mut_ptr());
        found.assume_init()
    };
    if found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name ends with a zero byte and is valid as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Returns the message of the loader, on one line.
pub fn reason_of(error: &libloading::Error) -> String {
    // The error itself only names the call that failed.
    error.source().map_or_else(|| error.to_string(), ToString::to_string).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::super::CUDNN;
    use super::*;

    #[test]
    fn open_returns_the_message_of_the_loader() {
        let reason = Loaded::open(&CUDNN, Path::new("/nowhere/libnothing.so"), Source::Explicit).unwrap_err();
        assert!(reason.contains("/nowhere/libnothing.so"), "{reason}");
    }

    #[test]
    fn file_of_a_function_is_the_file_it_was_loaded_from() {
        let file = file_of(std::env::current_exe as *const () as usize).unwrap();
        assert!(is_same_file(&file, &std::env::current_exe().unwrap()), "{file:?}");
    }

    /// The name of the C library, which is loaded in every process.
    const LIBC: &str = if cfg!(target_os = "macos") { "libSystem.B.dylib" } else { "libc.so.6" };

    #[test]
    fn is_loaded_finds_a_loaded_library_by_its_name() {
        assert!(is_loaded(LIBC));
        assert!(!is_loaded("libnothing.so.1"));
    }

    #[test]
    fn open_refuses_a_library_without_the_function() {
        let reason = Loaded::open(&CUDNN, Path::new(LIBC), Source::Explicit).unwrap_err();
        assert!(reason.contains("cudnnGetVersion"), "{reason}");
    }
}

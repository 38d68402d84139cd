//! The functions of a library that kernels call.

use std::error::Error;
use std::fmt;

use once_cell::race::OnceBox;

use super::Library;

/// The functions of a library, or why there are none. The first use decides it for the process and loads the library.
///
/// ```
/// use interlock_core::libraries::{LibraryFunctions, NVML};
///
/// type Version = unsafe extern "C" fn(*mut i32) -> i32;
///
/// static VERSION: LibraryFunctions<Version> = LibraryFunctions::new(&NVML, |nvml| {
///     // SAFETY: NVIDIA's `nvml.h` declares this signature.
///     Ok(unsafe { nvml.function(c"nvmlSystemGetCudaDriverVersion", "cuda_version") }?)
/// });
/// match VERSION.get() {
///     Ok(version) => println!("found at {version:?}"),
///     Err(reason) => println!("{reason}"), // NVML not found
/// }
/// ```
pub struct LibraryFunctions<T> {
    library: &'static Library,
    load: Load<T>,
    // Not a blocking cell: a child that is forked while another thread fills it would wait forever.
    found: OnceBox<Result<T, String>>,
}

/// Looks up the functions, or returns why they cannot be used.
type Load<T> = fn(&'static Library) -> Result<T, Box<dyn Error>>;

/// Calls a search while no other thread changes the environment, which it reads; unless the interpreter has ended.
type SearchHook = fn(&mut dyn FnMut());

static SEARCH_HOOK: OnceBox<SearchHook> = OnceBox::new();

/// Sets the function that calls a search attached to the interpreter, whose threads change the environment, after
/// [`set_python_paths`](super::python_paths::set_python_paths). Only the first call has an effect.
///
/// # Safety
/// The function calls its argument at most once, on the calling thread, before it returns.
pub unsafe fn set_search_hook(hook: SearchHook) {
    let _ = SEARCH_HOOK.set(Box::new(hook));
}

impl<T: Send + Sync> LibraryFunctions<T> {
    /// Declares functions that `load` looks up.
    pub const fn new(library: &'static Library, load: Load<T>) -> Self {
        LibraryFunctions { library, load, found: OnceBox::new() }
    }

    /// Returns the functions.
    ///
    /// # Errors
    /// Fails with the reason: the library is not found, cannot be loaded or lacks a function.
    #[inline]
    pub fn get(&self) -> Result<&T, &str> {
        let found = self.found.get().or_else(|| self.decide());
        found.ok_or("the interpreter has ended")?.as_ref().map_err(String::as_str)
    }

    #[cold]
    fn decide(&self) -> Option<&Result<T, String>> {
        let mut found = None;
        let mut search = || found = Some(self.search());
        match SEARCH_HOOK.get() {
            Some(hook) => hook(&mut search),
            None => search(),
        }
        found.map(|found| self.found.get_or_init(|| Box::new(found)))
    }

    fn search(&self) -> Result<T, String> {
        match self.library.is_available() {
            Ok(false) => Err(format!("{} not found", self.library.title())),
            _ => (self.load)(self.library).map_err(|error| error.to_string()),
        }
    }
}

impl<T> fmt::Debug for LibraryFunctions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryFunctions").field("library", &self.library.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::NVML;
    use super::*;
    use crate::base::sync::RelaxedU64;

    #[test]
    fn get_decides_once_for_the_process() {
        static LOADS: RelaxedU64 = RelaxedU64::new(0);
        static FUNCTIONS: LibraryFunctions<u64> = LibraryFunctions::new(&NVML, |_| Ok(LOADS.add(1)));
        let first = FUNCTIONS.get().copied().map_err(str::to_owned);
        assert!(first.is_ok() || first == Err("NVML not found".to_owned()));
        assert_eq!(FUNCTIONS.get().copied().map_err(str::to_owned), first);
        assert!(LOADS.get() <= 1);
    }
}

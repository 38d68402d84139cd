//! The OpenMP runtimes that are loaded in this process.

use std::ffi::c_int;
use std::path::{Path, PathBuf};

use super::OPENMP;
use super::loader::{Loaded, open_if_loaded};

/// A loaded OpenMP runtime.
///
/// ```
/// use interlock_core::libraries::openmp_runtimes;
///
/// for runtime in openmp_runtimes() {
///     println!("{} from {}: {:?} threads", runtime.name, runtime.path.display(), runtime.threads);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenMpRuntime {
    /// `libgomp` (GNU), `libiomp` (Intel) or `libomp` (LLVM).
    pub name: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The maximum number of threads of a parallel region of this thread: `omp_get_max_threads`.
    pub threads: Option<u32>,
}

/// Returns the OpenMP runtimes that are loaded under their own names. A package that bundles one may have renamed it.
/// Loads none.
pub fn openmp_runtimes() -> Vec<OpenMpRuntime> {
    let describe = |LoadedRuntime { name, path, library }: LoadedRuntime| {
        // SAFETY: every runtime declares the function with this signature.
        let function = unsafe { library.function::<unsafe extern "C" fn() -> c_int>(OPENMP.function) };
        // SAFETY: it may be called by any thread at any time.
        let threads = function.ok().and_then(|function| u32::try_from(unsafe { function() }).ok());
        OpenMpRuntime { name, path, threads }
    };
    loaded_runtimes().into_iter().map(describe).collect()
}

/// Sets the number of threads of parallel regions of this thread in each loaded runtime. Starts no thread, so a forked
/// child may call it.
pub(super) fn set_openmp_threads(threads: c_int) {
    for LoadedRuntime { library, .. } in loaded_runtimes() {
        // SAFETY: every runtime declares the function with this result, and accepts a positive number.
        unsafe { library.call_with_int::<()>(c"omp_set_num_threads", threads) }
    }
}

struct LoadedRuntime {
    name: &'static str,
    path: PathBuf,
    library: Loaded,
}

fn loaded_runtimes() -> Vec<LoadedRuntime> {
    let mut runtimes: Vec<LoadedRuntime> = Vec::new();
    for soname in OPENMP.sonames {
        let Some(library) = open_if_loaded(&OPENMP, Path::new(soname)) else { continue };
        let found = &library.found().path;
        // Without symbolic links, as threadpoolctl reports it.
        let path = found.canonicalize().unwrap_or_else(|_| found.clone());
        if runtimes.iter().any(|known| known.path == path) {
            continue;
        }
        let name =
            soname.split('.').next().unwrap_or(soname).trim_end_matches(|end: char| end.is_ascii_digit());
        runtimes.push(LoadedRuntime { name, path, library });
    }
    runtimes
}

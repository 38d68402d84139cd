//! The OpenMP runtimes of this process.

use std::ffi::c_int;
use std::path::PathBuf;

use super::OPENMP;
use super::loader::open_if_loaded;

/// An OpenMP runtime that is loaded.
///
/// ```
/// use interlock_core::libraries::openmp_runtimes;
///
/// for runtime in openmp_runtimes() {
///     println!("{} from {}: {:?} threads", runtime.name, runtime.path.display(), runtime.threads);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMpRuntime {
    /// `libgomp` (GNU), `libiomp` (Intel) or `libomp` (LLVM).
    pub name: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// How many threads a parallel loop of this thread may have.
    pub threads: Option<u32>,
}

/// The OpenMP runtimes that are in this process under their own names, which a package that brings one along
/// may have changed. Asking loads none.
pub fn openmp_runtimes() -> Vec<OpenMpRuntime> {
    let mut runtimes: Vec<OpenMpRuntime> = Vec::new();
    for soname in OPENMP.sonames {
        let Some(loaded) = open_if_loaded(&OPENMP, soname) else { continue };
        let found = &loaded.found().path;
        // As threadpoolctl tells it: the file itself, without links.
        let path = found.canonicalize().unwrap_or_else(|_| found.clone());
        if runtimes.iter().any(|known| known.path == path) {
            continue;
        }
        // SAFETY: every runtime declares the function so.
        let function = unsafe { loaded.function::<unsafe extern "C" fn() -> c_int>(OPENMP.function) };
        // SAFETY: it may be called by any thread at any time.
        let threads = function.ok().and_then(|function| u32::try_from(unsafe { function() }).ok());
        let name =
            soname.split('.').next().unwrap_or(soname).trim_end_matches(|end: char| end.is_ascii_digit());
        runtimes.push(OpenMpRuntime { name, path, threads });
    }
    runtimes
}

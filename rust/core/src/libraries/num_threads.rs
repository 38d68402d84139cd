//! The number of threads of libraries that run parallel loops of their own.

use std::ffi::c_int;
use std::num::NonZeroUsize;

use super::MKL;
use super::loader::is_loaded;
use super::openmp::set_openmp_threads;

/// Passes the number of threads to MKL and to the OpenMP runtimes that are loaded. Loads none.
pub(crate) fn set_library_threads(threads: NonZeroUsize) {
    let threads = c_int::try_from(threads.get()).unwrap_or(c_int::MAX);
    set_openmp_threads(threads);
    if is_mkl_initialized() {
        set_mkl_threads(threads);
    }
}

/// Returns whether MKL has selected an OpenMP runtime. Its first call does so and loads the runtime, and the parts of
/// MKL that use it.
fn is_mkl_initialized() -> bool {
    let cores: &[&str] = if cfg!(target_os = "macos") {
        &["libmkl_core.2.dylib", "libmkl_core.1.dylib", "libmkl_core.dylib"]
    } else {
        &["libmkl_core.so.3", "libmkl_core.so.2", "libmkl_core.so.1", "libmkl_core.so"]
    };
    cores.iter().any(|soname| is_loaded(soname))
}

/// Sets the number of threads of MKL for all threads of the process.
fn set_mkl_threads(threads: c_int) {
    let Some(mkl) = MKL.loaded_elsewhere() else { return };
    // SAFETY: every release that has one of the functions declares it with this result, and accepts the value. The
    // lower-case names are those of Fortran's functions, which receive a pointer.
    unsafe {
        mkl.call_with_int::<()>(c"MKL_Set_Num_Threads", threads);
        // Removes the number that the calling thread may have set for itself, which takes precedence.
        mkl.call_with_int::<c_int>(c"MKL_Set_Num_Threads_Local", 0);
        // Otherwise MKL uses no more threads than the machine has cores. PyTorch makes this call, too.
        mkl.call_with_int::<()>(c"MKL_Set_Dynamic", 0);
    }
}

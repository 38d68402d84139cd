//! Vendor libraries, found at run time: what they are called, where they are looked for, how their
//! version is asked.
//!
//! Nothing is linked and nothing is loaded before somebody asks for what only the library can answer.
//! That a library is absent is a value.

mod loader;
mod search;
mod system;
mod verbose;
mod version;

use std::path::PathBuf;

use loader::Handle;
pub(crate) use loader::reason_of;
use search::{Home, Places};
pub(crate) use verbose::{LEVELS, forget_other_threads};
pub use verbose::{VerboseLibrary, VerboseScope};
use version::Question;

/// A library that this crate never links.
#[derive(Debug)]
pub struct Library {
    name: &'static str,
    /// The module of `backends` that speaks of it.
    module: &'static str,
    /// The names under which the loader knows it, the preferred first.
    sonames: &'static [&'static str],
    places: Places,
    version: Question,
    handle: Handle,
}

/// Names differ between the two systems, and one list would have every question look for all of them.
const fn named(
    on_linux: &'static [&'static str],
    on_macos: &'static [&'static str],
) -> &'static [&'static str] {
    if cfg!(target_os = "macos") { on_macos } else { on_linux }
}

/// Where every library may be.
const ANYWHERE: Places = Places { homes: &[Home::CONDA], folders: &[] };
/// Where what belongs to CUDA may be.
const CUDA: Places =
    Places { homes: &[Home::CUDA_HOME, Home::CUDA_PATH, Home::CONDA], folders: &["/usr/local/cuda/lib64"] };

const fn library(
    name: &'static str,
    module: &'static str,
    sonames: &'static [&'static str],
    places: Places,
    version: Question,
) -> Library {
    Library { name, module, sonames, places, version, handle: Handle::new() }
}

/// NVIDIA's linear algebra.
pub static CUBLAS: Library = library(
    "cuBLAS",
    "cublas",
    named(&["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"], &[]),
    CUDA,
    Question::None,
);

/// NVIDIA's layers of neural networks.
pub static CUDNN: Library = library(
    "cuDNN",
    "cudnn",
    named(&["libcudnn.so.9", "libcudnn.so.8"], &[]),
    CUDA,
    Question::Number(c"cudnnGetVersion"),
);

/// NVIDIA's products of matrices that are half zeros.
pub static CUSPARSELT: Library = library(
    "cuSPARSELt",
    "cusparselt",
    named(&["libcusparseLt.so.0"], &[]),
    CUDA,
    Question::Properties(c"cusparseLtGetProperty", [1000, 100, 1]),
);

/// Intel's layers of neural networks.
pub static ONEDNN: Library = library(
    "oneDNN",
    "mkldnn",
    named(&["libdnnl.so.3", "libdnnl.so.2"], &["libdnnl.3.dylib", "libdnnl.2.dylib"]),
    ANYWHERE,
    Question::None,
);

/// Intel's linear algebra.
pub static MKL: Library = library(
    "MKL",
    "mkl",
    named(
        &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1"],
        &["libmkl_rt.2.dylib", "libmkl_rt.1.dylib", "libmkl_rt.dylib"],
    ),
    ANYWHERE,
    Question::None,
);

/// The runtime of a compiler's parallel loops: GNU's, Intel's or LLVM's.
pub static OPENMP: Library = library(
    "OpenMP",
    "openmp",
    named(
        &["libgomp.so.1", "libiomp5.so", "libomp.so", "libomp.so.5"],
        &["libomp.dylib", "libiomp5.dylib", "libgomp.1.dylib"],
    ),
    ANYWHERE,
    Question::None,
);

static LIBRARIES: [&Library; 6] = [&CUBLAS, &CUDNN, &CUSPARSELT, &ONEDNN, &MKL, &OPENMP];

/// The library of which the module `backends.MODULE` speaks.
pub fn find(module: &str) -> Option<&'static Library> {
    LIBRARIES.into_iter().find(|library| library.module == module)
}

impl Library {
    /// The name as its makers write it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether somebody has loaded it into this process; looking does not load it.
    pub fn is_loaded(&self) -> bool {
        self.sonames.iter().any(|soname| loader::loaded_already(soname).is_some())
    }

    /// Whether it is loaded or the search finds a file of its name; looking does not load it.
    pub fn is_available(&self) -> bool {
        self.is_loaded() || self.files().next().is_some()
    }

    /// The version that the library itself answers, in its makers' own counting. The first call loads
    /// it; `None` where it is absent, can't be loaded or has no such question.
    pub fn version(&self) -> Option<u64> {
        self.version.ask(self)
    }

    /// The files that may be this library, in the order of the search.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        search::folders(self)
            .flat_map(|folder| self.sonames.iter().map(move |soname| folder.join(soname)))
            .filter(|file| file.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_is_found_by_its_module() {
        for library in LIBRARIES {
            assert!(find(library.module).is_some_and(|found| std::ptr::eq(found, library)));
        }
        assert!(find("cudn").is_none());
    }

    #[test]
    fn every_library_has_a_name_on_linux() {
        if cfg!(target_os = "linux") {
            assert!(LIBRARIES.iter().all(|library| !library.sonames.is_empty()));
        }
    }
}

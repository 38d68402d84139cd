//! The table of vendor libraries.

use super::search::{InstallPrefix, SearchPaths};
use super::version::VersionQuery;
use super::{Handle, Library};
use crate::base::env;
use crate::base::suggest::suggest;
use crate::base::sync::TryLock;
use crate::{Error, Result};

/// The search paths of a CUDA library, with its subfolders of Python's packages: those of CUDA 13, which has one for
/// most libraries, and of CUDA 12.
const fn cuda(package_folders: &'static [&'static str]) -> SearchPaths {
    SearchPaths {
        package_folders,
        in_python_prefix: false,
        prefixes: &[InstallPrefix::CUDA_HOME, InstallPrefix::CUDA_PATH, InstallPrefix::CONDA],
        folders: &["/usr/local/cuda/lib64"],
    }
}

/// The search paths of a library that is installed into the prefix of Python.
const IN_PREFIX: SearchPaths = SearchPaths {
    package_folders: &[],
    in_python_prefix: true,
    prefixes: &[InstallPrefix::CONDA],
    folders: &[],
};

/// The search paths of OpenBLAS: the folders of the wheels that bring it, on Linux and on macOS, and those of conda.
const OF_NUMPY: SearchPaths = SearchPaths {
    package_folders: &[
        "numpy.libs",
        "numpy/.dylibs",
        "scipy.libs",
        "scipy/.dylibs",
        "scipy_openblas64/lib",
        "scipy_openblas32/lib",
    ],
    ..IN_PREFIX
};

/// The search paths of a library that a driver installs: only those of the system.
const OF_SYSTEM: SearchPaths =
    SearchPaths { package_folders: &[], in_python_prefix: false, prefixes: &[], folders: &[] };

/// Declares the libraries, sorted by name. The columns are the name, the title, a function that only this library has, with
/// its names in other builds, its files on Linux and on macOS, the search paths, and how its version is queried.
macro_rules! libraries {
    ($($(#[$doc:meta])* $library:ident = $name:literal $title:literal [$function:literal $(, $alias:literal)*]
        $on_linux:expr, $on_macos:expr, $search_paths:expr, $version:expr;)+) => {
        $(
            $(#[$doc])*
            pub static $library: Library = Library {
                name: $name,
                title: $title,
                // One list for both systems would make every search try all names.
                sonames: if cfg!(target_os = "macos") { $on_macos } else { $on_linux },
                function: $function,
                aliases: &[$($alias),*],
                search_paths: $search_paths,
                version: $version,
                handle: Handle::new(),
                last_search: TryLock::new(None),
            };
        )+

        /// Every library, by name.
        pub static ALL: [&Library; [$($name),+].len()] = [$(&$library),+];
    };
}

libraries! {
    /// NVIDIA's linear algebra.
    CUBLAS = "cublas" "cuBLAS" [c"cublasGetProperty"]
        &["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"], &[],
        cuda(&["nvidia/cu13/lib", "nvidia/cublas/lib"]), VersionQuery::Properties(None);

    /// NVIDIA's matrix products with fused epilogues.
    CUBLASLT = "cublaslt" "cuBLASLt" [c"cublasLtGetProperty"]
        &["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"], &[],
        cuda(&["nvidia/cu13/lib", "nvidia/cublas/lib"]), VersionQuery::Properties(None);

    /// NVIDIA's deep neural network primitives.
    CUDNN = "cudnn" "cuDNN" [c"cudnnGetVersion"]
        &["libcudnn.so.9", "libcudnn.so.8"], &[], cuda(&["nvidia/cudnn/lib"]), VersionQuery::Size;

    /// NVIDIA's Fourier transforms.
    CUFFT = "cufft" "cuFFT" [c"cufftGetProperty"]
        &["libcufft.so.12", "libcufft.so.11", "libcufft.so.10"], &[],
        cuda(&["nvidia/cu13/lib", "nvidia/cufft/lib"]), VersionQuery::Properties(None);

    /// NVIDIA's random numbers.
    CURAND = "curand" "cuRAND" [c"curandGetProperty"]
        &["libcurand.so.10"], &[], cuda(&["nvidia/cu13/lib", "nvidia/curand/lib"]), VersionQuery::Properties(None);

    /// NVIDIA's decompositions and solvers.
    CUSOLVER = "cusolver" "cuSOLVER" [c"cusolverGetProperty"]
        &["libcusolver.so.12", "libcusolver.so.11"], &[],
        cuda(&["nvidia/cu13/lib", "nvidia/cusolver/lib"]), VersionQuery::Properties(None);

    /// NVIDIA's sparse matrices.
    CUSPARSE = "cusparse" "cuSPARSE" [c"cusparseGetProperty"]
        &["libcusparse.so.12", "libcusparse.so.11"], &[],
        cuda(&["nvidia/cu13/lib", "nvidia/cusparse/lib"]), VersionQuery::Properties(None);

    /// NVIDIA's matrix products with structured sparsity.
    // While the major version was 0, the header used the weight 1000 for it, which makes no difference.
    CUSPARSELT = "cusparselt" "cuSPARSELt" [c"cusparseLtGetProperty"]
        &["libcusparseLt.so.0"], &[], cuda(&["nvidia/cu13/lib", "nvidia/cusparselt/lib"]),
        VersionQuery::Properties(Some([1_000_000, 100, 1]));

    /// Intel's linear algebra.
    MKL = "mkl" "MKL" [c"MKL_Verbose"]
        &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1"],
        &["libmkl_rt.2.dylib", "libmkl_rt.1.dylib", "libmkl_rt.dylib"], IN_PREFIX, VersionQuery::Mkl;

    /// NVIDIA's collective communication between GPUs.
    NCCL = "nccl" "NCCL" [c"ncclGetVersion"]
        &["libnccl.so.2"], &[], cuda(&["nvidia/nccl/lib"]), VersionQuery::Number;

    /// NVIDIA's management library, which the driver installs.
    NVML = "nvml" "NVML" [c"nvmlInit_v2"] &["libnvidia-ml.so.1"], &[], OF_SYSTEM, VersionQuery::Nvml;

    /// NVIDIA's run-time compiler of CUDA C++.
    NVRTC = "nvrtc" "NVRTC" [c"nvrtcVersion"]
        &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"], &[],
        cuda(&["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"]), VersionQuery::Pair;

    /// Intel's deep neural network primitives.
    ONEDNN = "onednn" "oneDNN" [c"dnnl_set_verbose"]
        &["libdnnl.so.3", "libdnnl.so.2"], &["libdnnl.3.dylib", "libdnnl.2.dylib"], IN_PREFIX, VersionQuery::OneDnn;

    /// OpenBLAS, also the builds in the wheels of numpy and scipy, whose file names end with a hash.
    OPENBLAS = "openblas" "OpenBLAS"
        [c"openblas_get_config", c"openblas_get_config64_", c"scipy_openblas_get_config", c"scipy_openblas_get_config64_"]
        &["libscipy_openblas*.so", "libopenblas.so.0"], &["libscipy_openblas*.dylib", "libopenblas.0.dylib"],
        OF_NUMPY, VersionQuery::OpenBlas;

    /// The OpenMP runtime of GNU, Intel or LLVM.
    OPENMP = "openmp" "OpenMP" [c"omp_get_max_threads"]
        &["libgomp.so.1", "libiomp5.so", "libomp.so", "libomp.so.5"],
        &["libomp.dylib", "libiomp5.dylib", "libgomp.1.dylib"], IN_PREFIX, VersionQuery::None;
}

/// Returns the library with this name; fails with `Error::UnknownLibrary` for any other.
pub fn find(name: &str) -> Result<&'static Library> {
    let names = || ALL.into_iter().map(|library| library.name);
    ALL.into_iter().find(|library| library.name == name).ok_or_else(|| Error::UnknownLibrary {
        name: name.to_owned(),
        suggestion: suggest(&name.to_lowercase(), names()),
        allowed: names().collect::<Vec<_>>().join(", "),
    })
}

/// Iterates over the environment variables of user-supplied paths.
pub fn variables() -> impl Iterator<Item = String> {
    ALL.into_iter().map(|library| env::library_variable(library.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_returns_every_library_and_suggests_similar_names() {
        for library in ALL {
            assert!(find(library.name).is_ok_and(|found| std::ptr::eq(found, library)));
        }
        assert!(ALL.is_sorted_by_key(|library| library.name));
        for misspelt in ["cudn", "CUDNN"] {
            assert!(find(misspelt).unwrap_err().to_string().contains("\"cudnn\""));
        }
    }

    #[test]
    fn every_library_has_a_file_name_on_linux() {
        if cfg!(target_os = "linux") {
            assert!(ALL.iter().all(|library| !library.sonames.is_empty()));
        }
    }
}

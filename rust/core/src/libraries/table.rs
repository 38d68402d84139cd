//! Every vendor library, in one table.

use std::ffi::CStr;

use super::search::{Home, Places};
use super::version::Question;
use super::{Handle, Library};
use crate::base::env;
use crate::base::suggest::suggest;
use crate::base::sync::TryLock;
use crate::{Error, Result};

/// Names differ between the two systems, and one list would have every question look for all of them.
const fn named(
    on_linux: &'static [&'static str],
    on_macos: &'static [&'static str],
) -> &'static [&'static str] {
    if cfg!(target_os = "macos") { on_macos } else { on_linux }
}

/// Where what belongs to CUDA may be, with its folders below Python's packages: those of CUDA 13, which has one
/// for most libraries, and of CUDA 12.
const fn cuda(in_packages: &'static [&'static str]) -> Places {
    Places {
        in_packages,
        is_in_prefix: false,
        homes: &[Home::CUDA_HOME, Home::CUDA_PATH, Home::CONDA],
        folders: &["/usr/local/cuda/lib64"],
    }
}

/// Where what is installed with Python packages, and not below them, may be.
const IN_PREFIX: Places =
    Places { in_packages: &[], is_in_prefix: true, homes: &[Home::CONDA], folders: &[] };

/// Where what comes with a driver is: the system knows.
const OF_SYSTEM: Places = Places { in_packages: &[], is_in_prefix: false, homes: &[], folders: &[] };

const fn library(
    (name, title): (&'static str, &'static str),
    sonames: &'static [&'static str],
    function: &'static CStr,
    places: Places,
    version: Question,
) -> Library {
    Library {
        name,
        title,
        sonames,
        function,
        places,
        version,
        handle: Handle::new(),
        looked: TryLock::new(None),
    }
}

/// NVIDIA's linear algebra.
pub static CUBLAS: Library = library(
    ("cublas", "cuBLAS"),
    named(&["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"], &[]),
    c"cublasGetProperty",
    cuda(&["nvidia/cu13/lib", "nvidia/cublas/lib"]),
    Question::Properties(c"cublasGetProperty", None),
);

/// NVIDIA's products of matrices with operations before and after them.
pub static CUBLASLT: Library = library(
    ("cublaslt", "cuBLASLt"),
    named(&["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"], &[]),
    c"cublasLtGetProperty",
    cuda(&["nvidia/cu13/lib", "nvidia/cublas/lib"]),
    Question::Properties(c"cublasLtGetProperty", None),
);

/// NVIDIA's layers of neural networks.
pub static CUDNN: Library = library(
    ("cudnn", "cuDNN"),
    named(&["libcudnn.so.9", "libcudnn.so.8"], &[]),
    c"cudnnGetVersion",
    cuda(&["nvidia/cudnn/lib"]),
    Question::Size(c"cudnnGetVersion"),
);

/// NVIDIA's Fourier transforms.
pub static CUFFT: Library = library(
    ("cufft", "cuFFT"),
    named(&["libcufft.so.12", "libcufft.so.11", "libcufft.so.10"], &[]),
    c"cufftGetProperty",
    cuda(&["nvidia/cu13/lib", "nvidia/cufft/lib"]),
    Question::Properties(c"cufftGetProperty", None),
);

/// NVIDIA's random numbers.
pub static CURAND: Library = library(
    ("curand", "cuRAND"),
    named(&["libcurand.so.10"], &[]),
    c"curandGetProperty",
    cuda(&["nvidia/cu13/lib", "nvidia/curand/lib"]),
    Question::Properties(c"curandGetProperty", None),
);

/// NVIDIA's decompositions and solvers.
pub static CUSOLVER: Library = library(
    ("cusolver", "cuSOLVER"),
    named(&["libcusolver.so.12", "libcusolver.so.11"], &[]),
    c"cusolverGetProperty",
    cuda(&["nvidia/cu13/lib", "nvidia/cusolver/lib"]),
    Question::Properties(c"cusolverGetProperty", None),
);

/// NVIDIA's sparse matrices.
pub static CUSPARSE: Library = library(
    ("cusparse", "cuSPARSE"),
    named(&["libcusparse.so.12", "libcusparse.so.11"], &[]),
    c"cusparseGetProperty",
    cuda(&["nvidia/cu13/lib", "nvidia/cusparse/lib"]),
    Question::Properties(c"cusparseGetProperty", None),
);

/// NVIDIA's products of matrices that are half zeros.
pub static CUSPARSELT: Library = library(
    ("cusparselt", "cuSPARSELt"),
    named(&["libcusparseLt.so.0"], &[]),
    c"cusparseLtGetProperty",
    cuda(&["nvidia/cu13/lib", "nvidia/cusparselt/lib"]),
    // Its header counted a thousand for the major version while that was 0.
    Question::Properties(c"cusparseLtGetProperty", Some([1_000_000, 100, 1])),
);

/// Intel's linear algebra.
pub static MKL: Library = library(
    ("mkl", "MKL"),
    named(
        &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1"],
        &["libmkl_rt.2.dylib", "libmkl_rt.1.dylib", "libmkl_rt.dylib"],
    ),
    c"MKL_Verbose",
    IN_PREFIX,
    Question::Mkl,
);

/// NVIDIA's communication between GPUs.
pub static NCCL: Library = library(
    ("nccl", "NCCL"),
    named(&["libnccl.so.2"], &[]),
    c"ncclGetVersion",
    cuda(&["nvidia/nccl/lib"]),
    Question::Number(c"ncclGetVersion"),
);

/// NVIDIA's management of GPUs, which comes with the driver.
pub static NVML: Library =
    library(("nvml", "NVML"), named(&["libnvidia-ml.so.1"], &[]), c"nvmlInit_v2", OF_SYSTEM, Question::Nvml);

/// NVIDIA's compiler of kernels.
pub static NVRTC: Library = library(
    ("nvrtc", "NVRTC"),
    named(&["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"], &[]),
    c"nvrtcVersion",
    cuda(&["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"]),
    Question::Pair(c"nvrtcVersion"),
);

/// Intel's layers of neural networks.
pub static ONEDNN: Library = library(
    ("onednn", "oneDNN"),
    named(&["libdnnl.so.3", "libdnnl.so.2"], &["libdnnl.3.dylib", "libdnnl.2.dylib"]),
    c"dnnl_set_verbose",
    IN_PREFIX,
    Question::OneDnn,
);

/// The runtime of a compiler's parallel loops: GNU's, Intel's or LLVM's.
pub static OPENMP: Library = library(
    ("openmp", "OpenMP"),
    named(
        &["libgomp.so.1", "libiomp5.so", "libomp.so", "libomp.so.5"],
        &["libomp.dylib", "libiomp5.dylib", "libgomp.1.dylib"],
    ),
    c"omp_get_max_threads",
    IN_PREFIX,
    Question::None,
);

/// Every library, by name.
pub static ALL: [&Library; 14] = [
    &CUBLAS,
    &CUBLASLT,
    &CUDNN,
    &CUFFT,
    &CURAND,
    &CUSOLVER,
    &CUSPARSE,
    &CUSPARSELT,
    &MKL,
    &NCCL,
    &NVML,
    &NVRTC,
    &ONEDNN,
    &OPENMP,
];

/// The library of this name; `Error::UnknownLibrary` for any other.
pub fn find(name: &str) -> Result<&'static Library> {
    let names = || ALL.into_iter().map(|library| library.name);
    ALL.into_iter().find(|library| library.name == name).ok_or_else(|| Error::UnknownLibrary {
        name: name.to_owned(),
        near: suggest(&name.to_lowercase(), names()),
        allowed: names().collect::<Vec<_>>().join(", "),
    })
}

/// The environment variables with which a user gives the paths of libraries.
pub fn variables() -> impl Iterator<Item = String> {
    ALL.into_iter().map(|library| env::variable_of_library(library.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_is_found_by_its_name_and_they_are_in_order() {
        for library in ALL {
            assert!(find(library.name).is_ok_and(|found| std::ptr::eq(found, library)));
        }
        assert!(ALL.is_sorted_by_key(|library| library.name));
        for near in ["cudn", "CUDNN"] {
            assert!(find(near).unwrap_err().to_string().contains("\"cudnn\""));
        }
    }

    #[test]
    fn every_library_has_a_name_on_linux() {
        if cfg!(target_os = "linux") {
            assert!(ALL.iter().all(|library| !library.sonames.is_empty()));
        }
    }
}

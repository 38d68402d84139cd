"""Every vendor library: a fake, its folder in packages, and the reported version."""

from __future__ import annotations

from typing import NamedTuple

from tests.helpers import fake_libraries


class Row(NamedTuple):
    """A vendor library."""

    title: str
    soname: str
    source: str
    version: str | None
    folders: tuple[str, ...] = ()
    """Folders below site-packages; none for libraries in `lib` of a prefix, or of a driver."""


def properties(function: str) -> str:
    return fake_libraries.PROPERTIES % (function, 13, 10, 1)


def in_wheels(name: str) -> tuple[str, str]:
    """Return the folders of the wheels for CUDA 13 and 12."""
    return "nvidia/cu13/lib", f"nvidia/{name}/lib"


LIBRARIES = {
    "cublas": Row(
        "cuBLAS", "libcublas.so.13", properties("cublasGetProperty"), "13.10.1", in_wheels("cublas")
    ),
    "cublaslt": Row(
        "cuBLASLt", "libcublasLt.so.13", properties("cublasLtGetProperty"), "13.10.1", in_wheels("cublas")
    ),
    "cudnn": Row("cuDNN", "libcudnn.so.9", fake_libraries.CUDNN % 92_800, "9.28.0", ("nvidia/cudnn/lib",)),
    "cufft": Row("cuFFT", "libcufft.so.12", properties("cufftGetProperty"), "13.10.1", in_wheels("cufft")),
    "curand": Row(
        "cuRAND", "libcurand.so.10", properties("curandGetProperty"), "13.10.1", in_wheels("curand")
    ),
    "cusolver": Row(
        "cuSOLVER", "libcusolver.so.12", properties("cusolverGetProperty"), "13.10.1", in_wheels("cusolver")
    ),
    "cusparse": Row(
        "cuSPARSE", "libcusparse.so.12", properties("cusparseGetProperty"), "13.10.1", in_wheels("cusparse")
    ),
    "cusparselt": Row(
        "cuSPARSELt",
        "libcusparseLt.so.0",
        fake_libraries.CUSPARSELT % (0, 10, 0),
        "0.10.0",
        in_wheels("cusparselt"),
    ),
    "mkl": Row("MKL", "libmkl_rt.so.3", fake_libraries.MKL, "2026.2"),
    "nccl": Row("NCCL", "libnccl.so.2", fake_libraries.NCCL % 23_203, "2.32.3", ("nvidia/nccl/lib",)),
    "nvml": Row("NVML", "libnvidia-ml.so.1", fake_libraries.NVML % 580, "12.580.1"),
    "nvrtc": Row("NVRTC", "libnvrtc.so.13", fake_libraries.NVRTC % (13, 5), "13.5", in_wheels("cuda_nvrtc")),
    "onednn": Row("oneDNN", "libdnnl.so.3", fake_libraries.ONEDNN, "3.2.1"),
    "openblas": Row(
        "OpenBLAS",
        "libscipy_openblas64_-1f0a.so",
        fake_libraries.OPENBLAS,
        "0.3.31",
        ("numpy.libs", "scipy.libs", "scipy_openblas64/lib", "scipy_openblas32/lib"),
    ),
    "openmp": Row("OpenMP", "libgomp.so.1", fake_libraries.OPENMP % 7, None),
}

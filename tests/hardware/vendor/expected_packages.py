"""The libraries that `make test-vendor` installs, as described by their packages."""

from __future__ import annotations

import re
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

PACKAGES = Path(sysconfig.get_path("purelib"))
CUDA_13 = PACKAGES / "nvidia" / "cu13" / "lib"
# The packages of CUDA 12 have one folder each.
NVRTC_12 = PACKAGES / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
# The folder of libraries of Intel's packages.
PREFIX = Path(sys.prefix) / "lib"


class Packed(NamedTuple):
    """A library in a package."""

    package: str
    file: Path
    """The path of the library."""
    parts: int
    """The number of version parts that the library reports; 0 if it has no version function."""
    brings: frozenset[str]
    """The libraries (names without versions) that loading it and querying its version load."""

    def version(self) -> str | None:
        """Return the package's version, reduced to the parts that the library reports."""
        reported = (
            in_readme(self.package) if self.package == "onednn-cpu-gomp" else metadata.version(self.package)
        )
        return ".".join(reported.split(".")[: self.parts]) if self.parts else None


def in_readme(package: str) -> str:
    """Return the version in a package's README: oneDNN's packages have their own numbering."""
    (readme,) = (file for file in metadata.files(package) or [] if file.name == "README")
    found = re.search(r"contains oneDNN v([\d.]+) ", readme.read_text())
    assert found is not None
    return found[1]


def packed(package: str, file: Path, parts: int, *brings: str) -> Packed:
    """Return a library that loads itself and the named ones."""
    return Packed(package, file, parts, frozenset({stem(file), *brings}))


def stem(file: str | Path) -> str:
    """Return the name of a library's file without versions: `libcudnn` of `libcudnn.so.9`."""
    return Path(file).name.partition(".so")[0]


LIBRARIES = {
    "cublas": packed("nvidia-cublas", CUDA_13 / "libcublas.so.13", 3, "libcublasLt"),
    "cublaslt": packed("nvidia-cublas", CUDA_13 / "libcublasLt.so.13", 3),
    # Its parts are loaded on use, and one of them by the version query.
    "cudnn": packed(
        "nvidia-cudnn-cu13", PACKAGES / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9", 3, "libcudnn_graph"
    ),
    "cufft": packed("nvidia-cufft", CUDA_13 / "libcufft.so.12", 3),
    "curand": packed("nvidia-curand", CUDA_13 / "libcurand.so.10", 3, "libcudart"),
    "cusolver": packed(
        "nvidia-cusolver",
        CUDA_13 / "libcusolver.so.12",
        3,
        *("libcublas", "libcublasLt", "libcusparse", "libnvJitLink"),
    ),
    "cusparse": packed("nvidia-cusparse", CUDA_13 / "libcusparse.so.12", 3),
    "cusparselt": packed("nvidia-cusparselt-cu13", CUDA_13 / "libcusparseLt.so.0", 3),
    # The library that selects kernels, without the kernels.
    "mkl": packed(
        "mkl",
        PREFIX / "libmkl_rt.so.3",
        2,
        *("libmkl_core", "libmkl_intel_lp64", "libmkl_intel_thread", "libiomp5"),
    ),
    "nccl": packed("nvidia-nccl-cu13", PACKAGES / "nvidia" / "nccl" / "lib" / "libnccl.so.2", 3),
    "nvrtc": packed("nvidia-cuda-nvrtc", CUDA_13 / "libnvrtc.so.13", 2),
    "onednn": packed("onednn-cpu-gomp", PREFIX / "libdnnl.so.3", 3, "libgomp"),
    "openblas": packed(
        "scipy-openblas64", PACKAGES / "scipy_openblas64" / "lib" / "libscipy_openblas64_.so", 5
    ),
    "openmp": packed("intel-openmp", PREFIX / "libiomp5.so", 0),
}
# NVML is a part of NVIDIA's driver, and the file of OpenBLAS in the wheel of numpy has a hash in its name.
NOT_PACKED = {"nvml"}

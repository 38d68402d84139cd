"""The libraries that `make test-vendor` installs: what their packages say of them."""

from __future__ import annotations

import re
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

PACKAGES = Path(sysconfig.get_path("purelib"))
CUDA_13 = PACKAGES / "nvidia" / "cu13" / "lib"
# The packages of CUDA 12 have a folder each.
NVRTC_12 = PACKAGES / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
# Where Intel's packages put libraries.
PREFIX = Path(sys.prefix) / "lib"


class Packed(NamedTuple):
    """A library in a package."""

    package: str
    file: Path
    """Where it lies."""
    parts: int
    """How many parts of its version it tells; 0 where it can't be asked."""
    brings: frozenset[str]
    """The libraries, without their versions, that loading it and asking for its version brings along."""

    def version(self) -> str | None:
        """Return the package's version as far as the library tells it."""
        reported = (
            in_readme(self.package) if self.package == "onednn-cpu-gomp" else metadata.version(self.package)
        )
        return ".".join(reported.split(".")[: self.parts]) if self.parts else None


def in_readme(package: str) -> str:
    """Return the version that a package's README tells: oneDNN's packages have a counting of their own."""
    (readme,) = (file for file in metadata.files(package) or [] if file.name == "README")
    found = re.search(r"contains oneDNN v([\d.]+) ", readme.read_text())
    assert found is not None
    return found[1]


def packed(package: str, file: Path, parts: int, *brings: str) -> Packed:
    """Return a library that brings along itself and what is named."""
    return Packed(package, file, parts, frozenset({stem(file), *brings}))


def stem(file: str | Path) -> str:
    """Return the name of a library's file without versions: `libcudnn` of `libcudnn.so.9`."""
    return Path(file).name.partition(".so")[0]


LIBRARIES = {
    "cublas": packed("nvidia-cublas", CUDA_13 / "libcublas.so.13", 3, "libcublasLt"),
    "cublaslt": packed("nvidia-cublas", CUDA_13 / "libcublasLt.so.13", 3),
    # Its parts come when they are used, and one with the question for its version.
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
    # What chooses among kernels, and no kernels.
    "mkl": packed(
        "mkl",
        PREFIX / "libmkl_rt.so.3",
        2,
        *("libmkl_core", "libmkl_intel_lp64", "libmkl_intel_thread", "libiomp5"),
    ),
    "nccl": packed("nvidia-nccl-cu13", PACKAGES / "nvidia" / "nccl" / "lib" / "libnccl.so.2", 3),
    "nvrtc": packed("nvidia-cuda-nvrtc", CUDA_13 / "libnvrtc.so.13", 2),
    "onednn": packed("onednn-cpu-gomp", PREFIX / "libdnnl.so.3", 3, "libgomp"),
    "openmp": packed("intel-openmp", PREFIX / "libiomp5.so", 0),
}
# Comes with NVIDIA's driver and in no package.
NOT_PACKED = {"nvml"}

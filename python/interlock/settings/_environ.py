"""The environment variables that numerical libraries read, as settings: `environ.OMP_NUM_THREADS`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from interlock._quote import shown
from interlock.errors import SettingValueError
from interlock.settings._observer import Observer
from interlock.settings._setting import Setting

IMPORTED = None
PACKAGES = ("os", "collections.abc", "_collections_abc")

ENVIRON = "environ."
"""The prefix of environment variables among the names of settings."""
ONNXRUNTIME = "ORT_INTRA_OP_NUM_THREADS"
RAYON = "RAYON_NUM_THREADS"
POOLS: Mapping[str, tuple[str, ...]] = {
    "openblas": ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"),
    "mkl": ("MKL_NUM_THREADS", "OMP_NUM_THREADS"),
    "blis": ("BLIS_NUM_THREADS", "OMP_NUM_THREADS"),
    "flexiblas": ("OMP_NUM_THREADS",),
    "openmp": ("OMP_NUM_THREADS",),
    "numexpr": ("NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"),
    "interlock": ("OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    "torch": ("OMP_NUM_THREADS", "MKL_NUM_THREADS"),
}
"""The variables that a library reads for the size of its pool, the one that it prefers first."""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""The variables that together set the pools of BLAS libraries and OpenMP runtimes that start later."""

# Modules that start threads of OpenMP or BLAS at their import.
_OPENMP = ("torch", "numpy", "scipy", "sklearn", "numba", "jax")
THREADS: Mapping[str, tuple[str, ...]] = {
    "OMP_NUM_THREADS": _OPENMP,
    "MKL_NUM_THREADS": _OPENMP,
    "OPENBLAS_NUM_THREADS": _OPENMP,
    "BLIS_NUM_THREADS": _OPENMP,
    "VECLIB_MAXIMUM_THREADS": _OPENMP,
    "NUMEXPR_MAX_THREADS": ("numexpr",),
    "NUMEXPR_NUM_THREADS": ("numexpr",),
    "NUMBA_NUM_THREADS": (),
    ONNXRUNTIME: (),
    RAYON: (),
}
"""Variables for the number of threads, with the modules whose import is the last moment to write them."""
# JAX reads a variable for each of its options, NumPy some for its C code.
_AT_IMPORT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "JAX_CHECK_TRACER_LEAKS",
            "JAX_COMPILATION_CACHE_DIR",
            "JAX_DEBUG_INFS",
            "JAX_DEBUG_NANS",
            "JAX_DEFAULT_MATMUL_PRECISION",
            "JAX_DISABLE_JIT",
            "JAX_ENABLE_X64",
            "JAX_LOG_COMPILES",
            "JAX_NUMPY_DTYPE_PROMOTION",
            "JAX_NUMPY_RANK_PROMOTION",
            "JAX_NUM_CPU_DEVICES",
            "JAX_PLATFORMS",
            "JAX_PLATFORM_NAME",
            "JAX_TRANSFER_GUARD",
        ),
        ("jax",),
    ),
    **dict.fromkeys(
        (
            "NPY_DISABLE_CPU_FEATURES",
            "NPY_ENABLE_CPU_FEATURES",
            "NPY_PROMOTION_STATE",
            "NUMPY_MADVISE_HUGEPAGE",
            "NUMPY_WARN_IF_NO_MEM_POLICY",
        ),
        ("numpy",),
    ),
}
_OTHERS = (
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "KMP_AFFINITY",
    "KMP_DUPLICATE_LIB_OK",
    "KMP_INIT_AT_FORK",
    "NCCL_DEBUG",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_PROC_BIND",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ENABLE_MPS_FALLBACK",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
    "TF_CPP_MIN_LOG_LEVEL",
    "TOKENIZERS_PARALLELISM",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_CPP_LOG_LEVEL",
    "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
)
NAMES = frozenset((*THREADS, *_AT_IMPORT, *_OTHERS))
"""The variables that are settings."""
_NOTE = "A library reads it once, at its start: a later write has no effect."


def install(observer: Observer) -> Iterable[Setting]:
    """Return the variables, and wrap the methods of `os.environ` that write them."""
    rows = [environment_setting(name) for name in (*THREADS, *_AT_IMPORT, *_OTHERS)]
    by_name = {row.name.removeprefix(ENVIRON): row for row in rows}

    def written(arguments: tuple[Any, ...]) -> Sequence[Setting]:
        # Python reports missing arguments.
        environ, name = arguments[:2] if len(arguments) > 1 else (None, None)
        if environ is os.environb and isinstance(name, bytes):
            name = os.fsdecode(name)
        elif environ is not os.environ or not isinstance(name, str):
            return []
        return [by_name[name]] if name in by_name else []

    for method in ("__setitem__", "__delitem__"):
        observer.wrap_selecting(type(os.environ), method, written)
    return rows


@cache
def environment_setting(name: str) -> Setting:
    """Return an environment variable as a setting: the same object for each call."""
    return Setting(
        f"{ENVIRON}{name}",
        get=partial(os.environ.get, name),
        set=partial(_set, name),
        convert=_text,
        note=_NOTE,
        doc="The number of threads of a library." if name in THREADS else "",
        writer_arguments=(os.environ, name),
        too_late=partial(too_late, name),
    )


def too_late(name: str) -> str:
    """Return which modules that read a variable at their import are imported; an empty text if none is."""
    readers = THREADS.get(name) or _AT_IMPORT.get(name, ())
    loaded = [reader for reader in readers if reader in sys.modules]
    return f"{', '.join(loaded)} imported before" if loaded else ""


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SettingValueError(f"must be a str or None, got {shown(value)}")
    return value


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value

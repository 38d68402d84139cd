"""The environment variables that numerical libraries read, as settings: `environ.OMP_NUM_THREADS`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any

from interlock._quote import shown
from interlock.errors import SettingValueError
from interlock.settings._observer import Observer
from interlock.settings._setting import Setting

IMPORTED = None
PACKAGES = ("os", "collections.abc", "_collections_abc")
GROUPS: tuple[tuple[str, str], ...] = ()

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
_OTHERS = (
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "JAX_ENABLE_X64",
    "JAX_PLATFORMS",
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
)
_NOTE = "A library reads it once, at its start: a later write has no effect."


def install(observer: Observer) -> Iterable[Setting]:
    """Return the variables, and wrap the methods of `os.environ` that write them."""
    rows = [environment_setting(name) for name in (*THREADS, *_OTHERS)]
    for method in ("__setitem__", "__delitem__"):
        observer.wrap(type(os.environ), method, rows)
    return rows


@cache
def environment_setting(name: str) -> Setting:
    """Return an environment variable as a setting: the same object for each call."""
    return Setting(
        f"environ.{name}",
        get=partial(os.environ.get, name),
        set=partial(_set, name),
        convert=_text,
        note=_NOTE,
        doc="The number of threads of a library." if name in THREADS else "",
        writer_arguments=(os.environ, name),
    )


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SettingValueError(f"must be a str or None, got {shown(value)}")
    return value


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value

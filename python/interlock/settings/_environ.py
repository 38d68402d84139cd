"""The environment variables that numerical libraries read, as settings: `environ.OMP_NUM_THREADS`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import Any

from interlock._quote import shown
from interlock.errors import SettingValueError
from interlock.settings._observer import Observer
from interlock.settings._setting import Setting

IMPORTED = None
PACKAGES = ("os", "collections.abc", "_collections_abc")
GROUPS: tuple[tuple[str, str], ...] = ()

THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
"""Variables that a library reads once, when it starts its threads."""
_OTHERS = (
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "JAX_ENABLE_X64",
    "JAX_PLATFORMS",
    "KMP_AFFINITY",
    "KMP_DUPLICATE_LIB_OK",
    "NCCL_DEBUG",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_PROC_BIND",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TOKENIZERS_PARALLELISM",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "XLA_FLAGS",
)
_NOTE = "A library reads it once, at its start: a later write has no effect."


def install(observer: Observer) -> Iterable[Setting]:
    """Return the variables, and wrap the methods of `os.environ` that write them."""
    rows = [
        Setting(
            f"environ.{name}",
            get=partial(os.environ.get, name),
            set=partial(_set, name),
            convert=_text,
            note=_NOTE,
            doc="The number of threads of a library." if name in THREADS else "",
            writer_arguments=(os.environ, name),
        )
        for name in (*THREADS, *_OTHERS)
    ]
    for method in ("__setitem__", "__delitem__"):
        observer.wrap(type(os.environ), method, rows)
    return rows


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SettingValueError(f"must be a str or None, got {shown(value)}")
    return value


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value

"""OpenMP: the runtime of a compiler's parallel loops."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

from interlock._core import backends as _native

__all__ = ["Runtime", "is_available", "runtimes"]


class Runtime(NamedTuple):
    """An OpenMP runtime of this process."""

    name: str
    """`libgomp` (GNU), `libiomp` (Intel) or `libomp` (LLVM)."""
    path: str
    """Its file."""
    version: str | None
    """None where it does not tell."""
    threads: int | None
    """How many threads a parallel loop of this thread may have; None where it does not tell."""


def is_available() -> bool:
    """Return whether an OpenMP runtime (GNU's, Intel's or LLVM's) is loaded or would be found.

    Looking does not load it. interlock itself uses threads of its own. Raises `LibraryPathError` where
    `INTERLOCK_OPENMP_PATH` gives a path at which there is none.
    """
    return _native.library_is_available("openmp")


def runtimes() -> list[Runtime]:
    """Return the OpenMP runtimes that are loaded, and their limits of threads. Asking loads none.

    More than one in a process is a common cause of slow loops. Where the package threadpoolctl is installed
    (`interlock[openmp]` installs it) it is asked, which also knows runtimes that a package brings along under
    names of its own; not while MKL is loaded, whose functions it would call.
    """
    # The first function of MKL that anybody calls decides which runtime it uses, and loads that.
    found = None if _native.library_is_loaded("mkl") else _by_threadpoolctl()
    if found is not None:
        return found
    return [Runtime(name, path, None, threads) for name, path, threads in _native.openmp_runtimes()]


def _by_threadpoolctl() -> list[Runtime] | None:
    """Return what threadpoolctl knows, or None where it is not installed."""
    try:
        threadpoolctl = importlib.import_module("threadpoolctl")
    except ImportError:
        return None
    pools: Iterator[dict[str, object]] = iter(threadpoolctl.threadpool_info())
    return [_runtime(pool) for pool in pools if pool["user_api"] == "openmp"]


def _runtime(pool: dict[str, object]) -> Runtime:
    version, threads = pool["version"], pool["num_threads"]
    return Runtime(
        str(pool["prefix"]),
        str(pool["filepath"]),
        None if version is None else str(version),
        threads if isinstance(threads, int) else None,
    )


sys.modules[__name__].__class__ = _native.OpenmpModule

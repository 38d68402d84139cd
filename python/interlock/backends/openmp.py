"""OpenMP runtimes, which run the parallel loops of compiled code."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

from interlock._core import backends as _native

__all__ = ["Runtime", "is_available", "runtimes"]


class Runtime(NamedTuple):
    """An OpenMP runtime that is loaded in this process."""

    name: str
    """`libgomp` (GNU), `libiomp` (Intel) or `libomp` (LLVM)."""
    path: str
    """The file of the runtime."""
    version: str | None
    """The version; None if the runtime does not report it."""
    threads: int | None
    """The maximum number of threads of a parallel loop of this thread; None if it is not reported."""


def is_available() -> bool:
    """Return whether an OpenMP runtime (GNU's, Intel's or LLVM's) is loaded or can be found.

    Does not load it. interlock itself does not use OpenMP.

    Raises:
        LibraryPathError: `INTERLOCK_OPENMP_PATH` is set and is not the path of a runtime.

    """
    return _native.library_is_available("openmp")


def runtimes() -> list[Runtime]:
    """Return the OpenMP runtimes that are loaded in this process, with their thread limits. Loads none.

    Several runtimes in one process are a common cause of slow parallel loops. If the package threadpoolctl is
    installed (the extra `openmp` installs it), it is used, because it also finds runtimes that a package
    bundles under another name. It is not used while MKL is loaded, because it calls functions of MKL.
    """
    # The first call of an MKL function determines which OpenMP runtime MKL uses, and loads that runtime.
    reported = None if _native.library_is_loaded("mkl") else _query_threadpoolctl()
    if reported is not None:
        return reported
    return [Runtime(name, path, None, threads) for name, path, threads in _native.openmp_runtimes()]


def _query_threadpoolctl() -> list[Runtime] | None:
    """Return the OpenMP runtimes that threadpoolctl reports, or None if it is not installed."""
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

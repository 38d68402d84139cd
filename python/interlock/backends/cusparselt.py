"""cuSPARSELt: NVIDIA's products of matrices of which half the elements are zero."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["get_max_alg_id", "is_available", "version"]

#: The versions of which PyTorch tells it; the library answers only where there is a GPU.
_LARGEST_ALGORITHM = {400: 4, 502: 5, 602: 37}


def is_available() -> bool:
    """Return whether cuSPARSELt is loaded or would be found. Looking does not load it.

    Raises `LibraryPathError` where `INTERLOCK_CUSPARSELT_PATH` gives a path at which it is not.
    """
    return _native.library_is_available("cusparselt")


def version() -> int | None:
    """Return the version, 602 for 0.6.2, or None without the library. The first call loads it."""
    return _native.library_version("cusparselt")


def get_max_alg_id() -> int | None:
    """Return the largest number of an algorithm, or None where it is not known for this version."""
    found = version()
    return None if found is None else _LARGEST_ALGORITHM.get(found)


sys.modules[__name__].__class__ = _native.CusparseltModule

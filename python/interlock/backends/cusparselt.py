"""cuSPARSELt, NVIDIA's library of matrix products with 2:4 structured sparsity."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["get_max_alg_id", "is_available", "version"]

#: The largest algorithm id by version, as in PyTorch. The library itself can be queried only with a GPU.
_LARGEST_ALGORITHM = {400: 4, 502: 5, 602: 37}


def is_available() -> bool:
    """Return whether cuSPARSELt is loaded or can be found. Does not load it.

    Raises:
        LibraryPathError: `INTERLOCK_CUSPARSELT_PATH` is set and is not the path of the library.

    """
    return _native.library_is_available("cusparselt")


def version() -> int | None:
    """Return the version number, such as 602 for 0.6.2, or None if cuSPARSELt cannot be loaded. Loads it."""
    return _native.library_version("cusparselt")


def get_max_alg_id() -> int | None:
    """Return the largest algorithm id of the loaded version, or None if it is not known."""
    loaded = version()
    return None if loaded is None else _LARGEST_ALGORITHM.get(loaded)


sys.modules[__name__].__class__ = _native.CusparseltModule

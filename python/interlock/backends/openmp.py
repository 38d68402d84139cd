"""OpenMP: the runtime of a compiler's parallel loops."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["is_available"]


def is_available() -> bool:
    """Return whether an OpenMP runtime (GNU's, Intel's or LLVM's) is loaded or would be found.

    Looking does not load it. interlock itself uses threads of its own.
    """
    return _native.library_is_available("openmp")


sys.modules[__name__].__class__ = _native.OpenmpModule

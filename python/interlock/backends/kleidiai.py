"""KleidiAI, Arm's library of matrix product kernels."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False: KleidiAI can only be linked statically, and interlock links no vendor libraries."""
    return False


sys.modules[__name__].__class__ = _native.KleidiaiModule

"""The flag of the layers of multi-head attention."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

# <flags of mha>
fastpath: bool
# </flags of mha>


def get_fastpath_enabled() -> bool:
    """Return whether layers of multi-head attention may take their fast path while they only infer."""
    return bool(_native.read("mha.fastpath"))


def set_fastpath_enabled(value: bool) -> None:
    """Say whether they may: the flag `mha.fastpath`. Raises as its assignment does."""
    _native.assign({"mha.fastpath": value})


sys.modules[__name__].__class__ = _native.MhaModule

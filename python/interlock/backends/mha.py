"""The flag of multi-head attention layers."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

# <flags of mha>
fastpath: bool
# </flags of mha>


def get_fastpath_enabled() -> bool:
    """Return whether multi-head attention layers may use their fast path for inference."""
    return bool(_native.read("mha.fastpath"))


def set_fastpath_enabled(value: bool) -> None:
    """Set whether multi-head attention layers may use their fast path for inference.

    Assigns the flag `mha.fastpath`.

    Args:
        value: Whether the fast path may be used.

    Raises:
        FlagTypeError: `value` is not a bool.
        FlagsFrozenError: Flags are frozen.

    """
    _native.assign({"mha.fastpath": value})


sys.modules[__name__].__class__ = _native.MhaModule

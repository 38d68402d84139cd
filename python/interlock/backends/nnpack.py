"""The flag of NNPACK: convolutions on CPUs."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["flags", "is_available", "set_flags"]

# <flags of nnpack>
enabled: bool
# </flags of nnpack>


def is_available() -> bool:
    """Return False: nothing here runs on NNPACK."""
    return False


def flags(enabled: bool = False) -> _native.FlagScope:
    """Decide the flag of this module for this thread: a context manager and a decorator."""
    # As in PyTorch, None is refused here: unlike the other modules, this one has no value for "leave it".
    return _native.FlagScope({"nnpack.enabled": enabled})


def set_flags(_enabled: bool) -> tuple[bool]:
    """Write the flag, and return it as it was.

    Raises `FlagTypeError` for a value that does not fit, `FlagsFrozenError` while flags are frozen.
    """
    before = bool(_native.read("nnpack.enabled"))
    _native.assign({"nnpack.enabled": _enabled})
    return (before,)


sys.modules[__name__].__class__ = _native.NnpackModule

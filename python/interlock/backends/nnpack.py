"""The flag of NNPACK, a library of convolutions on CPUs."""

from __future__ import annotations

import sys

from interlock._core import backends as _native

__all__ = ["flags", "is_available", "set_flags"]

# <flags of nnpack>
enabled: bool
# </flags of nnpack>


def is_available() -> bool:
    """Return False: no operation of interlock uses NNPACK."""
    return False


def flags(enabled: bool = False) -> _native.FlagScope:
    """Context manager and decorator that sets the flag of this module in the current context.

    Args:
        enabled: Whether convolutions may run on NNPACK.

    Raises:
        FlagTypeError: The value is not a bool.

    """
    # As in PyTorch, None is rejected here, unlike in the other modules.
    return _native.FlagScope({"nnpack.enabled": enabled})


def set_flags(_enabled: bool) -> tuple[bool]:
    """Assign the flag, and return the previous value in a tuple.

    Args:
        _enabled: Whether convolutions may run on NNPACK.

    Raises:
        FlagTypeError: The value is not a bool.
        FlagsFrozenError: Flags are frozen.

    """
    before = bool(_native.read("nnpack.enabled"))
    _native.assign({"nnpack.enabled": _enabled})
    return (before,)


sys.modules[__name__].__class__ = _native.NnpackModule

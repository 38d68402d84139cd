"""Flags of MIOpen, AMD's library of convolutions."""

from __future__ import annotations

import sys

from interlock._core import backends as _native
from interlock.backends._module import set_flags as _set_flags

__all__ = ["MiopenModule", "flags", "set_flags"]

# <flags of miopen>
immediate: bool
# </flags of miopen>

MiopenModule = _native.MiopenModule

_scope = _native.FlagArguments("miopen.immediate").scope


def flags(immediate: bool | None = False) -> _native.FlagScope:
    """Context manager and decorator that sets the flag of this module in the current context.

    Args:
        immediate: Whether MIOpen uses its immediate mode instead of searching for the fastest algorithm; None
            does not set the flag.

    Raises:
        FlagTypeError: The value is not a bool.

    """
    return _scope(immediate)


def set_flags(_immediate: bool | None = None) -> tuple[bool]:
    """Assign the flag unless the argument is None, and return the previous value in a tuple.

    Args:
        _immediate: The value; None does not change the flag.

    Raises:
        FlagTypeError: The value is not a bool.
        FlagsFrozenError: Flags are frozen.

    """
    (before,) = _set_flags(("miopen.immediate",), _immediate)
    return (before,)


sys.modules[__name__].__class__ = MiopenModule

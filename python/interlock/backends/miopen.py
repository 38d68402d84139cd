"""Flags of MIOpen: AMD's convolutions."""

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
    """Decide the flag of this module for this thread: a context manager and a decorator.

    None leaves it undecided.
    """
    return _scope(immediate)


def set_flags(_immediate: bool | None = None) -> tuple[bool]:
    """Write the flag if it is given, and return it as it was.

    Raises `FlagTypeError` for a value that does not fit, `FlagsFrozenError` while flags are frozen.
    """
    (before,) = _set_flags(("miopen.immediate",), _immediate)
    return (before,)


sys.modules[__name__].__class__ = MiopenModule

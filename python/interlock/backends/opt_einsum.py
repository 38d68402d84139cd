"""Flags of the order in which an einsum multiplies its operands, and the package that finds it.

The flags keep what they are given whether the package opt_einsum is installed or not; `is_available` tells.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any, Literal

from interlock._core import backends as _native
from interlock.backends._module import set_flags as _set_flags

__all__ = ["OptEinsumModule", "flags", "get_opt_einsum", "is_available", "set_flags"]

# <flags of opt_einsum>
enabled: bool
strategy: Literal["auto", "greedy", "optimal"]
# </flags of opt_einsum>

OptEinsumModule = _native.OptEinsumModule

_PACKAGE = "opt_einsum"
# In the order of the arguments of `flags` and `set_flags`.
_ARGUMENTS = ("opt_einsum.enabled", "opt_einsum.strategy")


def is_available() -> bool:
    """Return whether the package opt_einsum is installed."""
    if _PACKAGE in sys.modules:
        # None stands for a package that must not be imported.
        return sys.modules[_PACKAGE] is not None
    return importlib.util.find_spec(_PACKAGE) is not None


def get_opt_einsum() -> Any:
    """Return the package opt_einsum, which is then imported, or None where it is not installed."""
    return importlib.import_module(_PACKAGE) if is_available() else None


def flags(
    enabled: bool | None = None, strategy: Literal["auto", "greedy", "optimal"] | None = None
) -> _native.FlagScope:
    """Decide the flags that are given for this thread: a context manager and a decorator."""
    given = dict(zip(_ARGUMENTS, (enabled, strategy), strict=True))
    return _native.FlagScope({name: value for name, value in given.items() if value is not None})


def set_flags(
    _enabled: bool | None = None, _strategy: Literal["auto", "greedy", "optimal"] | None = None
) -> tuple[bool, str]:
    """Write the flags that are given, all or none, and return both as they were.

    Raises `FlagTypeError` or `FlagValueError` for a value that does not fit, `FlagsFrozenError` while
    flags are frozen; then nothing has changed.
    """
    enabled, strategy = _set_flags(_ARGUMENTS, _enabled, _strategy)
    return enabled, strategy


sys.modules[__name__].__class__ = OptEinsumModule

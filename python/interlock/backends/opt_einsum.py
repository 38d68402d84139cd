"""Flags of the contraction order of einsum, which the package opt_einsum optimizes.

The flags can be set whether or not opt_einsum is installed; `is_available` reports whether it is.
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
        # An entry of None in `sys.modules` prevents the import of a package.
        return sys.modules[_PACKAGE] is not None
    return importlib.util.find_spec(_PACKAGE) is not None


def get_opt_einsum() -> Any:
    """Import and return the package opt_einsum, or return None if it is not installed."""
    return importlib.import_module(_PACKAGE) if is_available() else None


def flags(
    enabled: bool | None = None, strategy: Literal["auto", "greedy", "optimal"] | None = None
) -> _native.FlagScope:
    """Context manager and decorator that sets the flags whose arguments are not None.

    Args:
        enabled: Whether the contraction order of an einsum is optimized.
        strategy: The strategy of the search: "auto", "greedy" or "optimal".

    Raises:
        FlagTypeError: A value has the wrong type.
        FlagValueError: A flag does not accept its value.

    """
    values = dict(zip(_ARGUMENTS, (enabled, strategy), strict=True))
    return _native.FlagScope({name: value for name, value in values.items() if value is not None})


def set_flags(
    _enabled: bool | None = None, _strategy: Literal["auto", "greedy", "optimal"] | None = None
) -> tuple[bool, str]:
    """Assign the flags whose arguments are not None together, and return the previous values of both.

    If an error is raised, no flag is changed.

    Args:
        _enabled: Whether the contraction order of an einsum is optimized.
        _strategy: The strategy of the search: "auto", "greedy" or "optimal".

    Raises:
        FlagTypeError: A value has the wrong type.
        FlagValueError: A flag does not accept its value.
        FlagsFrozenError: Flags are frozen.

    """
    enabled, strategy = _set_flags(_ARGUMENTS, _enabled, _strategy)
    return enabled, strategy


sys.modules[__name__].__class__ = OptEinsumModule

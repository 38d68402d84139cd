"""Flags of oneDNN, Intel's library of matrix products, convolutions and recurrent layers."""

from __future__ import annotations

import sys
from typing import Any, Literal, Self

from interlock._core import backends as _native
from interlock.backends._module import (
    UNCHANGED,
    VERBOSE_OFF,
    VERBOSE_ON,
    VERBOSE_ON_CREATION,
    _FP32Precision as _FP32Precision,
    set_flags as _set_flags,
)

__all__ = [
    "VERBOSE_OFF",
    "VERBOSE_ON",
    "VERBOSE_ON_CREATION",
    "MkldnnModule",
    "conv",
    "flags",
    "is_acl_available",
    "is_available",
    "matmul",
    "rnn",
    "set_flags",
    "verbose",
]

# <flags of mkldnn>
enabled: bool
deterministic: bool
allow_tf32: bool | None
numerics: Literal["hardware", "model"]
fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
# </flags of mkldnn>

matmul = _native.MkldnnMatmulFlags()
conv = _native.MkldnnConvFlags()
rnn = _native.MkldnnRnnFlags()

# In the order of the arguments of `flags` and `set_flags`.
_ARGUMENTS = (
    "mkldnn.enabled",
    "mkldnn.deterministic",
    "mkldnn.allow_tf32",
    "mkldnn.fp32_precision",
)
_scope = _native.FlagArguments(*_ARGUMENTS).scope


def flags(
    enabled: bool | None = False,
    deterministic: bool | None = False,
    allow_tf32: bool | None = True,
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"] | None = "none",
) -> _native.FlagScope:
    """Context manager and decorator that sets all flags of this module in the current context.

    A flag whose argument is not given is set to the default of this function, which for `enabled` is False,
    as in PyTorch. A flag whose argument is None is not set. `backends.override` sets only the given flags.

    Args:
        enabled: Whether operations may run on oneDNN.
        deterministic: Whether oneDNN is restricted to deterministic algorithms.
        allow_tf32: Whether oneDNN may use tf32 on Intel GPUs.
        fp32_precision: "none" (not set), "ieee", "tf32" or "bf16".

    Raises:
        FlagTypeError: A value has the wrong type.
        FlagValueError: A flag does not accept its value.

    """
    return _scope(enabled, deterministic, allow_tf32, fp32_precision)


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: Literal["none", "ieee", "tf32", "bf16"] | None = UNCHANGED,
) -> tuple[Any, ...]:
    """Assign the flags whose arguments are not None together, and return the previous values of all four.

    Without an argument a flag is not changed. If an error is raised, no flag is changed.

    Args:
        _enabled: Whether operations may run on oneDNN.
        _deterministic: Whether oneDNN is restricted to deterministic algorithms.
        _allow_tf32: Whether oneDNN may use tf32 on Intel GPUs.
        _fp32_precision: "none" (not set), "ieee", "tf32" or "bf16".

    Raises:
        FlagTypeError: A value has the wrong type.
        FlagValueError: A flag does not accept its value.
        FlagsFrozenError: Flags are frozen.

    """
    return _set_flags(_ARGUMENTS, _enabled, _deterministic, _allow_tf32, _fp32_precision)


def is_available() -> bool:
    """Return whether oneDNN is loaded or can be found. Does not load it.

    Raises:
        LibraryPathError: `INTERLOCK_ONEDNN_PATH` is set and is not the path of the library.

    """
    return _native.library_is_available("onednn")


def is_acl_available() -> bool:
    """Return False: oneDNN does not report whether it was built with the Arm Compute Library."""
    return False


class verbose(_native.VerboseScope):
    """Context manager in which oneDNN prints a line for each of its calls.

    The level is global to the process, so calls of other threads are printed, too. On exit the previous level
    is restored: that of another open scope, else that of `ONEDNN_VERBOSE` or `DNNL_VERBOSE`. A level that the
    program has set with oneDNN's own functions is not restored.

    Args:
        level: `VERBOSE_ON`, or `VERBOSE_ON_CREATION` to also print the creation of primitives; both load
            oneDNN when the scope is entered. `VERBOSE_OFF` does nothing.

    Raises:
        FlagTypeError: `level` is not an int.
        FlagValueError: `level` is not a level.
        LibraryNotFoundError: On entry, if oneDNN cannot be loaded.

    """

    def __new__(cls, level: int) -> Self:
        """Create a scope that is not open."""
        return super().__new__(cls, "onednn", level)

    def __init__(self, level: int) -> None:
        self.level = level

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        # A copy is a new scope that is not open.
        return type(self), (self.level,)


MkldnnModule = _native.MkldnnModule
sys.modules[__name__].__class__ = MkldnnModule

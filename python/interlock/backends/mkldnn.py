"""Flags of oneDNN: Intel's matrix products, convolutions and recurrent layers."""

from __future__ import annotations

import sys
from typing import Any, Literal

from interlock._core import backends as _native
from interlock.backends._module import (
    UNCHANGED,
    VERBOSE_OFF,
    VERBOSE_ON,
    VERBOSE_ON_CREATION,
    VerboseScope,
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
    """Decide every flag of this module for this thread: a context manager and a decorator.

    An argument that is not given gets the default of this function, which for `enabled` is False. None
    leaves a flag undecided. `backends.override` decides only what is given.
    """
    return _scope(enabled, deterministic, allow_tf32, fp32_precision)


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: Literal["none", "ieee", "tf32", "bf16"] | None = UNCHANGED,
) -> tuple[Any, ...]:
    """Write the flags that are given and not None, all or none, and return all four as they were.

    Raises `FlagTypeError` or `FlagValueError` for a value that does not fit, `FlagsFrozenError` while
    flags are frozen; then nothing has changed.
    """
    return _set_flags(_ARGUMENTS, _enabled, _deterministic, _allow_tf32, _fp32_precision)


def is_available() -> bool:
    """Return whether oneDNN is loaded or would be found. Looking does not load it.

    Raises `LibraryPathError` where `INTERLOCK_ONEDNN_PATH` gives a path at which it is not.
    """
    return _native.library_is_available("onednn")


def is_acl_available() -> bool:
    """Return False: whether a oneDNN was built with Arm's Compute Library it does not tell."""
    return False


class verbose(VerboseScope):
    """Have oneDNN print a line for each of its calls while the scope is open.

    The level belongs to the process, so calls of other threads are printed, too. Leaving brings back what
    was before: what another open scope asks for, else what `ONEDNN_VERBOSE` or `DNNL_VERBOSE` says. What a
    program tells oneDNN behind interlock's back is not known and not brought back.

    `VERBOSE_OFF` does nothing. `VERBOSE_ON` and `VERBOSE_ON_CREATION`, which also reports what oneDNN
    prepares, load oneDNN when the scope is entered, and raise `LibraryNotFoundError` (a RuntimeError and
    AssertionError) where there is none. Making a scope raises `FlagTypeError` or `FlagValueError` for any
    other level.
    """

    def __init__(self, level: int) -> None:
        super().__init__("onednn", level)
        self.level = level


MkldnnModule = _native.MkldnnModule
sys.modules[__name__].__class__ = MkldnnModule

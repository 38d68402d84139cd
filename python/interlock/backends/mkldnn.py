"""Flags of oneDNN: Intel's matrix products, convolutions and recurrent layers."""

from __future__ import annotations

import sys
from typing import Any, Literal

from interlock._core import backends as _native
from interlock.backends._arguments import UNCHANGED, set_flags as _set_flags

__all__ = ["conv", "flags", "matmul", "rnn", "set_flags"]

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
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: Literal["none", "ieee", "tf32", "bf16"] = "none",
) -> _native.FlagScope:
    """Decide every flag of this module for this thread: a context manager and a decorator.

    What is not given gets the default of this function, which for `enabled` is False.
    `backends.override` decides only what is given.
    """
    return _scope(enabled, deterministic, allow_tf32, fp32_precision)


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: Literal["none", "ieee", "tf32", "bf16"] = UNCHANGED,
) -> tuple[Any, ...]:
    """Write the flags that are given, all or none, and return all four as they were.

    Raises `FlagTypeError` or `FlagValueError` for a value that does not fit, `FlagsFrozenError` while
    flags are frozen; then nothing has changed.
    """
    return _set_flags(_ARGUMENTS, _enabled, _deterministic, _allow_tf32, _fp32_precision)


sys.modules[__name__].__class__ = _native.MkldnnModule

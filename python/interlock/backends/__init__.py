"""Global flags: what backends may do and how precisely.

Assigning a flag is for the process; a scope, `with cudnn.flags(...)` or `with override(...)`, is for the
thread that opens it. Reading gives what the innermost scope of this thread says, else what was assigned,
else the environment's value, else the default. `explain` tells which.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any, Literal, overload

from interlock._core import backends as _native
from interlock._core.backends import FlagScope, FreezeScope, disable_global_flags, epoch, flags_frozen
from interlock.backends import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    libraries,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)
from interlock.backends._flag_types import Flags
from interlock.backends._introspection import (
    Explanation,
    Level,
    Snapshot,
    SnapshotEntry,
    Write,
    explain,
    reset,
    restore,
    snapshot,
    writes,
)
from interlock.backends._module import (
    UNCHANGED,
    _FP32Precision as _FP32Precision,
    set_flags as _set_flags,
)
from interlock.backends._register import Flag, check_variables, register
from interlock.errors import FlagEnvironmentWarning, FlagTypeError

__all__ = [
    "Explanation",
    "Flag",
    "FlagScope",
    "Flags",
    "FreezeScope",
    "GenericModule",
    "Level",
    "Snapshot",
    "SnapshotEntry",
    "Write",
    "check_variables",
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "disable_global_flags",
    "epoch",
    "explain",
    "flags",
    "flags_frozen",
    "frozen",
    "kleidiai",
    "libraries",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "override",
    "quantized",
    "register",
    "reset",
    "restore",
    "set_flags",
    "snapshot",
    "writes",
    "xnnpack",
]

# <flags of backends>
deterministic_algorithms: bool
deterministic_algorithms_warn_only: bool
fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
# </flags of backends>


_scope = _native.FlagArguments("fp32_precision").scope


def flags(fp32_precision: Literal["none", "ieee", "tf32", "bf16"] | None = "none") -> _native.FlagScope:
    """Decide the precision of every backend for this thread: a context manager and a decorator.

    None leaves it undecided.
    """
    return _scope(fp32_precision)


def set_flags(_fp32_precision: Literal["none", "ieee", "tf32", "bf16"] | None = UNCHANGED) -> tuple[str]:
    """Write the precision of every backend unless it is None, and return it as it was.

    Raises `FlagTypeError` or `FlagValueError` for a value that does not fit, `FlagsFrozenError` while
    flags are frozen.
    """
    (before,) = _set_flags(("fp32_precision",), _fp32_precision)
    return (before,)


@overload
def override(flags: Flags | None = None, /, **named: object) -> _native.FlagScope: ...
@overload
def override(flags: Mapping[Flag[Any], object], /, **named: object) -> _native.FlagScope: ...
def override(
    flags: Flags | Mapping[Flag[Any], object] | None = None, /, **named: object
) -> _native.FlagScope:
    """Decide these flags for this thread and no others: a context manager and a decorator.

    Flags are given by dotted name, in a dict (of which type checkers know the names and types of interlock's
    own flags) or as named arguments. A flag of another library is given as its `Flag`, which is a key of the
    dict, or by name as a named argument. At run time the dict takes its name, too, but type checkers refuse
    names that they do not know. Raises `UnknownFlagError`, `FlagTypeError` or `FlagValueError` for what does
    not fit.

    >>> from interlock import backends
    >>> with backends.override({"cudnn.deterministic": True}):
    ...     backends.cudnn.deterministic
    True
    >>> backends.cudnn.deterministic
    False
    """
    if flags is not None and not isinstance(flags, dict):
        raise FlagTypeError(f"override() takes a dict of flags, got a value of type {type(flags).__name__}")
    by_name = {key.name if isinstance(key, Flag) else key: value for key, value in (flags or {}).items()}
    return _native.FlagScope(by_name | named)


def frozen() -> _native.FreezeScope:
    """Stop every write of a flag, by any thread, until the scope is left.

    Writes raise `FlagsFrozenError`, which says where flags were frozen. Scopes still open and close. A
    context manager and a decorator; freezes of several threads may overlap.

    >>> from interlock import backends
    >>> with backends.frozen():
    ...     backends.flags_frozen()
    True
    """
    return _native.FreezeScope()


for _variable, _problem in _native.environment_problems():
    warnings.warn(f"{_variable} is ignored: {_problem}", FlagEnvironmentWarning, stacklevel=2)

for _type in (Explanation, Flag, Flags, Level, Snapshot, SnapshotEntry, Write):
    _type.__module__ = __name__

GenericModule = _native.BackendsModule
sys.modules[__name__].__class__ = GenericModule

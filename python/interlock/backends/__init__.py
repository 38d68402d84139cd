"""Flags that control the algorithms and the precision of backends.

Assigning a flag sets it for the process. A scope, `with cudnn.flags(...)` or `with override(...)`, sets flags
in the current context: a thread, an asyncio task, a request. Reading a flag returns the value of the
innermost open scope that sets it, else the assigned value, else the value of its environment variable, else
the default. `explain` reports which of them it is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from interlock._core import backends as _native
from interlock._core.backends import (
    FlagChange,
    FlagScope,
    FreezeScope,
    disable_global_flags,
    epoch,
    flags_frozen,
    on_change,
)
from interlock._flag_modules import add_flags as _add_flags
from interlock._homes import set_home as _set_home
from interlock._lazy import import_lazily as _import_lazily
from interlock._quote import shown, warn_program as _warn_program
from interlock.backends._module import (
    UNCHANGED,
    _FP32Precision as _FP32Precision,
    set_flags as _set_flags,
)
from interlock.backends._register import Flag, check_variables, register, unregister
from interlock.errors import FlagEnvironmentWarning, FlagTypeError

if TYPE_CHECKING:
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
        python_native,
        quantized,
        xnnpack,
    )
    from interlock.backends._describe import Description, describe
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

__all__ = [
    "Description",
    "Explanation",
    "Flag",
    "FlagChange",
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
    "describe",
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
    "on_change",
    "openmp",
    "opt_einsum",
    "override",
    "python_native",
    "quantized",
    "register",
    "reset",
    "restore",
    "set_flags",
    "snapshot",
    "unregister",
    "writes",
    "xnnpack",
]

# <flags of backends>
deterministic_algorithms: bool
deterministic_algorithms_warn_only: bool
deterministic_fill_uninitialized_memory: bool
fp32_precision: Literal["none", "ieee", "tf32", "bf16"]
# </flags of backends>


_scope = _native.FlagArguments("fp32_precision").scope


def flags(fp32_precision: Literal["none", "ieee", "tf32", "bf16"] | None = "none") -> _native.FlagScope:
    """Context manager and decorator that sets the precision of all backends in the current context.

    Args:
        fp32_precision: "none" (not set), "ieee", "tf32" or "bf16"; None does not set the flag.

    Raises:
        FlagTypeError: The value is not a str.
        FlagValueError: The value is not a known precision.

    Example:
        >>> from interlock import backends
        >>> with backends.flags(fp32_precision="tf32"):
        ...     backends.cuda.matmul.fp32_precision
        'tf32'

    """
    return _scope(fp32_precision)


def set_flags(_fp32_precision: Literal["none", "ieee", "tf32", "bf16"] | None = UNCHANGED) -> tuple[str]:
    """Assign the precision of all backends, and return the previous value in a tuple.

    Args:
        _fp32_precision: "none", "ieee", "tf32" or "bf16"; None, or no argument, does not change the flag.

    Raises:
        FlagTypeError: The value is not a str.
        FlagValueError: The value is not a known precision.
        FlagsFrozenError: Flags are frozen.

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
    """Context manager and decorator that sets any flags in the current context.

    Other threads and the values of the process are not affected. Scopes can be nested, overlap, and be exited
    in any order.

    Args:
        flags: Values by dotted name or by `Flag`. Type checkers know the names and types of the flags of
            interlock; a flag of another library is given as a `Flag` or as a keyword argument.
        named: Values by dotted name.

    Raises:
        UnknownFlagError: There is no flag of this name. The message suggests a similar name.
        FlagTypeError: `flags` is not a dict, or a value has the wrong type.
        FlagValueError: A flag does not accept its value.

    Example:
        >>> from interlock import backends
        >>> with backends.override({"cudnn.deterministic": True}):
        ...     backends.cudnn.deterministic
        True
        >>> backends.cudnn.deterministic
        False

    """
    if flags is not None and not isinstance(flags, dict):
        raise FlagTypeError(f"override: flags must be a dict, got {type(flags).__name__}")
    by_name = {key.name if isinstance(key, Flag) else key: value for key, value in (flags or {}).items()}
    wrong = [name for name in by_name if not isinstance(name, str)]
    if wrong:
        raise FlagTypeError(f"override: the name of a flag must be a str, got {shown(wrong[0])}")
    return _native.FlagScope(by_name | named)


def frozen() -> _native.FreezeScope:
    """Context manager and decorator that freezes all flags, on all threads.

    While flags are frozen, assigning a flag raises `FlagsFrozenError`, whose message contains the line that
    froze them. Scopes can still be entered and exited. Freezes of several threads can overlap.

    Example:
        >>> from interlock import backends
        >>> with backends.frozen():
        ...     backends.flags_frozen()
        True

    """
    return _native.FreezeScope()


for _variable, _problem in _native.environment_problems():
    _problem = _problem.replace(f"{_variable} must", "it must", 1)
    _warn_program(f"{_variable} is ignored: {_problem}", FlagEnvironmentWarning)

_set_home(__name__, Flag)

# The names that are not defined above: submodules, and names of submodules.
_LAZY = {name: name for name in __all__ if name not in globals()}
_LAZY |= {"Description": "_describe", "Flags": "_flag_types", "describe": "_describe"}
_LAZY |= dict.fromkeys(("Explanation", "Level", "Snapshot", "SnapshotEntry", "Write"), "_introspection")
_LAZY |= dict.fromkeys(("explain", "reset", "restore", "snapshot", "writes"), "_introspection")
_import_lazily(globals(), _LAZY, _add_flags)

GenericModule = _native.BackendsModule
sys.modules[__name__].__class__ = GenericModule

"""Functions that restrict operations to deterministic algorithms."""

from __future__ import annotations

from typing import Any, Literal

from interlock._core import backends as _native
from interlock._quote import shown
from interlock.errors import FlagTypeError, FlagValueError

_MODE, _WARN_ONLY = "deterministic_algorithms", "deterministic_algorithms_warn_only"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Restrict all operations to deterministic algorithms, or remove the restriction.

    Assigns the flags `deterministic_algorithms` and `deterministic_algorithms_warn_only` together. The flags
    `deterministic` and `benchmark` of the libraries keep their values; `backends.explain` reports their
    effective values.

    Args:
        mode: Whether operations are restricted.
        warn_only: Whether an operation without a deterministic algorithm warns instead of raising.

    Raises:
        FlagTypeError: An argument is not a bool.
        FlagsFrozenError: Flags are frozen.

    Example:
        >>> import interlock
        >>> from interlock import backends
        >>> with backends.override({"deterministic_algorithms": True}):
        ...     backends.cudnn.deterministic, backends.explain("cudnn.deterministic").effective
        (False, True)

    """
    _native.assign({_MODE: mode, _WARN_ONLY: warn_only})


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether operations are restricted to deterministic algorithms in the current context."""
    return bool(_native.read(_MODE))


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether operations without a deterministic algorithm warn instead of raising."""
    return bool(_native.read(_WARN_ONLY))


_DEBUG_MODES = ("default", "warn", "error")
"""The names of the debug modes; the number of a mode is its position."""


def set_deterministic_debug_mode(debug_mode: Literal[0, 1, 2, "default", "warn", "error"]) -> None:
    """Set how operations without a deterministic algorithm are treated, by number or name.

    Like `use_deterministic_algorithms`, it assigns two flags together.

    Args:
        debug_mode: 0 or "default": operations are not restricted. 1 or "warn": operations without a
            deterministic algorithm warn. 2 or "error": they raise.

    Raises:
        FlagTypeError: `debug_mode` is neither an int nor a str.
        FlagValueError: `debug_mode` is another number or name.
        FlagsFrozenError: Flags are frozen.

    Example:
        >>> import interlock
        >>> interlock.set_deterministic_debug_mode("warn")
        >>> interlock.get_deterministic_debug_mode()
        1
        >>> interlock.set_deterministic_debug_mode(0)

    """
    number = _number_of_debug_mode(debug_mode)
    use_deterministic_algorithms(number != 0, warn_only=number == 1)


def _number_of_debug_mode(mode: Any) -> int:
    expected = "set_deterministic_debug_mode: debug_mode must be 0, 1, 2, 'default', 'warn' or 'error'"
    if not isinstance(mode, int | str):
        raise FlagTypeError(f"{expected}, got {type(mode).__name__}")
    modes = _DEBUG_MODES if isinstance(mode, str) else range(len(_DEBUG_MODES))
    if mode not in modes:
        raise FlagValueError(f"{expected}, got {shown(mode)}")
    return _DEBUG_MODES.index(mode) if isinstance(mode, str) else int(mode)


def get_deterministic_debug_mode() -> Literal[0, 1, 2]:
    """Return how operations without a deterministic algorithm are treated in the current context.

    Returns:
        0: they run; 1: they warn; 2: they raise. See `set_deterministic_debug_mode`.

    """
    if not are_deterministic_algorithms_enabled():
        return 0
    return 1 if is_deterministic_algorithms_warn_only_enabled() else 2

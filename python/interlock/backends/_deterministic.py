"""Whether operations are held to what gives the same bits every time."""

from __future__ import annotations

from interlock._core import backends as _native

_MODE, _WARN_ONLY = "deterministic_algorithms", "deterministic_algorithms_warn_only"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Hold every operation to deterministic algorithms, or no longer.

    With `warn_only` an operation that has none warns instead of being refused. It writes the flags
    `deterministic_algorithms` and `deterministic_algorithms_warn_only`, both or none. `deterministic` and
    `benchmark` of the libraries keep their own values; `backends.explain` shows what they come to. Raises
    `FlagTypeError` for what is no bool, `FlagsFrozenError` while flags are frozen.

    >>> import interlock
    >>> from interlock import backends
    >>> with backends.override({"deterministic_algorithms": True}):
    ...     backends.cudnn.deterministic, backends.explain("cudnn.deterministic").effective
    (False, True)
    """
    _native.assign({_MODE: mode, _WARN_ONLY: warn_only})


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether operations are held to deterministic algorithms on this thread."""
    return bool(_native.read(_MODE))


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether an operation that has no deterministic algorithm would only warn."""
    return bool(_native.read(_WARN_ONLY))

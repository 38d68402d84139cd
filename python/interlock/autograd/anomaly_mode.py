"""Detection of anomalies: a failing backward function reports the operation that created its node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from interlock._arguments import as_bool
from interlock._core.autograd import (
    _anomaly_check_nan,
    _anomaly_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
)
from interlock._core.state import ScopeGroup

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly(ScopeGroup):
    """Enable or disable the detection of anomalies in the current context.

    While it is enabled, each node stores the Python stack of the operation that created it. If its backward
    function fails, a warning shows this stack and the error names its innermost line. With `check_nan`, a
    backward function that computes NaN fails. Operations are several times slower.

    A function and a context manager, for the current context as gradient modes.

    Args:
        mode: Whether anomalies are detected.
        check_nan: Whether the gradients of each backward function are checked for NaN.

    Raises:
        TypeError: An argument is not a bool.

    Example:
        >>> import interlock
        >>> with interlock.autograd.set_detect_anomaly(True):
        ...     interlock.is_anomaly_enabled()
        True

    """

    prev: bool
    """Whether anomalies were detected before."""
    prev_check_nan: bool
    """Whether gradients were checked for NaN before."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        mode = as_bool("set_detect_anomaly: mode", mode)
        check_nan = as_bool("set_detect_anomaly: check_nan", check_nan)
        self.prev, self.prev_check_nan = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        self._mode, self._check_nan = mode, check_nan
        self._scopes = (_anomaly_mode(mode), _anomaly_check_nan(check_nan))

    def __repr__(self) -> str:
        return f"set_detect_anomaly(mode={self._mode}, check_nan={self._check_nan})"

    def __reduce__(self) -> tuple[Callable[..., object], tuple[type[Self], bool, bool], dict[str, Any]]:
        # A copy is a new scope that is not open. Its constructor would write the mode.
        state = {name: value for name, value in vars(self).items() if name != "_scopes"}
        return _not_open, (type(self), self._mode, self._check_nan), state


class detect_anomaly(ScopeGroup):
    """Detect anomalies in a block; see `set_detect_anomaly`.

    Args:
        check_nan: Whether the gradients of each backward function are checked for NaN.

    Raises:
        TypeError: `check_nan` is not a bool.

    Example:
        >>> import interlock
        >>> x = interlock.zeros(1, requires_grad=True)
        >>> with interlock.autograd.detect_anomaly(check_nan=False):
        ...     interlock.is_anomaly_enabled(), interlock.is_anomaly_check_nan_enabled()
        (True, False)

    """

    check_nan: bool

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = as_bool("detect_anomaly: check_nan", check_nan)
        self._scopes = (_unset(_anomaly_mode, True), _unset(_anomaly_check_nan, self.check_nan))

    def __repr__(self) -> str:
        return f"detect_anomaly(check_nan={self.check_nan})"

    def __reduce__(self) -> tuple[type[Self], tuple[bool]]:
        # A copy is a new scope that is not open.
        return type(self), (self.check_nan,)


_Mode = TypeVar("_Mode", _anomaly_mode, _anomaly_check_nan)


def _not_open(kind: type[set_detect_anomaly], mode: bool, check_nan: bool) -> set_detect_anomaly:
    """Return an object without its attributes, but for the scopes that it enters."""
    made = kind.__new__(kind)
    made._scopes = (_unset(_anomaly_mode, mode), _unset(_anomaly_check_nan, check_nan))
    return made


def _unset(kind: type[_Mode], mode: bool) -> _Mode:
    """Return an object that sets a mode when it is entered, and not when it is created."""
    made = kind.__new__(kind)
    made.__setstate__((mode, None))
    return made

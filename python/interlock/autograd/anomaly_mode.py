"""Detection of anomalies: a failing backward function reports the operation that created its node."""

from __future__ import annotations

from interlock._arguments import as_bool
from interlock._core.autograd import (
    _anomaly_check_nan,
    _anomaly_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
)
from interlock._core.state import warn_not_open

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
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
        self._modes = (_anomaly_mode(mode), _anomaly_check_nan(check_nan))
        # An item for each open enter: an exit without one issues one warning instead of one for each mode.
        self._entered: list[None] = []

    def __repr__(self) -> str:
        return f"set_detect_anomaly(mode={self._mode}, check_nan={self._check_nan})"

    def __enter__(self) -> None:
        for mode in self._modes:
            mode.__enter__()
        self._entered.append(None)

    def __exit__(self, *args: object) -> None:
        if not self._entered:
            return warn_not_open("set_detect_anomaly")
        self._entered.pop()
        for mode in reversed(self._modes):
            mode.__exit__(None, None, None)


class detect_anomaly:
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
        # The object can be entered again while it is open.
        self._entered: list[set_detect_anomaly] = []

    def __repr__(self) -> str:
        return f"detect_anomaly(check_nan={self.check_nan})"

    def __enter__(self) -> None:
        entered = set_detect_anomaly(True, self.check_nan)
        entered.__enter__()
        self._entered.append(entered)

    def __exit__(self, *args: object) -> None:
        if not self._entered:
            return warn_not_open("detect_anomaly")
        self._entered.pop().__exit__(*args)

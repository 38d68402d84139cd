"""The state that a thread decides for itself: taken whole, and put in force on other threads.

With `INTERLOCK_DEBUG=1` in the environment, `ScopeWarning` tells of scopes that are open or were left where
nobody expects it, and at the end of the process of each that is still open.
"""

from __future__ import annotations

import atexit
import warnings

from interlock._core.state import TRACED, StateScope, ThreadState, capture, open_scopes
from interlock.errors import ScopeWarning

__all__ = ["StateScope", "ThreadState", "capture", "open_scopes"]


def _tell_what_is_open() -> None:
    for entered in open_scopes():
        file, _, line = entered.rpartition(":")
        message = "the scope entered here was still open when the process ended"
        warnings.warn_explicit(message, ScopeWarning, file, int(line))


if TRACED:
    atexit.register(_tell_what_is_open)

"""The state that a thread decides for itself: taken whole, and put in force on other threads.

With `INTERLOCK_DEBUG=1` in the environment, `ScopeWarning` tells of scopes that are open or were left where
nobody expects it, and at the end of the process of those that are still open or were when their thread or
task ended.
"""

from __future__ import annotations

import atexit
import warnings

from interlock._core.state import TRACED, StateScope, ThreadState, capture, open_scopes
from interlock._core.trace import never_left
from interlock.errors import ScopeWarning

__all__ = ["StateScope", "ThreadState", "capture", "open_scopes"]


def _tell_what_was_never_left() -> None:
    ended, still_open = never_left()
    for places, end in ((ended, "its thread or task"), (still_open, "the process")):
        for entered in places:
            file, _, line = entered.rpartition(":")
            message = f"the scope entered here was still open when {end} ended"
            warnings.warn_explicit(message, ScopeWarning, file, int(line))


if TRACED:
    atexit.register(_tell_what_was_never_left)

"""The state that a thread decides for itself: taken whole, and put in force on other threads.

With `INTERLOCK_DEBUG=1` in the environment, `ScopeWarning` tells of scopes that are open or were left where
nobody expects it, and at the end of the process of those that are still open or were when their thread or
task ended.
"""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar, final

from interlock._core import state as _native
from interlock._core.state import TRACED, StateScope, open_scopes
from interlock.errors import ScopeWarning

__all__ = ["StateScope", "ThreadState", "capture", "open_scopes"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@final
class ThreadState(_native.ThreadState):
    """Everything that a thread decides for itself, as it was when it was captured.

    It never changes, and may be put in force on any thread, several times.
    """

    __slots__ = ()

    # In Python, so that no frame of Rust stands below the call: see `_core.state.TaskState`.
    def run(
        self,
        function: Callable[_Arguments, _Result],
        /,
        *arguments: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> _Result:
        """Call `function` with the state in force, and return what it returns.

        A generator or coroutine that it returns runs without the state: give `wrap` those.
        """
        with self.apply():
            return function(*arguments, **named)


def capture(*, pin: bool = False) -> ThreadState:
    """Take this thread's whole state: modes, what is current of devices, and what its scopes decide of flags.

    Flags that no scope of this thread decides follow the process wherever the state is put in force. With
    `pin=True` every flag of the process is fixed as it is now.
    """
    if not isinstance(pin, bool):
        raise TypeError(f"capture() takes pin, a bool, got a value of type {type(pin).__name__}")
    return ThreadState(pin=pin)


def _warn_unclosed_scopes() -> None:
    errors = []
    ended, still_open = _native.never_left()
    for places, end in ((ended, "its thread or task"), (still_open, "the process")):
        for entered in places:
            file, _, line = entered.rpartition(":")
            message = f"the scope entered here was still open when {end} ended"
            try:
                warnings.warn_explicit(message, ScopeWarning, file, int(line))
            except ScopeWarning as error:
                # Warnings are errors here; the others shall be told, too.
                errors.append(error)
    if errors:
        raise ExceptionGroup("scopes that were never left", errors)


if TRACED:
    atexit.register(_warn_unclosed_scopes)

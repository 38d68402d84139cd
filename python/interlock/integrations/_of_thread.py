"""Values of threads of the system, also of those that Python did not start."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class OfThread(Generic[T]):
    """A value for each thread of the system; None if it has none.

    The values of a `threading.local` end with Python's state of the thread. A thread that Rust or C has
    started has such a state only while it calls Python, so one call would not find what another one has left.
    """

    def __init__(self) -> None:
        self._values: dict[int, T] = {}
        _all.add(self)

    def get(self) -> T | None:
        """Return the value of this thread."""
        return self._values.get(threading.get_native_id()) if self._values else None

    def set(self, value: T | None) -> None:
        """Set the value of this thread; None frees it.

        The system gives the id of a thread that has ended to another one.
        """
        if value is not None:
            self._values[threading.get_native_id()] = value
        elif self._values:
            self._values.pop(threading.get_native_id(), None)

    def _move(self, before: int, after: int) -> None:
        """Retain the value of the thread that has forked, whose id the child has changed."""
        values, self._values = self._values, {}
        if before in values:
            self._values[after] = values[before]


_all: weakref.WeakSet[OfThread[Any]] = weakref.WeakSet()
# Several threads may be about to fork.
_forking = threading.local()


def _before_fork() -> None:
    _forking.id = threading.get_native_id()


def _after_in_child() -> None:
    for each in _all:
        each._move(_forking.id, threading.get_native_id())


os.register_at_fork(before=_before_fork, after_in_child=_after_in_child)

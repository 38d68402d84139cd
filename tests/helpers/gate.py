"""A function that blocks a stream until the test opens it."""

from __future__ import annotations

import threading

SECONDS = 20.0


class Gate:
    """A function for `launch` that sets `begun` and waits for `open`."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self._opened = threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        if not self._opened.wait(SECONDS):
            raise TimeoutError("the test did not open the gate")

    def open(self) -> None:
        """Wake the waiting stream."""
        self._opened.set()

"""A function for a stream that waits until it is told to go on."""

from __future__ import annotations

import threading

SECONDS = 20.0


class Gate:
    """Called on a stream it waits, and says that it has begun; `open` lets it go on."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self._opened = threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        if not self._opened.wait(SECONDS):
            raise TimeoutError("nobody opened the latch")

    def open(self) -> None:
        """Let whoever waits go on."""
        self._opened.set()

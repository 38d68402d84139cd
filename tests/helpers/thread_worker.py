"""A long-lived thread that runs one function at a time for the test that owns it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
SECONDS = 20.0


class Worker:
    """Runs functions on its own thread; a function that hangs fails the test, not the run."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[object, BaseException | None]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                self._results.put((job(), None))
            except BaseException as error:
                self._results.put((None, error))

    def do(self, job: Callable[[], T]) -> T:
        """Run `job` on the thread; return its result or raise its exception."""
        self._jobs.put(job)
        result, error = self._results.get(timeout=SECONDS)
        if error is not None:
            raise error
        return result

    def stop(self) -> None:
        """Stop the thread."""
        self._jobs.put(None)
        self._thread.join(timeout=SECONDS)
        assert not self._thread.is_alive()

"""Signals that end a launcher, kept until it asks for them."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

__all__ = ["Signals"]

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Signals:
    """While this is entered, signals are kept, and a wait ends with any of them and with a child's end.

    It belongs on the main thread, as handlers do.
    """

    def __init__(self) -> None:
        self._kept: list[int] = []
        self._undo = contextlib.ExitStack()
        self._reader, self._writer = socket.socketpair()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            undo.callback(self._reader.close)
            undo.callback(self._writer.close)
            self._reader.setblocking(False)
            self._writer.setblocking(False)
            before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
            undo.callback(signal.set_wakeup_fd, before)
            # The byte that a signal writes is what ends a wait; without a handler there is none.
            self._handle(undo, signal.SIGCHLD, lambda _number, _frame: None)
            for number in _ENDING:
                # What is ignored stays so: that is how nohup and shells keep signals from a program.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handle(undo, number, self._keep)
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._undo.close()

    def take(self) -> list[int]:
        """Return the signals that came since the last call."""
        taken = self._kept[:]
        del self._kept[: len(taken)]
        return taken

    def wait(self, seconds: float | None) -> None:
        """Wait for a signal or for a child that ends, at most so long."""
        select.select([self._reader], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            while self._reader.recv(4096):
                pass

    def _keep(self, number: int, _frame: FrameType | None) -> None:
        self._kept.append(number)

    @staticmethod
    def _handle(
        undo: contextlib.ExitStack, number: int, handler: Callable[[int, FrameType | None], None]
    ) -> None:
        before = signal.signal(number, handler)
        # None is a handler that Python did not set and can't set again.
        undo.callback(signal.signal, number, signal.SIG_DFL if before is None else before)

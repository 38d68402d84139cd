"""Calls a function at any place where CPython looks for signals, as it calls a signal handler."""

from __future__ import annotations

import dis
import functools
import gc
import itertools
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import interlock
import pytest

_PACKAGE = str(Path(interlock.__file__).parent)


@functools.cache
def _operations(code: CodeType) -> dict[int, str]:
    return {each.offset: each.opname for each in dis.get_instructions(code)}


def _is_check(operation: str) -> bool:
    """Return whether CPython looks for signals after an instruction: calls, begins of functions, loops."""
    is_call = operation.startswith("CALL") and "INTRINSIC" not in operation
    return is_call or operation in ("RESUME", "JUMP_BACKWARD")


def numbers_of_checks(*, full: bool) -> Iterator[int]:
    """Return the numbers of checks to test, without `full` every third: a round takes milliseconds."""
    return itertools.count(0, 1 if full else 3)


class AtCheck:
    """A context manager that calls a function once, in the functions of interlock that its block calls.

    Args:
        number: At which check for signals, from 0 on.
        call: The function.
        files: Other files whose functions are checked.

    """

    def __init__(self, number: int, call: Callable[[], object], files: tuple[str, ...] = ()) -> None:
        self._number = number
        self._call = call
        self._files = files
        self._operations: dict[FrameType, str] = {}
        self.is_called = False

    def __enter__(self) -> AtCheck:
        # A collection would run callbacks of other packages, such as Hypothesis, inside of the block.
        self._collects = gc.isenabled()
        gc.disable()
        self._before = sys.gettrace()
        # Python 3.12 reports instructions only if a frame asked for them before `settrace`.
        sys._getframe().f_trace_opcodes = True
        sys.settrace(self._trace)
        return self

    def __exit__(self, *exc_info: object) -> None:
        sys.settrace(self._before)
        if self._collects:
            gc.enable()

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        file = frame.f_code.co_filename
        if self.is_called or not (file.startswith(_PACKAGE) or file in self._files):
            return None
        # Since Python 3.13 a frame that asks for its instructions must have a trace function already.
        frame.f_trace = self._trace
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "call":
            # A begin or a resumption of a function, for which there is no event "opcode".
            self._operations[frame] = "RESUME"
        elif event == "exception":
            # CPython looks for no signals after a call that raises, nor when `close` resumes a generator.
            self._operations.pop(frame, None)
        elif event == "opcode":
            before = self._operations.get(frame, "")
            self._operations[frame] = _operations(frame.f_code)[frame.f_lasti]
            if _is_check(before):
                self._number -= 1
                if self._number < 0:
                    self.is_called = True
                    self._operations.clear()
                    self._call()
        return self._trace


def check_pending_interrupt(scope: AbstractContextManager[object]) -> None:
    """Enter and exit a scope, whose exit raises the interrupt that is pending then."""

    def interrupt(*_signal: object) -> None:
        raise KeyboardInterrupt

    def run() -> None:
        with scope:
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            # CPython does not look for signals after an operator.
            _ = b"ab" * 30_000_000

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.signal(signal.SIGALRM, previous)

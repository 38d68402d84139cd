"""The detection of races between streams: `interlock.testing.detect_races`."""

from __future__ import annotations

import atexit
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

from interlock._core import accelerator as _native
from interlock._core.state import UninterruptedExit
from interlock._quote import counted, shown, warn_program
from interlock.errors import FlagEnvironmentWarning

_SETTLE_SECONDS = 5.0


@dataclass(frozen=True)
class RaceAccess:
    """One access of a `Race`.

    Attributes:
        operation: The operation, such as "copy from host:0 to cpu".
        access: "read", "write", "allocation" (of memory that was freed before) or "release".
        line: The file and line that queued or did it, such as "train.py:12"; None if no Python code did.
        stream: The stream; None for an access by the program.
        thread: The thread; None for work of a stream.
        bytes: The addresses of the bytes.
        stack: The lines of the stack that queued or did it, innermost first.

    """

    operation: str
    access: str
    line: str | None
    stream: str | None
    thread: str | None
    bytes: range
    stack: tuple[str, ...]


@dataclass(frozen=True)
class Race:
    """Two accesses of the same bytes that nothing orders. `str` is a report.

    Attributes:
        first: The access that was queued or done first.
        second: The other access.
        allocation: The allocation of the memory; None if it was allocated before the detection started.
        missing: Which order is missing, and how to make it.
        count: How often work of these two lines was found to race; it depends on when the work runs.

    """

    first: RaceAccess
    second: RaceAccess
    allocation: RaceAccess | None
    missing: str
    count: int
    _report: str

    def __str__(self) -> str:
        return self._report


class Races(list[Race]):
    """The races that `detect_races` has found: complete after its block, and up to date after `update`.

    Args:
        detector: The running detection.

    """

    def __init__(self, detector: _native.RaceDetector) -> None:
        super().__init__()
        self._detector: _native.RaceDetector | None = detector

    def update(self) -> None:
        """Add the races of work that has run since the last update, after all queued work has run.

        Work that does not run, such as copies that are paused, is waited for as long as other work runs and
        5 seconds more. After the block, the list does not change.
        """
        if self._detector is not None:
            _settle(self._detector)
            self[:] = [_race(found) for found in self._detector.races()]

    def _end(self) -> None:
        detector, self._detector = self._detector, None
        if detector is not None:
            detector.stop()


class detect_races(UninterruptedExit):
    """Detect races: accesses of the same bytes by streams, or by a stream and the program, without an order.

    A race is found even if the accesses happened one after the other this time: each piece of work has a
    vector clock of what it comes after by the order of its stream, events, waits and calls. Reads and writes
    of copies, fills, kernels and exports are observed with their bytes; those of functions that
    `accelerator.launch` queues if they are declared with `accelerator.declare_uses`. Use of memory after it
    was freed, and reuse of memory that a stream without `record_stream` may still use, are races, too.

    The detection covers all threads of the process, memory of host devices and pinned memory. What threads
    do is taken as ordered as it was observed, because they order themselves by locks and queues that are not
    observed. Work that was queued before is not observed.

    Args:
        poison: Whether new memory and freed memory that no other stream uses is filled with the byte 0xCB,
            in the order of its stream, so that wrong uses show in values.

    Returns:
        A context manager, which returns a list of `Race` objects, each pair of lines once. The list is
        complete after the block, which waits for queued work.

    Raises:
        UnsupportedError: Devices of another driver than "host" are in use: their work cannot be observed.
        TypeError: `poison` is not a bool.
        RuntimeError: The block is ended without a begin.

    Example:
        >>> import interlock
        >>> from interlock import accelerator, testing
        >>> accelerator.use("host")
        >>> writer, reader = interlock.Stream(), interlock.Stream()
        >>> with testing.detect_races() as races:
        ...     buffer = accelerator.memory.Buffer(4, stream=writer)
        ...     _ = buffer.fill_(1, stream=writer)
        ...     _ = buffer.copy_to(bytearray(4), stream=reader)
        >>> [(race.first.access, race.second.access) for race in races]
        [('write', 'read')]

    """

    def __init__(self, *, poison: bool = False) -> None:
        self._poison = poison
        self._open: list[Races] = []

    def __enter__(self) -> Races:
        races = Races(_native.RaceDetector(self._poison))
        try:
            self._open.append(races)
            return races
        except BaseException:
            # An interrupt. A comparison of lists would find another empty one.
            self._open[:] = [each for each in self._open if each is not races]
            races._end()
            raise

    def _exit(self, exited: list[Races]) -> None:
        if exited:
            # An interrupt, after which no work is waited for.
            exited[0]._end()
            return
        if not self._open:
            raise RuntimeError("testing.detect_races: exited without being entered")
        races = self._open[-1]
        # No signal handler runs between these lines.
        del self._open[-1]
        exited.append(races)
        try:
            races.update()
        finally:
            races._end()


_VARIABLE = "INTERLOCK_DETECT_RACES"
_ALLOWED = ("", "0", "1", "poison")
_is_started = False


def problem_of_environment() -> str | None:
    """Return why the environment variable is ignored, or None."""
    value = os.environ.get(_VARIABLE, "")
    return None if value in _ALLOWED else f"it must be 0, 1 or poison, got {shown(value)}"


def start_from_environment() -> None:
    """Detect races until the process exits, if the environment variable asks for it, and print them then."""
    global _is_started
    # `importlib.reload(interlock)` calls this again.
    if _is_started:
        return
    _is_started = True
    problem = problem_of_environment()
    if problem is not None:
        warn_program(f"{_VARIABLE} is ignored: {problem}", FlagEnvironmentWarning)
        return
    value = os.environ.get(_VARIABLE, "")
    if value in ("", "0"):
        return
    detection = detect_races(poison=value == "poison")
    races, process = detection.__enter__(), os.getpid()

    def report() -> None:
        if os.getpid() != process:
            return
        detection.__exit__(None, None, None)
        print(f"interlock: {counted(len(races), 'race')} found ({_VARIABLE}={value})", file=sys.stderr)
        for race in races:
            print(f"\n{race}", file=sys.stderr)

    atexit.register(report)


def _settle(detector: _native.RaceDetector) -> None:
    """Wait until all observed work has run, or none has run for some time."""
    pending, changed, pause = detector.pending(), time.monotonic(), 1e-5
    while pending and time.monotonic() - changed < _SETTLE_SECONDS:
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
        before, pending = pending, detector.pending()
        if pending != before:
            changed = time.monotonic()


def _race(found: tuple[Any, ...]) -> Race:
    first, second, allocation, missing, count, report = found
    of_allocation = None if allocation is None else _access(allocation)
    return Race(_access(first), _access(second), of_allocation, missing, count, report)


def _access(found: tuple[Any, ...]) -> RaceAccess:
    operation, access, line, owner, is_stream, start, stop, stack = found
    stream, thread = (owner, None) if is_stream else (None, owner)
    return RaceAccess(operation, access, line, stream, thread, range(start, stop), tuple(stack))

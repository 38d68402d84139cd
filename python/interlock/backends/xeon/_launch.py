"""Runs a plan: starts its instances, waits for them, and ends them together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping

from interlock.backends.xeon import _check, _processes, _words
from interlock.backends.xeon._output import say
from interlock.backends.xeon._plan import Instance, Plan
from interlock.backends.xeon._signals import Signals
from interlock.backends.xeon._start import StartError, start

__all__ = ["GRACE", "run"]

# How many seconds instances have to end after the first signal. PyTorch gives them as many.
GRACE = 30.0

# What ends at once, as most programs do, is not worth a word.
_SECONDS_WITHOUT_WORDS = 1.0

# How often groups that are to end are asked whether they are empty: nobody tells of the end of a grandchild.
_SECONDS_BETWEEN_LOOKS = 0.05


def run(plan: Plan, environment: Mapping[str, str], *, grace: float = GRACE) -> int:
    """Run the plan and return the exit code: that of the first instance that failed, or 0.

    An instance that a signal ended counts as 128 and its number, and so does a signal to the launcher.
    Where one fails, or can't be started, the others are ended. Meanwhile this process reaps all its children.
    """
    obstacles = _check.obstacles(plan, environment)
    if obstacles:
        for each in obstacles:
            say(each.message)
        return obstacles[0].code
    with Signals() as signals, _processes.adopting_orphans():
        launch = _Launch(signals, grace)
        try:
            try:
                for instance in plan.instances:
                    launch.start(instance, environment, pinned=plan.pinned)
            except StartError as error:
                say(str(error))
                launch.end(signal.SIGTERM, error.code)
            return launch.wait()
        finally:
            launch.kill()


class _Launch:
    """Instances that run. Each leads a process group, so that what it starts ends with it."""

    def __init__(self, signals: Signals, grace: float) -> None:
        self._signals = signals
        self._grace = grace
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        # The process groups, with the instance that leads or led each.
        self._groups: dict[int, int] = {}
        self._code = 0
        # When instances were first told to end, and whether people know that this takes time.
        self._ending_since: float | None = None
        self._has_told = False
        self._has_killed = False

    def start(self, instance: Instance, environment: Mapping[str, str], *, pinned: bool) -> None:
        """Start an instance; raises `StartError`."""
        process = start(instance, environment, pinned=pinned)
        self._running[instance.index] = process
        self._groups[process.pid] = instance.index

    def wait(self) -> int:
        """Wait until all have ended and return the exit code."""
        while True:
            for number in self._signals.take():
                if self._ending_since is not None and self._groups:
                    self._tell(f"{_name(number)} is passed on", time.monotonic() - self._ending_since)
                self.end(number, 128 + number)
            self._look()
            if not self._running and (self._ending_since is None or not self._groups):
                return self._code
            self._signals.wait(None if self._ending_since is None else _SECONDS_BETWEEN_LOOKS)

    def end(self, number: int, code: int) -> None:
        """Send all groups a signal; after the time of grace those that are left are killed."""
        self._code = self._code or code
        if self._ending_since is None:
            self._ending_since = time.monotonic()
        self._send(number)

    def kill(self) -> None:
        """Kill what is left, whatever led here, and wait for it."""
        if self._running:
            self._kill()
        for process in self._running.values():
            process.wait()

    def _look(self) -> None:
        """Take note of what has ended, and see to it that all do where one was told to."""
        leaders = {process.pid: index for index, process in self._running.items()}
        for child in _processes.ended_children():
            if child in leaders:
                self._take_note(leaders[child], self._running.pop(leaders[child]).wait())
            else:
                os.waitpid(child, 0)
        if self._ending_since is not None:
            self._groups = {group: index for group, index in self._groups.items() if _lives(group)}
            if self._groups:
                self._urge(time.monotonic() - self._ending_since)

    def _take_note(self, index: int, code: int) -> None:
        """Take note of how an instance has ended, after which the others end where it failed."""
        if self._ending_since is not None:
            return
        if code == 0:
            # What it leaves behind is its own affair, and its number may soon be another group's.
            self._groups = {group: other for group, other in self._groups.items() if other != index}
            return
        ended = f"ended with {code}" if code > 0 else f"was ended by {_name(-code)}"
        others = ", so the others are ended" if self._running else ""
        say(f"instance {index} {ended}{others}")
        self.end(signal.SIGTERM, code if code > 0 else 128 - code)

    def _urge(self, seconds: float) -> None:
        """Tell people who still runs so many seconds after the first signal, and in the end kill it."""
        if seconds < self._grace:
            if seconds >= _SECONDS_WITHOUT_WORDS and not self._has_told:
                self._tell("waiting for the end", seconds)
            return
        if not self._has_killed:
            say(f"killed after {self._grace:g} s: {self._left()}")
            self._has_killed = True
        self._kill()
        # Whatever still shows in a group whose leader has gone is only waiting to be reaped.
        leaders = {process.pid for process in self._running.values()}
        self._groups = {group: index for group, index in self._groups.items() if group in leaders}

    def _tell(self, what: str, seconds: float) -> None:
        left = max(0.0, self._grace - seconds)
        say(f"{what}; what is left is killed in {left:.0f} s: {self._left()}")
        self._has_told = True

    def _left(self) -> str:
        """Name what has not ended: instances, and what others have left behind."""
        orphaned = set(self._groups.values()) - self._running.keys()
        running = [_words.instances(self._running.keys())] if self._running else []
        return " and ".join([*running, *([f"what {_words.instances(orphaned)} started"] if orphaned else [])])

    def _kill(self) -> None:
        """Kill what is left, and what that has started in groups of its own, as another launcher does."""
        started = _processes.below(self._groups.keys())
        self._send(signal.SIGKILL)
        for process in started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)

    def _send(self, number: int) -> None:
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
                # What a terminal has stopped would take note of the signal no sooner than it goes on.
                os.killpg(group, signal.SIGCONT)


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # What it has become may not be ended, so it is not waited for.
        return False
    return True


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

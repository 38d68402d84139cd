"""Runs a plan: starts its instances, waits for them, and ends them together."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from pathlib import Path

from interlock.backends.xeon import _numbers
from interlock.backends.xeon._plan import Instance, Plan
from interlock.backends.xeon._signals import Signals

__all__ = ["GRACE", "run"]

# How many seconds instances have to end after the first signal. PyTorch gives them as many.
GRACE = 30.0

# How often groups that are to end are asked whether they are empty: nobody tells of the end of a grandchild.
_SECONDS_BETWEEN_LOOKS = 0.05

# Numbers of the kernel's prctl.
_SET_CHILD_SUBREAPER = 36
_GET_CHILD_SUBREAPER = 37

# What a shell answers for a program that is not there, and for one that it can't run.
_NOT_FOUND = 127
_NOT_RUN = 126
_NO_LOG = 1


class _StartError(Exception):
    """An instance can't be started."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def run(plan: Plan, environment: Mapping[str, str], *, grace: float = GRACE) -> int:
    """Run the plan and return the exit code: that of the first instance that failed, or 0.

    An instance that a signal ended counts as 128 and its number, and so does a signal to the launcher.
    Where one fails, or can't be started, the others are ended.
    """
    with Signals() as signals, _adopting_orphans():
        launch = _Launch(signals, grace)
        try:
            try:
                _check_program(plan, environment)
                for instance in plan.instances:
                    launch.start(instance, environment, pinned=plan.pinned)
            except _StartError as error:
                say(str(error))
                launch.end(signal.SIGTERM, error.code)
            return launch.wait()
        finally:
            launch.kill()


def say(message: str) -> None:
    """Tell people something without getting into what instances print."""
    print(f"run_cpu: {message}", file=sys.stderr, flush=True)


class _Launch:
    """Instances that run. Each leads a process group, so that what it starts ends with it."""

    def __init__(self, signals: Signals, grace: float) -> None:
        self._signals = signals
        self._grace = grace
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._groups: set[int] = set()
        self._code = 0
        self._deadline: float | None = None

    def start(self, instance: Instance, environment: Mapping[str, str], *, pinned: bool) -> None:
        """Start an instance; raises `_StartError`."""
        # A terminal stops a process of another group that reads from it.
        standard_input = subprocess.DEVNULL if os.isatty(0) else None
        with _log(instance) as log, _pinned(instance.cores if pinned else ()):
            try:
                process = subprocess.Popen(
                    instance.command,
                    env={**environment, **instance.environment},
                    stdin=standard_input,
                    stdout=log,
                    stderr=log and subprocess.STDOUT,
                    process_group=0,
                )
            except (OSError, ValueError) as error:
                missing = isinstance(error, FileNotFoundError)
                raise _StartError(
                    f"instance {instance.index} can't be started: {instance.command[0]}: {_reason(error)}",
                    _NOT_FOUND if missing else _NOT_RUN,
                ) from error
        self._running[instance.index] = process
        self._groups.add(process.pid)

    def wait(self) -> int:
        """Wait until all have ended and return the exit code."""
        while True:
            for number in self._signals.take():
                self.end(number, 128 + number)
            self._look()
            if not self._running and (self._deadline is None or not self._groups):
                return self._code
            self._signals.wait(None if self._deadline is None else _SECONDS_BETWEEN_LOOKS)

    def end(self, number: int, code: int) -> None:
        """Send all groups a signal; after the time of grace those that are left are killed."""
        self._code = self._code or code
        if self._deadline is None:
            self._deadline = time.monotonic() + self._grace
        self._send(number)

    def kill(self) -> None:
        """Kill what is left, whatever led here, and wait for it."""
        if self._running:
            self._send(signal.SIGKILL)
        for process in self._running.values():
            process.wait()

    def _look(self) -> None:
        """Take note of what has ended, and kill what has outlived the time of grace."""
        for index, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            del self._running[index]
            if code == 0 and self._deadline is None:
                # What it leaves behind is its own affair, and its number may soon be another group's.
                self._groups.discard(process.pid)
            if code != 0 and self._deadline is None:
                ended = f"ended with {code}" if code > 0 else f"was ended by {_name(-code)}"
                others = ", so the others are ended" if self._running else ""
                say(f"instance {index} {ended}{others}")
                self.end(signal.SIGTERM, code if code > 0 else 128 - code)
        if self._deadline is not None:
            self._reap_orphans()
            self._groups = {group for group in self._groups if _lives(group)}
            if time.monotonic() >= self._deadline:
                self._send(signal.SIGKILL)
                # Whatever still shows in a group whose leader has gone is only waiting to be reaped.
                self._groups &= {process.pid for process in self._running.values()}

    def _reap_orphans(self) -> None:
        """Reap what instances that have gone had started."""
        for group in self._groups - {process.pid for process in self._running.values()}:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-group, os.WNOHANG)[0] != 0:
                    pass

    def _send(self, number: int) -> None:
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)


def _check_program(plan: Plan, environment: Mapping[str, str]) -> None:
    """Raise `_StartError` where it is known that no instance could run the program.

    Python and numactl would be started, and say so in words and with codes of their own.
    """
    if plan.runs_python_file:
        if not Path(plan.program).exists():
            raise _StartError(f"there is no program {plan.program!r}", _NOT_FOUND)
    elif plan.runs_program and shutil.which(plan.program, path=environment.get("PATH")) is None:
        if Path(plan.program).exists() and "/" in plan.program:
            raise _StartError(f"{plan.program!r} is not executable", _NOT_RUN)
        raise _StartError(f"there is no program {plan.program!r}", _NOT_FOUND)


@contextlib.contextmanager
def _adopting_orphans() -> Generator[None, None, None]:
    """Let this process inherit children of instances that have gone, to reap them.

    The first process of a container, which would inherit them else, often reaps nothing, and then their
    group would seem to live.
    """
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        yield
        return
    before = ctypes.c_int(0)
    prctl(_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


@contextlib.contextmanager
def _pinned(cores: tuple[int, ...]) -> Generator[None, None, None]:
    """Pin this thread, from which what it starts inherits it, and put back where it may run."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        try:
            os.sched_setaffinity(0, cores)
        except OSError as error:
            raise _StartError(
                f"cores {_numbers.write(cores)} can't be pinned to: {_reason(error)}", _NOT_RUN
            ) from error
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def _log(instance: Instance) -> Generator[int | None, None, None]:
    """Open the file for the output of an instance; the instance keeps it open."""
    if instance.log is None:
        yield None
        return
    try:
        os.makedirs(os.path.dirname(instance.log) or ".", exist_ok=True)
        log = os.open(instance.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    except OSError as error:
        raise _StartError(f"the log {instance.log} can't be written: {_reason(error)}", _NO_LOG) from error
    try:
        yield log
    finally:
        os.close(log)


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # What it has become may not be ended, so it is not waited for.
        return False
    return True


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return "it is no program"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

"""Runs a plan: starts its instances, waits for them, and ends them together."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from interlock._launcher.plan import Instance, Plan
from interlock._launcher.render import instances_text, log
from interlock._launcher.topology import format_cpulist

__all__ = ["GRACE", "NOT_FOUND", "NOT_RUN", "PreflightError", "StartError", "preflight", "run", "spawn"]

# How many seconds instances have to end after the first signal. PyTorch gives them as many.
GRACE = 30.0

# What ends at once, as most programs do, is not worth a word.
_SECONDS_WITHOUT_WORDS = 1.0

# How often groups that are to end are checked for members: the system reports no end of a grandchild.
_SECONDS_BETWEEN_LOOKS = 0.05


def run(plan: Plan, environment: Mapping[str, str], *, grace: float = GRACE) -> int:
    """Run the plan and return the exit code: that of the first instance that failed, or 0.

    An instance that a signal ended counts as 128 and its number, and so does a signal to the launcher.
    Where one fails, or can't be started, the others are ended. Meanwhile this process reaps all its children.
    """
    problems = preflight(plan, environment)
    if problems:
        for each in problems:
            log(each.message)
        return problems[0].code
    with Signals() as signals, adopting_orphans():
        launch = _Launch(signals, grace)
        try:
            try:
                for instance in plan.instances:
                    launch.start(instance, environment, pinned=plan.pinned)
            except StartError as error:
                log(str(error))
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
        process = spawn(instance, environment, pinned=pinned)
        self._running[instance.index] = process
        self._groups[process.pid] = instance.index

    def wait(self) -> int:
        """Wait until all have ended and return the exit code."""
        while True:
            for number in self._signals.take():
                if self._ending_since is not None and self._groups:
                    self._tell(f"{_name(number)} is passed on", time.monotonic() - self._ending_since)
                self.end(number, 128 + number)
            self._reap()
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

    def _reap(self) -> None:
        """Take note of what has ended, and see to it that all do where one was told to."""
        leaders = {process.pid: index for index, process in self._running.items()}
        for child in ended_children():
            if child in leaders:
                self._on_exit(leaders[child], self._running.pop(leaders[child]).wait())
            else:
                os.waitpid(child, 0)
        if self._ending_since is not None:
            self._groups = {group: index for group, index in self._groups.items() if _lives(group)}
            if self._groups:
                self._escalate(time.monotonic() - self._ending_since)

    def _on_exit(self, index: int, code: int) -> None:
        """Take note of how an instance has ended, after which the others end where it failed."""
        if self._ending_since is not None:
            return
        if code == 0:
            # What it leaves behind is its own affair, and its number may soon be another group's.
            self._groups = {group: other for group, other in self._groups.items() if other != index}
            return
        ended = f"ended with {code}" if code > 0 else f"was ended by {_name(-code)}"
        others = ", so the others are ended" if self._running else ""
        log(f"instance {index} {ended}{others}")
        self.end(signal.SIGTERM, code if code > 0 else 128 - code)

    def _escalate(self, seconds: float) -> None:
        """Tell people who still runs so many seconds after the first signal, and in the end kill it."""
        if seconds < self._grace:
            if seconds >= _SECONDS_WITHOUT_WORDS and not self._has_told:
                self._tell("waiting for the end", seconds)
            return
        if not self._has_killed:
            log(f"killed after {self._grace:g} s: {self._describe_running()}")
            self._has_killed = True
        self._kill()
        # Whatever still shows in a group whose leader has gone is only waiting to be reaped.
        leaders = {process.pid for process in self._running.values()}
        self._groups = {group: index for group, index in self._groups.items() if group in leaders}

    def _tell(self, what: str, seconds: float) -> None:
        left = max(0.0, self._grace - seconds)
        log(f"{what}; what is left is killed in {left:.0f} s: {self._describe_running()}")
        self._has_told = True

    def _describe_running(self) -> str:
        """Name what has not ended: instances, and what others have left behind."""
        orphaned = set(self._groups.values()) - self._running.keys()
        running = [instances_text(self._running.keys())] if self._running else []
        return " and ".join([*running, *([f"what {instances_text(orphaned)} started"] if orphaned else [])])

    def _kill(self) -> None:
        """Kill what is left, and what that has started in groups of its own, as another launcher does."""
        started = descendants(self._groups.keys())
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


# What a shell answers for a program that is not there, and for one that it can't run.
NOT_FOUND = 127
NOT_RUN = 126


@dataclass(frozen=True)
class PreflightError:
    """Why no instance can run, and the exit code for it."""

    message: str
    code: int


def preflight(plan: Plan, environment: Mapping[str, str]) -> tuple[PreflightError, ...]:
    """Return what would keep this plan from running here."""
    folders = {os.path.dirname(instance.log): None for instance in plan.instances if instance.log is not None}
    return (
        *_check_program(plan, environment),
        *(wrong for folder in folders for wrong in _check_logs(folder)),
    )


def _check_program(plan: Plan, environment: Mapping[str, str]) -> Iterator[PreflightError]:
    """Python and numactl would be started, and say so in words and with codes of their own."""
    exists = os.path.exists(plan.program)
    if plan.runs_python_file:
        if not exists:
            yield PreflightError(f"there is no program {plan.program!r}", NOT_FOUND)
    elif plan.runs_program and shutil.which(plan.program, path=environment.get("PATH")) is None:
        if exists and "/" in plan.program:
            yield PreflightError(f"{plan.program!r} is not executable", NOT_RUN)
        else:
            yield PreflightError(f"there is no program {plan.program!r}", NOT_FOUND)


def _check_logs(folder: str) -> Iterator[PreflightError]:
    """Look at the folder, or where it does not exist at the one in which it would be made."""
    path = Path(folder).absolute()
    there = next((each for each in (path, *path.parents) if os.path.lexists(each)), path)
    named = "it" if there == path else repr(str(there))
    if not os.path.isdir(there):
        yield PreflightError(f"the log folder {folder!r} can't be used: {named} is not a folder", NOT_RUN)
    elif not os.access(there, os.W_OK | os.X_OK):
        yield PreflightError(
            f"the log folder {folder!r} can't be used: {named} may not be written to", NOT_RUN
        )


class StartError(Exception):
    """An instance can't be started; `code` is the exit code for it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def spawn(instance: Instance, environment: Mapping[str, str], *, pinned: bool) -> subprocess.Popen[bytes]:
    """Start an instance, which leads a process group of its own. Raises `StartError`."""
    # A terminal stops a process of another group that reads from it.
    standard_input = subprocess.DEVNULL if os.isatty(0) else None
    with _open_log(instance) as log, _pinned(instance.cores if pinned else ()):
        try:
            return subprocess.Popen(
                instance.command,
                env={**environment, **instance.environment},
                stdin=standard_input,
                stdout=log,
                stderr=log and subprocess.STDOUT,
                process_group=0,
            )
        except (OSError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError)
            raise StartError(
                f"instance {instance.index} can't be started: {instance.command[0]}: {_reason(error)}",
                NOT_FOUND if missing else NOT_RUN,
            ) from error


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
            raise StartError(
                f"cores {format_cpulist(cores)} can't be pinned to: {_reason(error)}", NOT_RUN
            ) from error
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def _open_log(instance: Instance) -> Generator[int | None, None, None]:
    """Open the file for the output of an instance; the instance keeps it open."""
    if instance.log is None:
        yield None
        return
    try:
        os.makedirs(os.path.dirname(instance.log) or ".", exist_ok=True)
        log = _new_file(instance.log)
    except OSError as error:
        raise StartError(f"the log {instance.log} can't be written: {_reason(error)}", NOT_RUN) from error
    try:
        yield log
    finally:
        os.close(log)


def _new_file(path: str) -> int:
    """Create a file; where there is one, as another launcher made in the same second, with a number added."""
    stem, ending = os.path.splitext(path)
    name, number = path, 1
    while True:
        try:
            return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            number += 1
            name = f"{stem}_{number}{ending}"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return "it is no program"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


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


# Numbers of the kernel's prctl.
_SET_CHILD_SUBREAPER = 36
_GET_CHILD_SUBREAPER = 37


@contextlib.contextmanager
def adopting_orphans() -> Generator[None, None, None]:
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


def ended_children() -> Iterator[int]:
    """Yield each child that has ended, which must be reaped before the next is asked for."""
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            yield ended.si_pid


def descendants(groups: Collection[int]) -> set[int]:
    """Return what these process groups have started, and what that has started, whatever group it is in."""
    every = tuple(_every())
    found = {process for process, _, group in every if group in groups}
    generation = found
    while generation:
        generation = {process for process, parent, _ in every if parent in generation} - found
        found |= generation
    return found


def _every() -> Iterator[tuple[int, int, int]]:
    """Yield each process of this machine with its parent and its group."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # The name, which stands before, may hold anything, also a bracket.
            _, parent, group, *_ = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            yield int(folder.name), int(parent), int(group)

"""Runs a plan: starts the instances, waits for them, and terminates all of them if one fails."""

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
from types import FrameType
from typing import Self

from interlock._launcher.messages import instances_text, log
from interlock._launcher.plan import Instance, Plan
from interlock._launcher.topology import format_cpulist

__all__ = ["GRACE", "NOT_FOUND", "NOT_RUN", "PreflightError", "StartError", "preflight", "run", "spawn"]

# Seconds between the first signal to the instances and SIGKILL, as in PyTorch.
GRACE = 30.0

# Seconds after the first signal before a message reports which instances still run. Most end before that.
_QUIET_SECONDS = 1.0

# Seconds between checks of whether terminating process groups are empty. The system does not report the
# exit of a grandchild.
_POLL_SECONDS = 0.05


def run(plan: Plan, environment: Mapping[str, str], *, grace: float = GRACE) -> int:
    """Run the plan and return the exit status: that of the first instance that failed, or 0.

    If an instance fails or cannot be started, the others are terminated. This process reaps all its children
    while the plan runs.

    Args:
        plan: The plan.
        environment: The environment of the instances, which the plan extends.
        grace: Seconds between the first signal to the instances and SIGKILL.

    Returns:
        128 plus the number of the signal if a signal ended an instance or was sent to the launcher.

    """
    problems = preflight(plan, environment)
    if problems:
        for each in problems:
            log(each.message)
        return problems[0].code
    with Signals() as signals, child_subreaper():
        launch = _Launch(signals, grace)
        try:
            try:
                for instance in plan.instances:
                    launch.start(instance, environment, pinned=plan.pinned)
            except StartError as error:
                log(str(error))
                launch.terminate(signal.SIGTERM, error.code)
            return launch.wait()
        finally:
            launch.kill()


class _Launch:
    """The running instances. Each leads a process group, so that its child processes end with it."""

    def __init__(self, signals: Signals, grace: float) -> None:
        self._signals = signals
        self._grace = grace
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        # The instance that leads or led each process group.
        self._groups: dict[int, int] = {}
        self._code = 0
        # When the first signal was sent to the instances.
        self._terminating_since: float | None = None
        self._has_reported_progress = False
        self._has_killed = False

    def start(self, instance: Instance, environment: Mapping[str, str], *, pinned: bool) -> None:
        """Start an instance; raises `StartError`."""
        process = spawn(instance, environment, pinned=pinned)
        self._running[instance.index] = process
        self._groups[process.pid] = instance.index

    def wait(self) -> int:
        """Wait until all instances have ended and return the exit status."""
        while True:
            for number in self._signals.take():
                if self._terminating_since is not None and self._groups:
                    self._report_progress(
                        f"{_name(number)} was forwarded", time.monotonic() - self._terminating_since
                    )
                self.terminate(number, 128 + number)
            self._reap()
            if not self._running and (self._terminating_since is None or not self._groups):
                return self._code
            self._signals.wait(None if self._terminating_since is None else _POLL_SECONDS)

    def terminate(self, number: int, code: int) -> None:
        """Send a signal to all process groups; those that still run after the grace period are killed."""
        self._code = self._code or code
        if self._terminating_since is None:
            self._terminating_since = time.monotonic()
        self._send(number)

    def kill(self) -> None:
        """Kill the instances that still run, and wait for them."""
        if self._running:
            self._kill()
        for process in self._running.values():
            process.wait()

    def _reap(self) -> None:
        """Reap the children that have exited, and escalate if the instances are being terminated."""
        leaders = {process.pid: index for index, process in self._running.items()}
        for child in exited_children():
            if child in leaders:
                self._on_exit(leaders[child], self._running.pop(leaders[child]).wait())
            else:
                os.waitpid(child, 0)
        if self._terminating_since is not None:
            self._groups = {group: index for group, index in self._groups.items() if _is_alive(group)}
            if self._groups:
                self._escalate(time.monotonic() - self._terminating_since)

    def _on_exit(self, index: int, code: int) -> None:
        """Record the exit status of an instance, and terminate the others if it failed."""
        if self._terminating_since is not None:
            return
        if code == 0:
            # Processes that it started may continue. The number of its group may soon be reused.
            self._groups = {group: other for group, other in self._groups.items() if other != index}
            return
        ended = f"exited with {code}" if code > 0 else f"was terminated by {_name(-code)}"
        others = "; terminating the others" if self._running else ""
        log(f"instance {index} {ended}{others}")
        self.terminate(signal.SIGTERM, code if code > 0 else 128 - code)

    def _escalate(self, seconds: float) -> None:
        """Report which instances still run after the first signal; kill them after the grace period."""
        if seconds < self._grace:
            if seconds >= _QUIET_SECONDS and not self._has_reported_progress:
                self._report_progress("waiting for instances to exit", seconds)
            return
        if not self._has_killed:
            log(f"killed after {self._grace:g} s: {self._describe_running()}")
            self._has_killed = True
        self._kill()
        # The remaining members of a group whose leader has exited only wait to be reaped.
        leaders = {process.pid for process in self._running.values()}
        self._groups = {group: index for group, index in self._groups.items() if group in leaders}

    def _report_progress(self, event: str, seconds: float) -> None:
        remaining = max(0.0, self._grace - seconds)
        log(f"{event}; still running, killed in {remaining:.0f} s: {self._describe_running()}")
        self._has_reported_progress = True

    def _describe_running(self) -> str:
        """Name the running instances, and the instances that exited but whose child processes run."""
        orphaned = set(self._groups.values()) - self._running.keys()
        running = [instances_text(self._running.keys())] if self._running else []
        return " and ".join([*running, *([f"children of {instances_text(orphaned)}"] if orphaned else [])])

    def _kill(self) -> None:
        """Kill all process groups, and descendants in other groups, which a nested launcher creates."""
        started = descendants(self._groups.keys())
        self._send(signal.SIGKILL)
        for process in started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)

    def _send(self, number: int) -> None:
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
                # A stopped process handles the signal only after SIGCONT.
                os.killpg(group, signal.SIGCONT)


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        # Processes that changed their user cannot be signalled, so they are not waited for.
        return False
    return True


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# The exit statuses of a shell for a program that does not exist, and for one that cannot be executed.
NOT_FOUND = 127
NOT_RUN = 126


@dataclass(frozen=True)
class PreflightError:
    """The reason why no instance can run, and the exit status."""

    message: str
    code: int


def preflight(plan: Plan, environment: Mapping[str, str]) -> tuple[PreflightError, ...]:
    """Return the reasons why the plan cannot run on this machine."""
    folders = {os.path.dirname(instance.log): None for instance in plan.instances if instance.log is not None}
    return (
        *_check_program(plan, environment),
        *(error for folder in folders for error in _check_logs(folder)),
    )


def _check_program(plan: Plan, environment: Mapping[str, str]) -> Iterator[PreflightError]:
    """Check that the program exists. Python and numactl would start, and exit with statuses of their own."""
    exists = os.path.exists(plan.program)
    if plan.runs_python_file:
        if not exists:
            yield PreflightError(f"program {plan.program!r} does not exist", NOT_FOUND)
    elif plan.runs_program and shutil.which(plan.program, path=environment.get("PATH")) is None:
        if exists and "/" in plan.program:
            yield PreflightError(f"{plan.program!r} is not executable", NOT_RUN)
        else:
            yield PreflightError(f"program {plan.program!r} does not exist", NOT_FOUND)


def _check_logs(folder: str) -> Iterator[PreflightError]:
    """Check that the folder, or its nearest existing parent, can be written."""
    path = Path(folder).absolute()
    existing = next((each for each in (path, *path.parents) if os.path.lexists(each)), path)
    name = "it" if existing == path else repr(str(existing))
    if not os.path.isdir(existing):
        yield PreflightError(f"cannot use the log folder {folder!r}: {name} is not a folder", NOT_RUN)
    elif not os.access(existing, os.W_OK | os.X_OK):
        yield PreflightError(f"cannot use the log folder {folder!r}: {name} is not writable", NOT_RUN)


class StartError(Exception):
    """An instance cannot be started; `code` is the exit status."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def spawn(instance: Instance, environment: Mapping[str, str], *, pinned: bool) -> subprocess.Popen[bytes]:
    """Start an instance as the leader of a new process group. Raises `StartError`."""
    # A terminal stops a background process group that reads from it.
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
                f"cannot start instance {instance.index}: {instance.command[0]}: {_reason(error)}",
                NOT_FOUND if missing else NOT_RUN,
            ) from error


@contextlib.contextmanager
def _pinned(cores: tuple[int, ...]) -> Generator[None, None, None]:
    """Pin this thread to cores, which its child processes inherit, and restore its affinity on exit."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        try:
            os.sched_setaffinity(0, cores)
        except OSError as error:
            raise StartError(
                f"cannot pin to cores {format_cpulist(cores)}: {_reason(error)}", NOT_RUN
            ) from error
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def _open_log(instance: Instance) -> Generator[int | None, None, None]:
    """Open the log file of an instance. The instance inherits the descriptor, which is closed on exit."""
    if instance.log is None:
        yield None
        return
    try:
        os.makedirs(os.path.dirname(instance.log) or ".", exist_ok=True)
        log = _new_file(instance.log)
    except OSError as error:
        raise StartError(f"cannot write the log {instance.log}: {_reason(error)}", NOT_RUN) from error
    try:
        yield log
    finally:
        os.close(log)


def _new_file(path: str) -> int:
    """Create a file. If it exists, for example of another launcher, append a number to its name."""
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
        return "not an executable program"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


_TERMINATION_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Signals:
    """Context manager that queues termination signals; `wait` returns on a signal or a child's exit.

    It must be used on the main thread, because only that can install signal handlers.
    """

    def __init__(self) -> None:
        self._pending: list[int] = []
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
            # `wait` returns when a signal writes a byte to the wakeup descriptor, which needs a handler.
            self._handle(undo, signal.SIGCHLD, lambda _number, _frame: None)
            for number in _TERMINATION_SIGNALS:
                # An ignored signal stays ignored: nohup and shells ignore signals on purpose.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handle(undo, number, self._on_signal)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._undo.close()

    def take(self) -> list[int]:
        """Return the signals that were received since the last call."""
        taken = self._pending[:]
        del self._pending[: len(taken)]
        return taken

    def wait(self, seconds: float | None) -> None:
        """Wait until a signal is received or a child exits, at most `seconds` if that is not None."""
        select.select([self._reader], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            while self._reader.recv(4096):
                pass

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._pending.append(number)

    @staticmethod
    def _handle(
        undo: contextlib.ExitStack, number: int, handler: Callable[[int, FrameType | None], None]
    ) -> None:
        before = signal.signal(number, handler)
        # None means that the handler was not installed by Python, which then cannot restore it.
        undo.callback(signal.signal, number, signal.SIG_DFL if before is None else before)


# Options of `prctl`.
_SET_CHILD_SUBREAPER = 36
_GET_CHILD_SUBREAPER = 37


@contextlib.contextmanager
def child_subreaper() -> Generator[None, None, None]:
    """Make this process the child subreaper, so that it inherits and reaps orphans of the instances.

    Otherwise the init process inherits them. In a container that often reaps nothing, and the process groups
    would never become empty.
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


def exited_children() -> Iterator[int]:
    """Yield each child that has exited. The caller must reap it before it requests the next one."""
    with contextlib.suppress(ChildProcessError):
        while child := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            yield child.si_pid


def descendants(groups: Collection[int]) -> set[int]:
    """Return the members of process groups and all their descendants, which may be in other groups."""
    every = tuple(_all_processes())
    found = {process for process, _, group in every if group in groups}
    generation = found
    while generation:
        generation = {process for process, parent, _ in every if parent in generation} - found
        found |= generation
    return found


def _all_processes() -> Iterator[tuple[int, int, int]]:
    """Yield the id, the parent and the process group of each process of this machine."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # Split at the last bracket: the name of the program before it may contain brackets.
            _, parent, group, *_ = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            yield int(folder.name), int(parent), int(group)

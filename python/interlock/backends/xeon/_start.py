"""Starts an instance: on its cores, with its environment and its log."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Generator, Mapping

from interlock.backends.xeon import _numbers
from interlock.backends.xeon._check import NOT_FOUND, NOT_RUN
from interlock.backends.xeon._plan import Instance

__all__ = ["StartError", "start"]


class StartError(Exception):
    """An instance can't be started; `code` is the exit code for it."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def start(instance: Instance, environment: Mapping[str, str], *, pinned: bool) -> subprocess.Popen[bytes]:
    """Start an instance, which leads a process group of its own. Raises `StartError`."""
    # A terminal stops a process of another group that reads from it.
    standard_input = subprocess.DEVNULL if os.isatty(0) else None
    with _log(instance) as log, _pinned(instance.cores if pinned else ()):
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
                f"cores {_numbers.write(cores)} can't be pinned to: {_reason(error)}", NOT_RUN
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

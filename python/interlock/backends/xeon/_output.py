"""What the launcher itself says, and where."""

from __future__ import annotations

import contextlib
import os
import sys

from interlock import _console

__all__ = ["say", "show"]

_NOT_WRITTEN = 1


def say(message: str) -> None:
    """Tell people something on standard error, without getting into what instances print."""
    if sys.stderr is None:
        return
    line = f"run_cpu: {message}\n".encode(sys.stderr.encoding, "backslashreplace")
    # Where nobody can read it, instances run all the same; Python's own buffer would be tried again at the end.
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), line)


def show(text: str) -> int:
    """Write what was asked for to standard output, and return the exit code."""
    try:
        _console.write(f"{text}\n")
    except OSError as error:
        say(f"standard output can't be written to: {error.strerror}")
        return _NOT_WRITTEN
    return 0

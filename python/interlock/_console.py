"""Standard output, as the commands of interlock use it."""

from __future__ import annotations

import errno
import io
import os
import shutil
import signal
import sys

__all__ = ["NARROWEST", "width", "write"]

NARROWEST = 40
"""The fewest columns that a terminal is taken to have."""


def width() -> int | None:
    """Return the columns of the terminal, or what `COLUMNS` says; None where neither tells."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    if not is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        return None
    return max(NARROWEST, shutil.get_terminal_size().columns)


def write(text: str) -> None:
    """Write all of a text. Whoever stops reading ends this process at once, as it ends other commands.

    Raises OSError where standard output is closed or takes no more.
    """
    output = sys.stdout
    if output is None:
        raise OSError(errno.EBADF, "it is closed")
    if isinstance(output, io.TextIOWrapper):
        # A path may hold what the terminal has no letter for.
        output.reconfigure(errors="backslashreplace")
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        output.write(text)
        output.flush()
    except OSError:
        # When it ends, Python tries what is left once more, and would complain in words of its own.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output.fileno())
        os.close(nowhere)
        raise
    finally:
        # None is a handler that Python did not set and can't set again.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL if before is None else before)

"""Standard output and error, as the commands of interlock use them."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sys
from typing import TextIO

__all__ = ["OutputError", "standard_output", "tell", "width", "write"]

# The columns that tables need; a narrower terminal breaks their lines itself.
_NARROWEST = 50


class OutputError(Exception):
    """Standard output can't be written to."""


def standard_output() -> TextIO:
    """Return where to write to. Raises `OutputError` where that is closed."""
    if sys.stdout is None:
        raise OutputError("there is no standard output to write to")
    return sys.stdout


def width() -> int | None:
    """Return the columns of the terminal, or what `COLUMNS` says; None where neither tells."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    if not is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        return None
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def write(text: str) -> None:
    """Write a text to standard output. Whoever stops reading ends this process, as it ends other commands.

    Raises `OutputError`.
    """
    output = standard_output()
    if isinstance(output, io.TextIOWrapper):
        # A path may hold what the terminal has no letter for.
        output.reconfigure(errors="backslashreplace")
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        output.write(text)
        output.flush()
    except OSError as error:
        # Python tries again when it ends, and would complain of it once more.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), output.fileno())
        raise OutputError(f"the output can't be written: {error.strerror}") from error
    finally:
        # None is a handler that Python did not set and can't set again.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL if before is None else before)


def tell(message: str) -> None:
    """Write a line to standard error, where there is somebody to read it."""
    if sys.stderr is None:
        return
    line = f"{message}\n".encode(sys.stderr.encoding, "backslashreplace")
    # Past Python's buffer, which it would try to write once more when it ends.
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), line)

"""The command `python -m interlock`."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Sequence

from interlock._report import colours, devices, flags, pages, report
from interlock._report.arguments import PROGRAM, Arguments, parse
from interlock._report.document import document
from interlock._report.layout import Layout, Section
from interlock._report.names import WrongUseError

NARROWEST_TERMINAL = 50
"""The columns that the tables need; a narrower terminal breaks their lines itself."""

NOT_WRITTEN = 1
WRONG_USE = 2


def main(given: Sequence[str]) -> int:
    """Print what the command line asks for, and return the exit status."""
    try:
        asked = parse(given)
        if sys.stdout is None:
            return _failed("there is no standard output to write to", NOT_WRITTEN)
        text = asked if isinstance(asked, str) else _text(asked)
    except WrongUseError as error:
        return _failed(str(error), WRONG_USE)
    return _written(text)


def _written(text: str) -> int:
    """Write a text to standard output, and return the exit status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A path may hold what the terminal has no letter for.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # Python tries again when it ends, and would complain of it once more.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return _failed(f"the output can't be written: {error.strerror}", NOT_WRITTEN)
    return 0


def _failed(message: str, status: int) -> int:
    """Say why nothing was printed, where somebody can be told, and return the exit status."""
    with contextlib.suppress(OSError):
        if sys.stderr is not None:
            print(f"{PROGRAM}: {message}", file=sys.stderr)
    return status


def _text(arguments: Arguments) -> str:
    """Return what is to be printed. Raises `WrongUseError` for a flag that does not exist."""
    match arguments.command:
        case "flags":
            table = flags.flags(arguments.names)
            return document(flags=table) if arguments.json else _laid_out(pages.flags(table), arguments)
        case "explain":
            flag = flags.explained(arguments.names[0])
            return document(flag=flag) if arguments.json else _laid_out(pages.explained(flag), arguments)
        case "accelerators":
            found = devices.accelerators(with_memory=True)
            if arguments.json:
                return document(accelerators=found)
            return _laid_out(pages.accelerators(found), arguments)
        case _:
            collected = report.collect(load=arguments.load)
            if arguments.json:
                return document(**vars(collected))
            return _laid_out(pages.report(collected), arguments)


def _laid_out(sections: Sequence[Section], arguments: Arguments) -> str:
    return Layout(_width(), colours.are_wanted(arguments.color, sys.stdout)).text(sections)


def _width() -> int | None:
    """Return the columns of the terminal, or what `COLUMNS` says; None where neither tells."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        return None
    return max(NARROWEST_TERMINAL, shutil.get_terminal_size().columns)

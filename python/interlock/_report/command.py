"""The command `python -m interlock`."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from interlock import _console
from interlock._report import colours, devices, flags, pages, report
from interlock._report.arguments import PROGRAM, Arguments, parse
from interlock._report.document import document
from interlock._report.layout import Layout, Section
from interlock._report.names import UnknownNameError


def main(given: Sequence[str]) -> int:
    """Print what the command line asks for, and return the exit status."""
    try:
        text = _text(parse(given))
    except UnknownNameError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A path may hold what the terminal has no letter for.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text)
    sys.stdout.flush()
    return 0


def _text(arguments: Arguments) -> str:
    """Return what is to be printed. Raises `UnknownNameError` for a flag that does not exist."""
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
    return Layout(_console.width(), colours.are_wanted(arguments.color, sys.stdout)).text(sections)

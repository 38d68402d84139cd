"""Runs `python -m interlock`."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterable, Sequence

from interlock import _console
from interlock._cli import collect, render
from interlock._cli.args import PROGRAM, Arguments, parse
from interlock._cli.collect import WrongUseError
from interlock._cli.json_output import document
from interlock._console import Layout, Section

NOT_WRITTEN = 1
WRONG_USE = 2
NOT_IMPORTED = 3


class NotImportedError(Exception):
    """A module that was named with `--import` can't be imported."""


def main(given: Sequence[str]) -> int:
    """Print what the command line asks for, and return the exit status."""
    try:
        asked = parse(given)
        if not isinstance(asked, str):
            import_all(asked.imports)
        _console.print_output(asked if isinstance(asked, str) else _text(asked))
    except WrongUseError as error:
        return _failed(str(error), WRONG_USE)
    except NotImportedError as error:
        return _failed(str(error), NOT_IMPORTED)
    except _console.OutputError as error:
        return _failed(str(error), NOT_WRITTEN)
    return 0


def import_all(names: Iterable[str]) -> None:
    """Import modules, in this order. Raises `NotImportedError` for the first that fails.

    What a module prints while it is imported goes to standard error: standard output is the report's.
    """
    for name in names:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                importlib.import_module(name)
        # Also SystemExit: the report was asked for, and not what the module does when it is run.
        except (Exception, SystemExit) as error:
            reason = (str(error).strip() or "no reason given").splitlines()[0]
            raise NotImportedError(
                f'--import: module "{name}" cannot be imported: {type(error).__name__}: {reason}'
            ) from error


def _failed(message: str, status: int) -> int:
    """Report why nothing was printed, and return the exit status."""
    _console.print_error(f"{PROGRAM}: {message}")
    return status


def _text(arguments: Arguments) -> str:
    """Return what is to be printed. Raises `WrongUseError` for a flag that does not exist."""
    match arguments.command:
        case "flags":
            table = collect.flags(arguments.names)
            return document(flags=table) if arguments.json else _laid_out(render.flags(table), arguments)
        case "explain":
            flag = collect.explained(arguments.names[0])
            return document(flag=flag) if arguments.json else _laid_out(render.explained(flag), arguments)
        case "accelerators":
            found = collect.accelerators(with_memory=True)
            if arguments.json:
                return document(accelerators=found)
            return _laid_out(render.accelerators(found), arguments)
        case _:
            collected = collect.report(load=arguments.load)
            if arguments.json:
                return document(**vars(collected))
            return _laid_out(render.report(collected), arguments)


def _laid_out(sections: Sequence[Section], arguments: Arguments) -> str:
    colored = _console.use_color(arguments.color, _console.stdout())
    return Layout(_console.width(), colored).text(sections)

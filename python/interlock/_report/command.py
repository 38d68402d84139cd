"""The command `python -m interlock`."""

from __future__ import annotations

from collections.abc import Sequence

from interlock import _console
from interlock._report import colours, devices, flags, imports, pages, report
from interlock._report.arguments import PROGRAM, Arguments, parse
from interlock._report.document import document
from interlock._report.layout import Layout, Section
from interlock._report.names import WrongUseError

NOT_WRITTEN = 1
WRONG_USE = 2
NOT_IMPORTED = 3


def main(given: Sequence[str]) -> int:
    """Print what the command line asks for, and return the exit status."""
    try:
        asked = parse(given)
        if not isinstance(asked, str):
            imports.import_all(asked.imports)
        _console.write(asked if isinstance(asked, str) else _text(asked))
    except WrongUseError as error:
        return _failed(str(error), WRONG_USE)
    except imports.NotImportedError as error:
        return _failed(str(error), NOT_IMPORTED)
    except _console.OutputError as error:
        return _failed(str(error), NOT_WRITTEN)
    return 0


def _failed(message: str, status: int) -> int:
    """Say why nothing was printed, where somebody can be told, and return the exit status."""
    _console.tell(f"{PROGRAM}: {message}")
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
    is_coloured = colours.are_wanted(arguments.color, _console.standard_output())
    return Layout(_console.width(), is_coloured).text(sections)

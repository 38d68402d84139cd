"""Runs `python -m interlock`."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from interlock import _console
from interlock._cli import collect, render
from interlock._cli.args import PROGRAM, Arguments, parse
from interlock._cli.collect import UsageError
from interlock._cli.json_output import document
from interlock._cli.markdown import markdown
from interlock._cli.memory import diff, snapshot_file
from interlock._cli.memory.page import beginning, page
from interlock._cli.memory.snapshot_file import SnapshotError
from interlock._cli.memory.summary import Summary, summarize
from interlock._cli.output_file import check_replaceable
from interlock._console import Layout, Section
from interlock._quote import printable

EXIT_OUTPUT_ERROR = 1
EXIT_USAGE_ERROR = 2
EXIT_IMPORT_ERROR = 3
EXIT_SNAPSHOT_ERROR = 4
EXIT_SETTINGS_CHANGED = 5


class ModuleImportError(Exception):
    """A module given with `--import` cannot be imported."""


def main(command_line: Sequence[str]) -> int:
    """Run a command line and return the exit status."""
    try:
        if command_line[:1] == ["watch"]:
            return _watch(command_line[1:])
        arguments = parse(command_line)
        if isinstance(arguments, str):
            _console.print_output(arguments)
        else:
            import_all(arguments.imports)
            _console.print_output(_text(arguments))
    except UsageError as error:
        return _failed(str(error), EXIT_USAGE_ERROR)
    except ModuleImportError as error:
        return _failed(str(error), EXIT_IMPORT_ERROR)
    except SnapshotError as error:
        return _failed(str(error), EXIT_SNAPSHOT_ERROR)
    except _console.OutputError as error:
        return _failed(str(error), EXIT_OUTPUT_ERROR)
    return 0


def _watch(command_line: Sequence[str]) -> int:
    """Run the program of `watch` and return its exit status."""
    # Imported here: the other commands need no settings of other libraries.
    from interlock._cli import watch

    command = watch.parse(command_line)
    if isinstance(command, str):
        _console.print_output(command)
        return 0
    return watch.run(command, EXIT_OUTPUT_ERROR, EXIT_SETTINGS_CHANGED)


def import_all(names: Iterable[str]) -> None:
    """Import modules in the given order. Raises `ModuleImportError` for the first that fails.

    Output of a module during its import is redirected to standard error, because standard output carries
    the report.
    """
    for name in names:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                importlib.import_module(name)
        # Also SystemExit: a module that ends the process must not end the report without an error.
        except (Exception, SystemExit) as error:
            reason = (str(error).strip() or "no reason given").splitlines()[0]
            raise ModuleImportError(
                f'--import: module "{name}" cannot be imported: {type(error).__name__}: {reason}'
            ) from error


def _failed(message: str, status: int) -> int:
    """Print an error message on one line, whatever names it has, and return the exit status."""
    _console.print_error(f"{PROGRAM}: {printable(message, len(message))}")
    return status


def _text(arguments: Arguments) -> str:
    """Return the text or JSON to print. Raises `UsageError` for an unknown flag or module."""
    match arguments.command:
        case "flags":
            table = collect.flags(arguments.names)
            if arguments.markdown:
                return markdown(table)
            return _output(arguments, render.flags(table), flags=table)
        case "explain":
            flag = collect.explain(arguments.names[0])
            return _output(arguments, render.explain(flag), flag=flag)
        case "accelerators":
            found = collect.accelerators(with_memory=True)
            return _output(arguments, render.accelerators(found), accelerators=found)
        case "memory":
            if arguments.diff is not None:
                return _memory_diff(arguments, *arguments.diff)
            summary = _memory(arguments.names[0], arguments.html)
            return _output(arguments, render.memory(summary), memory=summary)
        case "threads":
            return _threads(arguments)
        case _:
            collected = collect.report(load=arguments.load)
            return _output(arguments, render.report(collected), **vars(collected))


def _threads(arguments: Arguments) -> str:
    # Imported here: the other commands need no settings of other libraries.
    from interlock._cli import threads

    collected = threads.collect()
    return _output(arguments, threads.render(collected), **vars(collected))


def _memory_diff(arguments: Arguments, before: str, after: str) -> str:
    changes = diff.compare(snapshot_file.load(before), before, snapshot_file.load(after), after)
    return _output(arguments, render.memory_diff(changes), memory_diff=changes)


def _memory(path: str, html: str | None) -> Summary:
    """Return the summary of a snapshot, and write its page if a file for it is given."""
    snapshot = snapshot_file.load(path)
    if html is not None:
        if os.path.exists(html) and os.path.samefile(path, html):
            raise UsageError(f'memory: --html must not name the snapshot, got "{html}"')
        check_replaceable("memory: --html", html, beginning())
        try:
            Path(html).write_text(page(snapshot, path), encoding="utf-8")
        except OSError as error:
            raise _console.OutputError(f'cannot write "{html}": {error.strerror}') from error
    return summarize(snapshot, path)


def _output(arguments: Arguments, sections: Sequence[Section], /, **collected: object) -> str:
    """Return what was collected as JSON, or as the text of its sections."""
    if arguments.json:
        return document(**collected)
    output = _console.stdout()
    return Layout(
        _console.width(is_terminal=output.isatty()), _console.use_color(arguments.color, output)
    ).text(sections)

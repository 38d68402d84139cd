"""Parses the command line of `python -m interlock`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import interlock
from interlock._cli import collect
from interlock._cli.collect import UnknownNameError, UsageError
from interlock._cli.json_output import document
from interlock._console import Color
from interlock._suggest import closest_match

PROGRAM = "python -m interlock"
COMMANDS = {
    "report": "devices, libraries, flags and variables; the default",
    "flags": "the values of all flags, or of the named flags and modules",
    "explain": "one flag in full: value, origin, type and documentation",
    "accelerators": "the devices and their memory, or the reason why none is available",
    "memory": "a memory snapshot: peak, call sites, fragmentation; --html: its timeline; --diff: what grew",
    "threads": "the CPUs that this process may use, and the thread pools of its libraries",
    "watch": "which code of a program changes settings of PyTorch and the environment",
}
WATCH_USAGE = (
    f"{PROGRAM} watch [--json FILE] [--fail [--allow NAME[=VALUE]]...] script.py ARGS... | -m module ARGS..."
)
_WITHOUT_FLAGS = ("accelerators", "memory")
_VALUES_OF_OPTIONS = {"--color": 1, "--html": 1, "--import": 1, "--diff": 2}


@dataclass(frozen=True)
class Arguments:
    """The parsed command line: what to report, and in which form."""

    command: str | None
    names: tuple[str, ...]
    imports: tuple[str, ...]
    """The modules to import before the report is made; they may register flags."""
    load: bool
    json: bool
    markdown: bool
    """Whether to print a table in Markdown."""
    html: str | None
    """The file for the page of a memory snapshot."""
    diff: tuple[str, str] | None
    """Two memory snapshots to compare."""
    color: Color


def parse(command_line: Sequence[str]) -> Arguments | str:
    """Parse a command line.

    Options may be placed before and after the command.

    Returns:
        The parsed arguments, or the text to print for ``--help`` and ``--version``.

    Raises:
        UsageError: The command line is invalid.

    """
    command, rest = _split(command_line)
    if command is not None and command not in COMMANDS:
        suggestion = _suggest_command(command)
        known = "" if suggestion else f"; the commands are {', '.join(COMMANDS)}"
        raise UnknownNameError(f'unknown command "{command}"{known}', suggestion)
    if command == "watch":
        raise UsageError(f"watch must be the first argument; usage: {WATCH_USAGE}")
    if command == "report":
        command = None
    parser = _parser(command)
    if not {"-h", "--help"}.isdisjoint(rest):
        return parser.format_help()
    parsed, unknown = parser.parse_known_args(rest)
    for argument in unknown:
        if argument.startswith("-"):
            message = f'{command or "the report"} has no option "{argument}"'
            raise UnknownNameError(message, closest_match(argument.partition("=")[0], options(command)))
        raise UsageError(f'{command or "report"}: unexpected argument "{argument}"')
    if parsed.version:
        if parsed.json:
            return document(versions={"interlock": interlock.__version__})
        return f"interlock {interlock.__version__}\n"
    if parsed.markdown and parsed.json:
        raise UsageError("flags: --markdown must not be given with --json")
    names, diff = parsed.names, parsed.diff
    if command == "memory":
        if diff is None and names is None:
            raise UsageError(f"memory: a SNAPSHOT or --diff is required; see `{parser.prog} --help`")
        for given, name in ((names, "SNAPSHOT"), (parsed.html, "--html")):
            if diff is not None and given is not None:
                raise UsageError(f'memory: {name} must not be given with --diff, got "{given}"')
    return Arguments(
        command=command,
        names=tuple([names] if isinstance(names, str) else names or ()),
        imports=tuple(parsed.imports or ()),
        load=parsed.load,
        json=parsed.json,
        markdown=parsed.markdown,
        html=parsed.html,
        diff=None if diff is None else (diff[0], diff[1]),
        color=Color(parsed.color),
    )


def _split(command_line: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the command, which is the first positional argument, and the other arguments."""
    values = 0
    for index, argument in enumerate(command_line):
        if argument.startswith("-"):
            values = _VALUES_OF_OPTIONS.get(argument, 0)
        elif values:
            values -= 1
        else:
            return argument, [*command_line[:index], *command_line[index + 1 :]]
    return None, list(command_line)


def options(command: str | None) -> list[str]:
    """Return the long options of a command, or of the report."""
    return [each for each in _parser(command)._option_string_actions if each.startswith("--")]


def _suggest_command(command: str) -> str | None:
    """Return the command that a misspelt command or the name of a flag probably stands for, or None."""
    known = collect.detail_commands() | {each: each for each in COMMANDS}
    suggestion = closest_match(collect.strip_prefix(command), known)
    return suggestion and known[suggestion]


class _Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that raises `UsageError` instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def help_of(command: str) -> str:
    """Return the text that `--help` prints for a command."""
    return _parser(command).format_help()


def _parser(command: str | None) -> argparse.ArgumentParser:
    """Return the parser of a command, or of the report."""
    parser = _Parser(
        prog=f"{PROGRAM} {command or ''}".strip(),
        usage={None: f"{PROGRAM} [COMMAND] [OPTION...]", "watch": WATCH_USAGE}.get(command),
        description=f"Show {COMMANDS[command]}."
        if command
        else "Show devices, libraries, flags and variables.",
        epilog=None if command else _commands(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    # Of the options that the command does not have.
    parser.set_defaults(
        names=None, imports=None, load=False, markdown=False, html=None, diff=None, version=False
    )
    if command == "watch":
        # Only for the text of `--help`: what follows the program is not parsed, see `_cli.watch`.
        parser.add_argument("--json", metavar="FILE", help="write the changes as one JSON document to a file")
        parser.add_argument("--fail", action="store_true", help="exit with 5 if a setting was changed")
        parser.add_argument(
            "--allow",
            metavar="NAME[=VALUE]",
            help="with --fail, accept changes of a setting, or only those to a value; the name may have the "
            "wildcards * and ?; may be repeated",
        )
        parser.add_argument("-m", metavar="MODULE", help="run a module, like `python -m`")
        return parser
    if command == "flags":
        parser.add_argument(
            "names",
            metavar="NAME",
            nargs="*",
            help="a flag (cudnn.enabled) or a module (cudnn)",
        )
        parser.add_argument(
            "--markdown",
            action="store_true",
            help="print a table in Markdown for the documentation of a library, without values",
        )
    if command == "explain":
        parser.add_argument("names", metavar="NAME", help="a flag, such as cudnn.enabled")
    if command == "memory":
        parser.add_argument(
            "names",
            metavar="SNAPSHOT",
            nargs="?",
            help="a file that dump_snapshot of interlock.accelerator.memory or of PyTorch wrote",
        )
        parser.add_argument(
            "--html",
            metavar="FILE",
            help="write the timeline and the segments as one HTML file, which needs no network",
        )
        parser.add_argument(
            "--diff",
            metavar=("BEFORE", "AFTER"),
            nargs=2,
            help="instead of one snapshot, show what grew from one to another, by call site",
        )
    if command is None:
        parser.add_argument(
            "--load", action="store_true", help="load the libraries that are found, to query their versions"
        )
        parser.add_argument(
            "-V", "--version", action="store_true", help="print only the version of interlock"
        )
    if command not in _WITHOUT_FLAGS:
        parser.add_argument(
            "--import",
            dest="imports",
            metavar="MODULE",
            action="append",
            help="import a module first, so that its flags are registered; may be repeated",
        )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    parser.add_argument(
        "--color",
        choices=[str(each) for each in Color],
        default="auto",
        help="colours; auto: on a terminal",
    )
    return parser


def _commands() -> str:
    width = max(map(len, COMMANDS)) + 2
    return "\n".join(["commands:", *(f"  {name.ljust(width)}{what}" for name, what in COMMANDS.items())])

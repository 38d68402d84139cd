"""The command line of `python -m interlock`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import interlock
from interlock._cli import collect
from interlock._cli.collect import UnknownNameError, WrongUseError
from interlock._console import Color
from interlock._suggest import closest_match

PROGRAM = "python -m interlock"
COMMANDS = {
    "flags": "the values of all flags, or of those that are named",
    "explain": "all that is known of one flag",
    "accelerators": "the devices and their memory, or why there are none",
}
_COMMON_OPTIONS = ("--json", "--color", "--help")
_FLAG_OPTIONS = ("--import",)
"""Options of the report and of the commands that show flags."""
_WITHOUT_FLAGS = ("accelerators",)
_VALUES_FOLLOW = ("--color", "--import")
_REPORT_OPTIONS = ("--load", "--version")


@dataclass(frozen=True)
class Arguments:
    """What to report, and how."""

    command: str | None
    names: tuple[str, ...]
    imports: tuple[str, ...]
    """The modules to import first, which may register flags."""
    load: bool
    json: bool
    color: Color


def parse(given: Sequence[str]) -> Arguments | str:
    """Return what the command line asks for, or the text that answers it: help and the version.

    Options may stand before and after the command. Raises `WrongUseError` where it can't be followed.
    """
    command, rest = _split(given)
    if command is not None and command not in COMMANDS:
        raise UnknownNameError(f'no command is called "{command}"', _similar(command))
    parser = _parser(command)
    if not {"-h", "--help"}.isdisjoint(rest):
        return parser.format_help()
    parsed, unknown = parser.parse_known_args(rest)
    for argument in unknown:
        if argument.startswith("-"):
            options = _COMMON_OPTIONS if command in _WITHOUT_FLAGS else (*_COMMON_OPTIONS, *_FLAG_OPTIONS)
            options = options if command else (*options, *_REPORT_OPTIONS)
            message = f'{command or "the report"} has no option "{argument}"'
            raise UnknownNameError(message, closest_match(argument.partition("=")[0], options))
        raise WrongUseError(f'{command} has no use for "{argument}"')
    if getattr(parsed, "version", False):
        return f"interlock {interlock.__version__}\n"
    names = getattr(parsed, "names", [])
    return Arguments(
        command=command,
        names=tuple([names] if isinstance(names, str) else names),
        imports=tuple(getattr(parsed, "imports", None) or ()),
        load=getattr(parsed, "load", False),
        json=parsed.json,
        color=Color(parsed.color),
    )


def _split(given: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the first argument that is no option and no option's value, and the others."""
    for place, argument in enumerate(given):
        if not argument.startswith("-") and given[max(0, place - 1)] not in _VALUES_FOLLOW:
            return argument, [*given[:place], *given[place + 1 :]]
    return None, list(given)


def _similar(command: str) -> str | None:
    """Return the command that is like one that does not exist, or that takes the flag of this name."""
    known = collect.commands() | {each: each for each in COMMANDS}
    suggestion = closest_match(collect.strip_prefix(command), known)
    return suggestion and known[suggestion]


class _Parser(argparse.ArgumentParser):
    """Leaves it to the command to say what is wrong."""

    def error(self, message: str) -> NoReturn:
        raise WrongUseError(f"{message}; `{self.prog} --help` says more")


def _parser(command: str | None) -> argparse.ArgumentParser:
    """Return the parser of a command, or of the report."""
    parser = _Parser(
        prog=f"{PROGRAM} {command or ''}".strip(),
        usage=None if command else f"{PROGRAM} [COMMAND] [OPTION...]",
        description=f"Show {COMMANDS[command]}." if command else "Show what interlock finds and what is set.",
        epilog=None if command else _commands(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if command == "flags":
        parser.add_argument("names", metavar="NAME", nargs="*", help="cudnn.enabled, or cudnn for its flags")
    if command == "explain":
        parser.add_argument("names", metavar="NAME", help="the dotted name below backends: cudnn.enabled")
    if command is None:
        parser.add_argument(
            "--load", action="store_true", help="load the libraries that are found, to ask for their version"
        )
        parser.add_argument("--version", action="store_true", help="the version of interlock alone")
    if command not in _WITHOUT_FLAGS:
        parser.add_argument(
            "--import",
            dest="imports",
            metavar="MODULE",
            action="append",
            help="import a module first, for the flags that it registers; may be given several times",
        )
    parser.add_argument("--json", action="store_true", help="the same as one JSON document")
    parser.add_argument(
        "--color", choices=[str(each) for each in Color], default="auto", help="colours; auto: on a terminal"
    )
    return parser


def _commands() -> str:
    width = max(map(len, COMMANDS)) + 2
    return "\n".join(["commands:", *(f"  {name.ljust(width)}{what}" for name, what in COMMANDS.items())])

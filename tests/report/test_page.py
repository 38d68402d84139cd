"""The captures in docs/report.md are what the commands print: the same sections, rows and columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.report.command import sections, text

PAGE = Path(__file__).parents[2] / "docs" / "report.md"
CAPTURES = dict(re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE))
# The other sections are names with what they stand for.
TABLES = (
    "Vendor libraries",
    "OpenMP runtimes",
    "Flags that differ from their default",
    "Flags",
    "Environment",
)
# What stands in these depends on the machine.
DEPENDS = ("OpenMP runtimes", "Environment")


class Shape(NamedTuple):
    """The columns of a section, where it is a table that is not empty, and the names of its rows."""

    columns: list[str] | None
    names: list[str]


def shapes(printed: str) -> dict[str, Shape]:
    return {title: shape(title, rows) for title, rows in sections(printed).items()}


def shape(title: str, rows: list[list[str]]) -> Shape:
    names = [row[0] for row in rows]
    if title not in TABLES:
        return Shape(None, names)
    if len(rows) == 1:
        return Shape(None, [])
    # Paths stand in lines of their own where they are long.
    return Shape([column for column in rows[0] if column != "path"], names[1:])


def test_every_command_is_captured() -> None:
    words = {word for command in CAPTURES for word in command.split()}
    assert words >= {"--load", "flags", "explain", "accelerators"}


@pytest.mark.parametrize("command", CAPTURES)
def test_a_capture_has_the_structure_of_a_fresh_one(command: str) -> None:
    assigned, arguments = command.split("python -m interlock")
    variables = dict(word.split("=") for word in assigned.split())
    fresh = shapes(text(*arguments.split(), COLUMNS="80", **variables))
    captured = shapes(CAPTURES[command])
    assert list(captured) == list(fresh)
    for title, told in captured.items():
        if title in DEPENDS:
            assert None in (told.columns, fresh[title].columns) or told.columns == fresh[title].columns
        else:
            assert told == fresh[title], title
        if title == "Environment":
            assert {*variables} == {*told.names} <= {*fresh[title].names}

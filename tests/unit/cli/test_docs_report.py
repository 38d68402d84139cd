"""docs/report.md is true: sections, rows and columns of its captures, and the keys of its documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from interlock._cli import json_output
from interlock._cli.collect import Runtime

from tests.unit.cli.command import document, keys, sections, text

PAGE = Path(__file__).parents[3] / "docs" / "report.md"
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
    return Shape(rows[0], names[1:])


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


def test_the_table_of_keys_is_that_of_the_documents() -> None:
    listed = re.findall(r"^\| `([a-z_.\[\]]+)` \|", PAGE.read_text(), re.MULTILINE)
    told = document(INTERLOCK_ACCELERATOR="host:2", INTERLOCK_CUDNN_ENABLED="0")
    # Which runtimes are loaded depends on the machine.
    told |= json.loads(json_output.document(openmp=[Runtime("libgomp", "/libgomp.so.1", None, 2)]))
    explained, flag = document("explain", "cudnn.enabled"), told["flags"][0]
    more = {key: value for key, value in explained["flag"].items() if key not in flag}
    assert sorted(listed) == sorted([*keys(told), *keys({"flag": more})])
    assert {*flag} < {*explained["flag"]}


def test_the_documents_of_the_commands_are_parts_of_that_of_the_report() -> None:
    told = document(INTERLOCK_ACCELERATOR="host:2", INTERLOCK_CUDNN_ENABLED="0")
    devices = document("accelerators", INTERLOCK_ACCELERATOR="host:2")
    assert list(keys(devices)) == ["format", *keys({"accelerators": told["accelerators"]})]
    flags = document("flags", "cudnn.enabled", INTERLOCK_CUDNN_ENABLED="0")
    assert flags == {"format": told["format"], "flags": told["flags"]}

"""docs/command_line.md matches the command: options, exit statuses, outputs and keys of JSON documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from interlock._cli import args, json_output, main
from interlock._cli.collect import Runtime

from tests.unit.cli.command import document, keys, sections, text

PAGE = Path(__file__).parents[3] / "docs" / "command_line.md"
CAPTURES = dict(re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE))
# The other sections are pairs of names and values.
TABLES = (
    "Vendor libraries",
    "OpenMP runtimes",
    "Flags that differ from their default",
    "Flags",
    "Environment",
)
# The contents of these depend on the machine.
DEPENDS = ("OpenMP runtimes", "Environment")


class Shape(NamedTuple):
    """The columns of a section, if it is a non-empty table, and the names of its rows."""

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


def test_every_command_is_documented_with_output() -> None:
    words = {word for command in CAPTURES for word in command.split()}
    assert words >= {"--load", "flags", "explain", "accelerators"}


def test_every_command_option_and_exit_status_is_documented() -> None:
    page = PAGE.read_text()
    for command in (None, *args.COMMANDS):
        assert f"python -m interlock {command}" in page or command is None
        parser = args._parser(command)
        for option in (option for action in parser._actions for option in action.option_strings):
            assert re.search(rf"^\|.*`{option}\b", page, re.MULTILINE), option
    statuses = {value for name, value in vars(main).items() if name.startswith("EXIT_")}
    documented = {int(status) for status in re.findall(r"^\| (\d) \|", page, re.MULTILINE)}
    assert documented == {0, *statuses}


@pytest.mark.parametrize("command", CAPTURES)
def test_documented_output_has_the_structure_of_new_output(command: str) -> None:
    assigned, arguments = command.split("python -m interlock")
    variables = dict(word.split("=") for word in assigned.split())
    fresh = shapes(text(*arguments.split(), COLUMNS="80", **variables))
    captured = shapes(CAPTURES[command])
    assert list(captured) == list(fresh)
    for title, section in captured.items():
        if title in DEPENDS:
            assert None in (section.columns, fresh[title].columns) or section.columns == fresh[title].columns
        else:
            assert section == fresh[title], title
        if title == "Environment":
            assert {*variables} == {*section.names} <= {*fresh[title].names}


def documented_keys() -> list[str]:
    """Return the keys that the page lists."""
    return re.findall(r"^\| `([a-z_.\[\]]+)` \|", PAGE.read_text(), re.MULTILINE)


def test_documented_keys_equal_those_of_the_json_output() -> None:
    listed = [key for key in documented_keys() if not key.startswith(("memory.", "memory_diff."))]
    reported = document(INTERLOCK_ACCELERATOR="host:2", INTERLOCK_CUDNN_ENABLED="0")
    # Which runtimes are loaded depends on the machine.
    reported |= json.loads(json_output.document(openmp=[Runtime("libgomp", "/libgomp.so.1", None, 2)]))
    explained, flag = document("explain", "cudnn.enabled"), reported["flags"][0]
    more = {key: value for key, value in explained["flag"].items() if key not in flag}
    threads = document("threads")
    del threads["format"]
    assert sorted(listed) == sorted([*keys(reported), *keys({"flag": more}), *keys(threads)])
    assert {*flag} < {*explained["flag"]}


def test_documents_of_commands_are_parts_of_the_report() -> None:
    reported = document(INTERLOCK_ACCELERATOR="host:2", INTERLOCK_CUDNN_ENABLED="0")
    devices = document("accelerators", INTERLOCK_ACCELERATOR="host:2")
    assert list(keys(devices)) == ["format", *keys({"accelerators": reported["accelerators"]})]
    flags = document("flags", "cudnn.enabled", INTERLOCK_CUDNN_ENABLED="0")
    explained = document("explain", "cudnn.enabled", INTERLOCK_CUDNN_ENABLED="0")
    assert flags == {"format": reported["format"], "flags": [explained["flag"]]}
    assert reported["flags"] == [{key: explained["flag"][key] for key in reported["flags"][0]}]

"""The layout of tables and fields in lines of a given width."""

from __future__ import annotations

import pytest
from interlock._cli import collect, render
from interlock._console import Cell, Fields, Layout, Row, Section, Table
from interlock._core import backends as _native


def table(columns: tuple[str, ...], *rows: tuple[str, ...]) -> list[str]:
    """Return the lines of a table in 40 columns; cells with spaces may be wrapped."""
    cells = (Row(tuple(Cell(text, no_wrap=" " not in text) for text in row)) for row in rows)
    title, *lines = Layout(40, False).text([Section("Title", (Table(columns, tuple(cells)),))]).splitlines()
    assert title == "Title"
    return lines


def test_overlong_cell_is_printed_below_its_row() -> None:
    sentence = "some words that are wrapped there to the width"
    assert table(
        ("name", "what", "path"),
        ("one", "short", "/a/b"),
        ("two", "short", "/long" * 10),
        ("three", sentence, "/a/b"),
        ("four", sentence, "/long" * 10),
    ) == [
        "  name   what   path",
        "  one    short  /a/b",
        "  two    short",
        "    " + "/long" * 10,
        "  three         /a/b",
        "    some words that are wrapped there to",
        "    the width",
        "  four",
        "    some words that are wrapped there to",
        "    the width",
        "    " + "/long" * 10,
    ]


@pytest.mark.parametrize("length", [32, 37, 38, 39, 60])
def test_overlong_name_is_printed_above_its_row(length: int) -> None:
    assert table(
        ("variable", "value"), ("n" * length, "0"), ("other", "1"), ("m" * length, "/long" * 10)
    ) == [
        "  variable  value",
        "  " + "n" * length,
        "            0",
        "  other     1",
        "  " + "m" * length,
        "    " + "/long" * 10,
    ]


@pytest.mark.parametrize("columns", range(50, 121))
def test_every_width_shows_the_same_rows_without_empty_lines(columns: int) -> None:
    printed = Layout(columns, False).text(render.flags(collect.flags()))
    title, names, *lines = printed.splitlines()
    assert (title, names.split()) == ("Flags", ["flag", "value", "level", "set", "by"])
    assert all(line.strip() for line in lines)
    every = [flag.name for flag in collect.flags()]
    assert [line.split()[0] for line in lines if line.split()[0] in every] == every


def test_unbreakable_field_gets_its_own_line() -> None:
    fields = Fields((("path", Cell("/a " * 20 + "b", no_wrap=True)), ("text", Cell("one two " * 6))))
    printed = Layout(40, False).text([Section("Title", (fields,))])
    assert printed.splitlines() == [
        "Title",
        "  path",
        "    " + "/a " * 20 + "b",
        "  text  one two one two one two one two",
        "        one two one two",
    ]


@pytest.mark.parametrize("row", _native.table(), ids=lambda row: row["name"])
def test_explanation_of_each_flag_fits_the_width(row: _native.Flag) -> None:
    lines = Layout(60, False).text(render.explain(collect.explain(row["name"]))).splitlines()
    assert all(len(line) <= 60 or " " not in line.strip() for line in lines)

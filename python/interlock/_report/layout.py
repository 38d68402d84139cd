"""Puts sections of fields and tables into lines that fit the width of a terminal.

What is `whole` (paths, names, what somebody set) is never broken, so that it can be copied: where it does not
fit it gets a line of its own, however long. All else is wrapped between words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from interlock._report.colours import Style, painted

INDENT = 2
BELOW = 4
GAP = 2
NARROWEST = 12
"""The fewest columns that text is wrapped to."""

# What is quoted is one word: it may be a path with spaces in it.
_WORDS = re.compile(r"""\S*"[^"]*"\S*|(?<!\S)'[^']*'\S*|\S+""")


@dataclass(frozen=True)
class Cell:
    """A piece of text, how it looks and whether it must stay in one piece."""

    text: str
    style: Style = Style.PLAIN
    whole: bool = False


@dataclass(frozen=True)
class Row:
    """A row of a table, with sentences that stand below it."""

    cells: tuple[Cell, ...]
    notes: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Table:
    """Rows below the names of their columns."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Fields:
    """Names with what they stand for."""

    rows: tuple[tuple[str, Cell], ...]


Block: TypeAlias = Table | Fields | Cell


@dataclass(frozen=True)
class Section:
    """Blocks below a title."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Layout:
    """Where and how sections are shown: the columns of the terminal, None for any number, and colours."""

    width: int | None
    is_coloured: bool

    def text(self, sections: Iterable[Section]) -> str:
        """Return the lines of the sections, with an empty one between two."""
        return "\n".join("".join(f"{line}\n" for line in self._section(section)) for section in sections)

    def _section(self, section: Section) -> Iterator[str]:
        yield self._painted(section.title, Style.TITLE)
        for number, block in enumerate(section.blocks):
            if number > 0:
                yield ""
            match block:
                case Table():
                    yield from self._table(block)
                case Fields():
                    yield from self._fields(block)
                case Cell():
                    yield from self._sentence(block, INDENT)

    def _sentence(self, cell: Cell, indent: int) -> Iterator[str]:
        for piece in self._pieces(cell, self._room(indent)):
            yield " " * indent + self._painted(piece, cell.style)

    def _fields(self, fields: Fields) -> Iterator[str]:
        indent = INDENT + max(len(name) for name, _ in fields.rows) + GAP
        room = self._room(indent)
        for name, cell in fields.rows:
            first, *others = self._pieces(cell, room)
            if room is not None and len(first) > room:
                yield " " * INDENT + name
                yield from self._sentence(cell, BELOW)
                continue
            yield f"{' ' * INDENT}{name}".ljust(indent) + self._painted(first, cell.style)
            for piece in others:
                yield " " * indent + self._painted(piece, cell.style)

    def _table(self, table: Table) -> Iterator[str]:
        rows = [Row(tuple(Cell(name, Style.FAINT) for name in table.columns)), *table.rows]
        widths = [max(len(row.cells[place].text) for row in rows) for place in range(len(table.columns))]
        has_last_below = not self._fits(widths) and any(row.cells[-1].whole for row in table.rows)
        if has_last_below:
            widths = widths[:-1]
        if not self._fits(widths):
            widths = self._narrowed(widths, rows)
        for row in rows:
            yield from self._cells(row.cells[: len(widths)], widths)
            last = row.cells[-1]
            if has_last_below and last.whole and last.text:
                yield " " * BELOW + self._painted(last.text, last.style)
            for note in row.notes:
                yield from self._sentence(note, BELOW)

    def _fits(self, widths: list[int]) -> bool:
        return self.width is None or INDENT + sum(widths) + GAP * (len(widths) - 1) <= self.width

    def _narrowed(self, widths: list[int], rows: list[Row]) -> list[int]:
        """Return widths that fit: a quarter for each column but the first, and for that what is left."""
        assert self.width is not None
        others = [
            min(width, max(self.width // 4, *(_longest_word(row.cells[place]) for row in rows)))
            for place, width in enumerate(widths[1:], start=1)
        ]
        first = self.width - INDENT - sum(others) - GAP * len(others)
        if first > widths[0]:
            widest = others.index(max(others))
            others[widest] += first - widths[0]
        return [max(NARROWEST, min(widths[0], first)), *others]

    def _cells(self, cells: tuple[Cell, ...], widths: list[int]) -> Iterator[str]:
        columns = [self._pieces(cell, width) for cell, width in zip(cells, widths, strict=True)]
        if len(cells[0].text) > widths[0]:
            yield " " * INDENT + self._painted(cells[0].text, cells[0].style)
            columns[0] = [""]
        for pieces in zip_longest(*columns, fillvalue=""):
            line = " " * INDENT
            for piece, cell, width in zip(pieces, cells, widths, strict=True):
                line += self._painted(piece, cell.style) + " " * (width - len(piece) + GAP)
            yield line.rstrip()

    def _pieces(self, cell: Cell, room: int | None) -> list[str]:
        """Return the text of a cell in lines of this length."""
        if cell.whole or room is None or len(cell.text) <= room:
            return [cell.text]
        lines = [""]
        for word in _WORDS.findall(cell.text):
            if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
                lines.append(word)
            else:
                lines[-1] = f"{lines[-1]} {word}".lstrip()
        return lines

    def _room(self, indent: int) -> int | None:
        return None if self.width is None else max(NARROWEST, self.width - indent)

    def _painted(self, text: str, style: Style) -> str:
        return painted(text, style) if self.is_coloured else text


def _longest_word(cell: Cell) -> int:
    return len(cell.text) if cell.whole else max(map(len, _WORDS.findall(cell.text)), default=0)

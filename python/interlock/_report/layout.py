"""Puts sections of fields and tables into lines that fit the width of a terminal.

What is `whole` (paths, names, what somebody set) is never broken, so that it can be copied: where it does not
fit it gets a line of its own, however long. All else is wrapped between words. In a table a name that does
not fit stands above its row and any other cell below it, so that one long cell moves no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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


EMPTY = Cell("")


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
        widths = self._widths(table)
        yield self._line([Cell(name, Style.FAINT) for name in table.columns], widths)
        for row in table.rows:
            placed = list(zip(row.cells, widths, strict=True))
            beside = [cell if len(cell.text) <= width else EMPTY for cell, width in placed]
            below = [cell for cell, width in placed if len(cell.text) > width]
            if below and below[0] is row.cells[0]:
                name = below.pop(0)
                yield " " * INDENT + self._painted(name.text, name.style)
            if line := self._line(beside, widths):
                yield line
            for cell in (*below, *row.notes):
                yield from self._sentence(cell, BELOW)

    def _widths(self, table: Table) -> list[int]:
        """Return the width of each column. A cell that is wider gets lines of its own.

        The widest cells go there until all others fit beside each other; the names of the columns stay.
        """
        least = [len(name) for name in table.columns]
        # The widest is the last and goes first; of two that are as wide, the one further to the right.
        cells = sorted(
            (len(cell.text), place)
            for row in table.rows
            for place, cell in enumerate(row.cells)
            if len(cell.text) > least[place]
        )
        widths = least.copy()
        for length, place in cells:
            widths[place] = length
        while cells and not self._fits(widths):
            _, place = cells.pop()
            widths[place] = max((length for length, other in cells if other == place), default=least[place])
        return widths

    def _fits(self, widths: list[int]) -> bool:
        return self.width is None or INDENT + sum(widths) + GAP * (len(widths) - 1) <= self.width

    def _line(self, cells: Iterable[Cell], widths: Iterable[int]) -> str:
        """Return cells beside each other, or nothing where all are empty."""
        line = " " * INDENT
        for cell, width in zip(cells, widths, strict=True):
            line += self._painted(cell.text, cell.style) + " " * (width - len(cell.text) + GAP)
        return line.rstrip()

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

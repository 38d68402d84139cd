"""Terminal output of interlock's programs: streams, colours, and the layout of text, fields and tables.

`Layout` wraps text to the width of the terminal. A `no_wrap` cell (a path, a name, a value) is never wrapped,
so that it can be copied: if it does not fit, it is printed on its own line. In a table, a first cell that
does not fit is printed above its row and any other cell below it, so that one long cell does not shift other
columns.
"""

from __future__ import annotations

import contextlib
import enum
import io
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO, TypeAlias

__all__ = [
    "EMPTY",
    "STANDARD_ERROR",
    "Block",
    "Cell",
    "Color",
    "Fields",
    "Layout",
    "OutputError",
    "Row",
    "Section",
    "Style",
    "Table",
    "print_error",
    "print_output",
    "stdout",
    "styled",
    "use_color",
    "width",
]

# The columns that tables need; a narrower terminal breaks their lines itself.
_MIN_WIDTH = 50


class OutputError(Exception):
    """Standard output cannot be written."""


def stdout() -> TextIO:
    """Return standard output. Raises `OutputError` if it is closed."""
    if sys.stdout is None:
        raise OutputError("there is no standard output")
    return sys.stdout


def width(*, is_terminal: bool) -> int | None:
    """Return the number of columns of the terminal, or `COLUMNS`; None if neither is available.

    Args:
        is_terminal: Whether the output is a terminal.

    """
    if not is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        return None
    return max(_MIN_WIDTH, shutil.get_terminal_size().columns)


def print_output(text: str) -> None:
    """Write a text to standard output. If the pipe is closed, SIGPIPE ends this process.

    Raises:
        OutputError: Standard output is closed or cannot be written.

    """
    output = stdout()
    if isinstance(output, io.TextIOWrapper):
        # A path may contain characters that the terminal's encoding lacks.
        output.reconfigure(errors="backslashreplace")
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        output.write(text)
        output.flush()
    except OSError as error:
        # Python flushes again at exit, and would report the error a second time.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), output.fileno())
        raise OutputError(f"cannot write the output: {error.strerror}") from error
    finally:
        # None means that the handler was not installed by Python, which then cannot restore it.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL if before is None else before)


STANDARD_ERROR = 2
"""The file descriptor. A program that `watch` runs may have replaced or closed `sys.stderr`."""


def print_error(message: str) -> None:
    """Write a line to the standard error of this process. Does nothing if it has none."""
    if sys.__stderr__ is None:
        return
    line = f"{message}\n".encode(sys.__stderr__.encoding, "backslashreplace")
    # Bypass Python's buffer, which Python would flush again at exit.
    with contextlib.suppress(OSError):
        os.write(STANDARD_ERROR, line)


class Color(enum.StrEnum):
    """The values of `--color`: when to colour the output."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Style(enum.StrEnum):
    """The style of a text; the values are the parameters of the terminal's SGR escape sequence."""

    PLAIN = ""
    TITLE = "1"
    DIM = "2"
    PROBLEM = "31"
    SET = "36"


def use_color(choice: Color, stream: TextIO) -> bool:
    """Return whether to colour output to a stream."""
    if choice is not Color.AUTO:
        return choice is Color.ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def styled(text: str, style: Style) -> str:
    """Return a text enclosed in the escape sequences of a style."""
    return f"\x1b[{style}m{text}\x1b[0m" if text and style else text


_INDENT = 2
# The indentation of lines below a row or a field.
_INDENT_BELOW = 4
_GAP = 2
# The smallest width, in columns, to which text is wrapped.
_MIN_TEXT_WIDTH = 12

# A quoted text counts as one word, because it may be a path with spaces.
_WORDS = re.compile(r"""\S*"[^"]*"\S*|(?<!\S)'[^']*'\S*|\S+""")
# The positions at which a list of numbers such as `0-3,8` may be wrapped.
_LIST_BREAKS = re.compile(r"(?<=,)(?=[0-9])")


@dataclass(frozen=True)
class Cell:
    """A text with a style. A `no_wrap` cell is never wrapped."""

    text: str
    style: Style = Style.PLAIN
    no_wrap: bool = False


EMPTY = Cell("")


@dataclass(frozen=True)
class Row:
    """A row of a table, with notes that are printed below it."""

    cells: tuple[Cell, ...]
    notes: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table with a header."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    indent: int = _INDENT
    right_aligned: bool = False
    wraps_last: bool = False
    """Whether the last column uses the remaining width and is wrapped to it, also within lists of numbers."""


@dataclass(frozen=True)
class Fields:
    """A list of names with values."""

    rows: tuple[tuple[str, Cell], ...]


Block: TypeAlias = Table | Fields | Cell


@dataclass(frozen=True)
class Section:
    """A title with blocks."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Layout:
    """Formats sections in lines of at most `width` columns, or of any length if `width` is None."""

    width: int | None = None
    colored: bool = False

    def text(self, sections: Iterable[Section]) -> str:
        """Return the text of sections, separated by empty lines."""
        return "\n".join("".join(f"{line}\n" for line in self._section(section)) for section in sections)

    def table(self, table: Table) -> Iterator[str]:
        """Yield the lines of a table."""
        widths = self._widths(table)
        yield from self._row(table, tuple(Cell(name, Style.DIM) for name in table.columns), widths)
        for row in table.rows:
            if table.wraps_last:
                yield from self._row(table, row.cells, widths)
                below = []
            else:
                pairs = list(zip(row.cells, widths, strict=True))
                below = [cell for cell, width in pairs if len(cell.text) > width]
                if below and below[0] is row.cells[0]:
                    name = below.pop(0)
                    yield " " * table.indent + self._styled(name.text, name.style)
                fitting = tuple(cell if len(cell.text) <= width else EMPTY for cell, width in pairs)
                yield from self._row(table, fitting, widths)
            for cell in (*below, *row.notes):
                yield from self._paragraph(cell, _INDENT_BELOW)

    def wrapped(self, text: str, first: str, style: Style = Style.PLAIN) -> Iterator[str]:
        """Yield the lines of a wrapped text. The first begins with `first`, the others with as many spaces.

        Lists of numbers may be wrapped, too.
        """
        margin = first
        for line in _wrap(text, self._available(len(first)), in_lists=True):
            yield (margin + self._styled(line, style)).rstrip()
            margin = " " * len(first)

    def _section(self, section: Section) -> Iterator[str]:
        yield self._styled(section.title, Style.TITLE)
        for number, block in enumerate(section.blocks):
            if number > 0:
                yield ""
            match block:
                case Table():
                    yield from self.table(block)
                case Fields():
                    yield from self._fields(block)
                case Cell():
                    yield from self._paragraph(block, _INDENT)

    def _paragraph(self, cell: Cell, indent: int) -> Iterator[str]:
        for line in self._lines(cell, self._available(indent)):
            yield " " * indent + self._styled(line, cell.style)

    def _fields(self, fields: Fields) -> Iterator[str]:
        indent = _INDENT + max(len(name) for name, _ in fields.rows) + _GAP
        available = self._available(indent)
        for name, cell in fields.rows:
            first, *others = self._lines(cell, available)
            if available is not None and len(first) > available:
                yield " " * _INDENT + name
                yield from self._paragraph(cell, _INDENT_BELOW)
                continue
            yield f"{' ' * _INDENT}{name}".ljust(indent) + self._styled(first, cell.style)
            for line in others:
                yield " " * indent + self._styled(line, cell.style)

    def _widths(self, table: Table) -> list[int]:
        """Return the width of each column. A wider cell is printed on its own lines.

        The widest cells are moved to their own lines until the other cells fit. A column is at least as wide
        as its name, and a wrapped last column exactly as wide.
        """
        minimum = [len(name) for name in table.columns]
        # Sorted by width: the widest cell is moved first, and of equally wide ones the rightmost.
        cells = sorted(
            (len(cell.text), column)
            for row in table.rows
            for column, cell in enumerate(row.cells[:-1] if table.wraps_last else row.cells)
            if len(cell.text) > minimum[column]
        )
        widths = minimum.copy()
        for length, column in cells:
            widths[column] = length
        while cells and not table.wraps_last and not self._fits(table, widths):
            _, column = cells.pop()
            remaining = (length for length, other in cells if other == column)
            widths[column] = max(remaining, default=minimum[column])
        return widths

    def _fits(self, table: Table, widths: list[int]) -> bool:
        return self.width is None or table.indent + sum(widths) + _GAP * (len(widths) - 1) <= self.width

    def _row(self, table: Table, cells: tuple[Cell, ...], widths: list[int]) -> Iterator[str]:
        """Yield the line of the cells, and further lines of a wrapped last cell.

        Yields nothing if all cells are empty.
        """
        line = " " * table.indent
        for cell, width in zip(cells[:-1], widths, strict=False):
            text, padding = self._styled(cell.text, cell.style), " " * (width - len(cell.text))
            line += (padding + text if table.right_aligned else text + padding) + " " * _GAP
        if table.wraps_last:
            yield from self.wrapped(cells[-1].text, line, cells[-1].style)
        elif line := (line + self._styled(cells[-1].text, cells[-1].style)).rstrip():
            yield line

    def _lines(self, cell: Cell, available: int | None) -> list[str]:
        """Return the lines of a cell, wrapped to the available width."""
        return [cell.text] if cell.no_wrap else _wrap(cell.text, available)

    def _available(self, indent: int) -> int | None:
        return None if self.width is None else max(_MIN_TEXT_WIDTH, self.width - indent)

    def _styled(self, text: str, style: Style) -> str:
        return styled(text, style) if self.colored else text


def _wrap(text: str, available: int | None, *, in_lists: bool = False) -> list[str]:
    """Wrap a text to `available` columns, which only longer words exceed."""
    if available is None or len(text) <= available:
        return [text]
    lines = [""]
    for word in _WORDS.findall(text):
        gap = " "
        for part in _LIST_BREAKS.split(word) if in_lists else [word]:
            if lines[-1] and len(lines[-1]) + len(gap) + len(part) > available:
                lines.append(part)
            else:
                lines[-1] = f"{lines[-1]}{gap}{part}".lstrip()
            gap = ""
    return lines

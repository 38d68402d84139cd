"""Lists of numbers as the kernel writes them: `0-3,8`."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["parse", "write"]

_PIECE = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")

# The kernel numbers at most 8192 logical cores; a range that is far longer is a slip.
_MOST = 1 << 16


def parse(text: str) -> tuple[int, ...]:
    """Return the numbers of a list in the order in which it names them.

    Raises ValueError, with the piece that is no number and no range.
    """
    if not text.strip():
        return ()
    numbers: list[int] = []
    for piece in text.split(","):
        match = _PIECE.fullmatch(piece)
        if match is None:
            raise ValueError(f"{piece.strip()!r} is neither a number nor a range such as 0-3")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise ValueError(f"the range {piece.strip()!r} ends before it begins")
        if last >= _MOST:
            raise ValueError(f"{last} is too large: numbers go up to {_MOST - 1}")
        numbers.extend(range(first, last + 1))
    return tuple(numbers)


def write(numbers: Iterable[int]) -> str:
    """Return the shortest list of these numbers, in ascending order."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)

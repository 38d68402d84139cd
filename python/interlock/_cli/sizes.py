"""Texts of numbers of bytes and of shares, the same on the terminal and on the page of `memory --html`.

Halves are rounded up, as `toPrecision`, `toFixed` and `Math.round` of JavaScript do, which page.html calls.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_FOUR_DIGITS = Context(prec=4, rounding=ROUND_HALF_UP)


def size_text(count: int) -> str:
    """Return a number of bytes with a binary unit and at most four digits: `1.5 GiB`."""
    unit = min(max(0, (abs(count).bit_length() - 1) // 10), len(_UNITS) - 1)
    rounded = _FOUR_DIGITS.divide(Decimal(count), Decimal(1024**unit))
    digits = f"{rounded:f}"
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} {_UNITS[unit]}"


def change_text(count: int) -> str:
    """Return a change in bytes with its sign: `+1.5 GiB`."""
    return f"+{size_text(count)}" if count > 0 else size_text(count)


def share_text(part: int, whole: int) -> str:
    """Return a part of a whole in percent with one digit after the point: `33.3 %`."""
    exact = Decimal(100 * part / max(1, whole))
    return f"{exact.quantize(Decimal('0.1'), ROUND_HALF_UP)} %"


def percent_text(share: float) -> str:
    """Return a share from 0 to 1 in percent: `33 %`."""
    return f"{math.floor(100 * share + 0.5)} %"

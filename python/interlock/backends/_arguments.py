"""What the functions that write several flags share."""

from __future__ import annotations

from typing import Any, Final

from interlock._core import backends as _native


class _NotGiven(str):
    """A default that reads like PyTorch's and can be told from a value that somebody gave."""

    __slots__ = ()


#: The default of every `_fp32_precision` argument of `set_flags`: leave it as it is.
UNCHANGED: Final = _NotGiven("none")


def set_flags(owner: str, values: dict[str, Any]) -> tuple[Any, ...]:
    """Write the flags of one module that are given, all or none; return all as they were.

    `values` maps the names of flags to values; None and `UNCHANGED` leave a flag as it is.
    """
    before = tuple(_native.read(owner + name) for name in values)
    given = {
        owner + name: value for name, value in values.items() if value is not None and value is not UNCHANGED
    }
    _native.assign(given)
    return before

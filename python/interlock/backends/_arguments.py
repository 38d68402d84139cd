"""What the functions that write several flags share."""

from __future__ import annotations

from typing import Any, Final, Literal, cast

from interlock._core import backends as _native

#: The default of every `_fp32_precision` argument of `set_flags`: leave it as it is. It equals "none", as
#: in PyTorch's signature, and is an object of its own, told from a "none" that somebody gave by identity.
UNCHANGED: Final[Literal["none"]] = cast(Literal["none"], str(b"none", "ascii"))


def set_flags(names: tuple[str, ...], *values: Any) -> tuple[Any, ...]:
    """Write the flags of one module that are given, all or none; return all as they were.

    There is one value for each dotted name; None and `UNCHANGED` leave a flag as it is.
    """
    before = tuple(map(_native.read, names))
    _native.assign(
        {
            name: value
            for name, value in zip(names, values, strict=True)
            if value is not None and value is not UNCHANGED
        }
    )
    return before

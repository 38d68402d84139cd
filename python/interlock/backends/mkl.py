"""MKL: Intel's linear algebra."""

from __future__ import annotations

import sys

from interlock._core import backends as _native
from interlock.backends._module import VERBOSE_OFF, VERBOSE_ON, VerboseScope

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "verbose"]


def is_available() -> bool:
    """Return whether MKL is loaded or would be found. Looking does not load it.

    Raises `LibraryPathError` where `INTERLOCK_MKL_PATH` gives a path at which it is not.
    """
    return _native.library_is_available("mkl")


class verbose(VerboseScope):
    """Have MKL print a line for each of its calls while the scope is open.

    The level belongs to the process, so calls of other threads are printed, too. Leaving brings back what
    was before: what another open scope asks for, else what `MKL_VERBOSE` says. What a program tells MKL
    behind interlock's back is not known and not brought back.

    `VERBOSE_OFF` does nothing. `VERBOSE_ON` loads MKL when the scope is entered, and raises
    `LibraryNotFoundError` (a RuntimeError and AssertionError) where there is none. Making a scope raises
    `FlagTypeError` or `FlagValueError` for any other level.
    """

    def __init__(self, enable: int) -> None:
        super().__init__("mkl", enable)
        self.enable = enable


sys.modules[__name__].__class__ = _native.MklModule

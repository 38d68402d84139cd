"""MKL, Intel's library of linear algebra."""

from __future__ import annotations

import sys
from typing import Self

from interlock._core import backends as _native
from interlock.backends._module import VERBOSE_OFF, VERBOSE_ON

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "verbose"]


def is_available() -> bool:
    """Return whether MKL is loaded or can be found. Does not load it.

    Raises:
        LibraryPathError: `INTERLOCK_MKL_PATH` is set and is not the path of the library.

    """
    return _native.library_is_available("mkl")


class verbose(_native.VerboseScope):
    """Context manager in which MKL prints a line for each of its calls.

    The level is global to the process, so calls of other threads are printed, too. On exit the previous level
    is restored: that of another open scope, else that of `MKL_VERBOSE`. A level that the program has set with
    MKL's own functions is not restored.

    Args:
        enable: `VERBOSE_ON`, which loads MKL when the scope is entered, or `VERBOSE_OFF`, which does nothing.

    Raises:
        FlagTypeError: `enable` is not an int.
        FlagValueError: `enable` is not a level.
        LibraryNotFoundError: On entry, if MKL cannot be loaded.

    """

    def __new__(cls, enable: int) -> Self:
        """Create a scope that is not open."""
        return super().__new__(cls, "mkl", enable)

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        # A copy is a new scope that is not open.
        return type(self), (self.enable,)


sys.modules[__name__].__class__ = _native.MklModule

"""Whether shared libraries were loaded: the C library counts it."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any


class _Information(ctypes.Structure):
    """The fields of `struct dl_phdr_info` up to the counts of loads and unloads."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("name", ctypes.c_void_p),
        ("headers", ctypes.c_void_p),
        ("number", ctypes.c_uint16),
        ("loads", ctypes.c_ulonglong),
        ("unloads", ctypes.c_ulonglong),
    )


@cache
def _counter() -> Callable[[], object]:
    # Linux and the BSDs have the function, macOS and Windows do not.
    iterate = None if sys.platform == "win32" else getattr(ctypes.CDLL(None), "dl_iterate_phdr", None)
    if iterate is None:
        return lambda: len(sys.modules)
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(_Information), ctypes.c_size_t, ctypes.POINTER(ctypes.c_ulonglong)
    )

    def take(information: Any, size: int, found: Any) -> int:
        found[0], found[1] = information.contents.loads, information.contents.unloads
        # All libraries have the same counts, so the first one is enough.
        return 1

    callback = kind(take)

    def count() -> object:
        counts = (ctypes.c_ulonglong * 2)()
        iterate(callback, counts)
        return counts[0], counts[1]

    return count


def number_of_loads() -> object:
    """Return a value that changes when a shared library is loaded or unloaded.

    Where the C library does not count that, it changes with the number of imported modules.
    """
    return _counter()()

"""The numbers of threads of BLAS libraries and OpenMP runtimes, which threadpoolctl reads and writes."""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

_Reading = tuple[tuple[str, int | None], ...]


class ThreadCounts:
    """Compares the numbers of threads of the native libraries that are loaded.

    One controller is used as long as no library is loaded or unloaded: making one takes a millisecond,
    reading with it a few microseconds.

    Raises:
        ImportError: threadpoolctl is not installed.

    """

    def __init__(self) -> None:
        self._make: Callable[[], Any] = importlib.import_module("threadpoolctl").ThreadpoolController
        self._loads = number_of_loads()
        self._seen: object = None
        self._libraries: list[tuple[str, Any]] = []

    def stop(self) -> None:
        """Nothing observes the libraries."""

    def read(self) -> object:
        """Return the numbers of threads of this thread."""
        loads = self._loads()
        if loads != self._seen:
            self._seen = loads
            self._libraries = [(_name(each), each) for each in self._make().lib_controllers]
        return tuple((name, library.num_threads) for name, library in self._libraries)

    def values(self, reading: _Reading) -> dict[str, Any]:
        """Return the numbers by name."""
        return dict(reading)

    def first(self, name: str, value: Any) -> Any:
        """Return the number itself: what a library had that was loaded since the reading is not known."""
        return value

    def writer(self, name: str, value: Any) -> str | None:
        """Return None: the libraries do not record who writes."""
        return None

    def is_left(self, name: str, value: Any) -> bool:
        """Return False: every change is put back."""
        return False

    def restore(self, wanted: Mapping[str, Any]) -> None:
        """Write the numbers."""
        for name, library in self._libraries:
            if name in wanted:
                library.set_num_threads(wanted[name])


def _name(library: Any) -> str:
    return f"num_threads of {library.internal_api} ({os.path.basename(library.filepath)})"


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


def number_of_loads() -> Callable[[], object]:
    """Return a function whose result changes when a shared library is loaded or unloaded.

    Where the C library does not count that, it changes with the number of imported modules.
    """
    iterate = getattr(ctypes.CDLL(None), "dl_iterate_phdr", None)
    if iterate is None:
        return lambda: len(sys.modules)
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.POINTER(_Information), ctypes.c_size_t, ctypes.POINTER(ctypes.c_ulonglong)
    )

    def take(information: Any, size: int, found: Any) -> int:
        found[0], found[1] = information.contents.loads, information.contents.unloads
        # All libraries have the same counts, so the first one is enough.
        return 1

    callback, counts = kind(take), (ctypes.c_ulonglong * 2)()

    def count() -> object:
        iterate(callback, counts)
        return counts[0], counts[1]

    return count

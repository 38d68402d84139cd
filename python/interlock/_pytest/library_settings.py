"""The settings of the libraries that are loaded and enabled."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from interlock import settings
from interlock.errors import UnsupportedError
from interlock.integrations import _thread_pools
from interlock.integrations._loads import number_of_loads
from interlock.settings import _holds, _import_hook, _libraries, _registry
from interlock.settings._reader import Reader, Reading
from interlock.settings._setting import LOCK, Unreadable
from interlock.settings._writes import LOG, Write, same

# Another source compares all variables.
_VARIABLES = "environ"


class LibrarySettings:
    """Compares the settings of the known libraries, which it enables, and those that code registers."""

    def __init__(self) -> None:
        self._version = -1
        self._reader = Reader(())
        self._native = tuple(_thread_pools.LIBRARIES)
        self._loads: object = None
        self._libraries = [name for name in _libraries.KNOWN if name not in (_VARIABLES, *self._native)]
        settings.enable(*self._libraries)
        # Without threadpoolctl, which finds native libraries, their numbers of threads are not compared.
        with contextlib.suppress(UnsupportedError):
            settings.enable(*self._native)
            self._libraries += self._native
        self._names = frozenset(self._libraries)

    def stop(self) -> None:
        """Undo the enabling of the libraries."""
        settings.disable(*self._libraries)

    def search(self) -> None:
        """Find settings of native libraries, which are also loaded without an import of a module."""
        loads = number_of_loads()
        if self._loads != loads:
            self._loads = loads
            _import_hook.run_imported()

    def enable_again(self) -> None:
        """Enable the libraries if a test has disabled all."""
        if not self._names <= _libraries._enabled.keys():
            settings.enable(*[name for name in self._libraries if name not in _libraries._enabled])

    def read(self) -> object:
        """Return the settings and their values."""
        if self._version != _registry.version():
            with LOCK:
                self._version = _registry.version()
                self._reader = Reader(
                    each for each in _registry.each() if not each.name.startswith(f"{_VARIABLES}.")
                )
        return self._reader.read()

    def values(self, reading: Reading) -> dict[str, Any]:
        """Return the values by name."""
        return reading.values()

    def first(self, name: str, value: Any) -> Any:
        """Return the value when the library was imported, or the setting registered."""
        return _registry.first(name)

    def writer(self, name: str, value: Any) -> str | None:
        """Return the line of the last write, if that wrote the value."""
        write = self._last_write(name, value)
        if write is None:
            return None
        return f"written at {write.file}:{write.line}" if write.file else "by code that cannot be seen"

    def is_left(self, name: str, value: Any) -> bool:
        """Return whether an import wrote it: a second import of the module would not write it again."""
        write = self._last_write(name, value)
        return write is not None and write.at_import

    def _last_write(self, name: str, value: Any) -> Write | None:
        setting = _registry.known(name)
        if setting is None:
            return None
        with LOCK:
            # Finds a change that no write explains.
            _holds.look(setting)
        write = next(iter(reversed(LOG.of(name))), None)
        return write if write is not None and same(write.new, value) else None

    def restore(self, wanted: Mapping[str, Any]) -> None:
        """Put values back, in the order of their declaration: a setting may inherit from an earlier one.

        Native libraries follow: a write of the number of threads of PyTorch or interlock changes theirs.
        """
        rows = [row for row in self._reader.rows if row.name in wanted]
        known = [row.name for row in rows if _registry.known(row.name) is row]
        known.sort(key=lambda name: name.partition(".")[0] in self._native)
        refused = [name for name in known if isinstance(wanted[name], Unreadable)]
        errors: list[Exception] = []
        for name in known:
            # One at a time: a library that refuses one value must not keep the others.
            try:
                if name not in refused:
                    settings.restore({name: wanted[name]})
            except Exception as error:
                errors.append(error)
        if errors:
            raise ExceptionGroup("settings that could not be put back", errors)

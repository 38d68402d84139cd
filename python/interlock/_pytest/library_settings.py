"""The settings of the libraries that are loaded and enabled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from interlock import settings
from interlock._pytest.source import Source
from interlock.errors import UnsupportedError
from interlock.integrations import _thread_pools
from interlock.integrations._loads import number_of_loads
from interlock.settings import _import_hook, _libraries, _pins, _registry
from interlock.settings._environ import ENVIRON
from interlock.settings._origin import Origin
from interlock.settings._reader import Reader, Reading
from interlock.settings._setting import Unreadable
from interlock.settings._snapshot import put_back
from interlock.settings._writes import LOG, Write, same

# Another source compares all variables.
_VARIABLES = "environ"

# Of the writes by which the plugin puts values back.
_ORIGIN = Origin(
    __file__, 1, "restore", __name__, "", at_import=False, group="the pytest plugin of interlock"
)


class LibrarySettings(Source):
    """Compares the settings of the known libraries, which it enables, and those that code registers."""

    def __init__(self) -> None:
        self._version = -1
        self._reader = Reader(())
        self._native = tuple(_thread_pools.LIBRARIES)
        self._loads: object = None
        self._registered: set[str] = set()
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

    def enable_again(self) -> list[str]:
        """Enable the libraries if a test has disabled some, and return these."""
        if self._names <= _libraries._enabled.keys():
            return []
        missing = [name for name in self._libraries if name not in _libraries._enabled]
        settings.enable(*missing)
        return missing

    def begin(self) -> None:
        """Regard what is registered now as registered before a test."""
        self._registered = self.registered()

    def registered(self) -> set[str]:
        """Return what is registered now."""
        return set(_libraries._enabled)

    def keep_registered(self, before: set[str]) -> None:
        """Regard what was registered since `before` as registered by a fixture of a wider scope."""
        self._registered |= self.registered() - before

    def unregister(self, is_ignored: Callable[[str], bool]) -> None:
        """Forget the settings that a test has registered, except those that an import has."""
        for key in [key for key in _libraries._enabled if key not in self._registered]:
            library = _libraries._enabled[key]
            is_of_import = library.origin is None or library.origin.at_import
            if not is_of_import and not any(is_ignored(each.name) for each in library.settings):
                settings.disable(key)

    def read(self) -> object:
        """Return the settings and their values."""
        if self._version != _registry.version():
            self._version = _registry.version()
            self._reader = Reader(each for each in _registry.each() if not each.name.startswith(ENVIRON))
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
        if write is None or write.group == _ORIGIN.group:
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
        # Finds a change that no write explains.
        _pins.look(setting)
        write = LOG.last(name)
        return write if write is not None and same(write.new, value) else None

    def restore(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Restore values, in the order of their declaration: a setting may inherit from an earlier one.

        Native libraries follow: a write of the number of threads of PyTorch or interlock changes theirs.
        """
        refused: dict[str, str] = {}
        rows = [row for row in self._reader.rows if row.name in wanted]
        known = [row.name for row in rows if _registry.known(row.name) is row]
        known.sort(key=lambda name: name.partition(".")[0] in self._native)
        for name in known:
            # One at a time: a library that refuses one value must not keep the others.
            try:
                if not isinstance(wanted[name], Unreadable):
                    put_back("the pytest plugin", {name: wanted[name]}, _ORIGIN, was_read=True)
            except Exception as error:
                refused[name] = str(error)
        return refused | {name: "it is not known any more" for name in wanted if name not in known}

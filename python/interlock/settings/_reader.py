"""Reads many settings at once, to compare them with an earlier reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from interlock.settings._setting import Setting, Unreadable, attempt


class Getter:
    """The `get` of a setting in two steps, the second of which a comparison of two readings does not need.

    Args:
        load: Returns what the library stores; nothing changes that object later. Settings may share a
            function that returns what is stored for all of them.
        convert: Returns the value of the setting.

    """

    __slots__ = ("convert", "load")

    def __init__(self, load: Callable[[], Any], convert: Callable[[Any], Any]) -> None:
        self.load = load
        self.convert = convert

    def __call__(self) -> Any:
        return self.convert(self.load())


class Reading:
    """The values of some settings. Two readings of one `Reader` are equal only if all values are."""

    __slots__ = ("_loaded", "_reader")

    def __init__(self, reader: Reader, loaded: list[Any]) -> None:
        self._reader = reader
        self._loaded = loaded

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reading) or other._reader is not self._reader:
            return False
        try:
            return self._loaded == other._loaded
        except Exception:
            # An object of a library that cannot be compared, such as an array.
            return False

    __hash__ = None  # type: ignore[assignment]

    def values(self) -> dict[str, Any]:
        """Return the values by the names of the settings."""
        return self._reader.convert(self._loaded)


class Reader:
    """Reads settings.

    Args:
        rows: The settings.

    """

    def __init__(self, rows: Iterable[Setting]) -> None:
        self.rows = tuple(rows)
        # The functions to call, and for each setting the position of its function and the conversion.
        self._loads: list[Callable[[], Any]] = []
        self._parts: list[tuple[int, Callable[[Any], Any] | None]] = []
        positions: dict[int, int] = {}
        for row in self.rows:
            load = row.get.load if isinstance(row.get, Getter) else row.get
            if id(load) not in positions:
                positions[id(load)] = len(self._loads)
                self._loads.append(load)
            convert = row.get.convert if isinstance(row.get, Getter) else None
            self._parts.append((positions[id(load)], convert))

    def read(self) -> Reading:
        """Return what the settings have now."""
        try:
            return Reading(self, [load() for load in self._loads])
        except Exception:
            return Reading(self, [attempt(load) for load in self._loads])

    def convert(self, loaded: list[Any]) -> dict[str, Any]:
        """Return the values of a reading by the names of the settings."""
        return {
            row.name: _converted(loaded[position], convert)
            for row, (position, convert) in zip(self.rows, self._parts, strict=True)
        }


def _converted(loaded: Any, convert: Callable[[Any], Any] | None) -> Any:
    return loaded if convert is None or isinstance(loaded, Unreadable) else attempt(convert, loaded)

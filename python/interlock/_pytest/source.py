"""The interface of the parts of the state that are compared around each test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from interlock.settings._writes import same, shown


class Change(NamedTuple):
    """A value that differs from the one before a test or a fixture."""

    name: str
    before: Any
    after: Any
    writer: str | None
    """The line that wrote, or why no line is known; None if nothing is known."""

    def __str__(self) -> str:
        writer = self.writer or "by an unknown line"
        return f"{self.name}: {shown(self.before)} -> {shown(self.after)}, {writer}"


class Source(Protocol):
    """A part of the state: values by name."""

    def read(self) -> object:
        """Return a reading, which equals another one only if the state is equal.

        Called before and after each test, so it is cheap.
        """

    def values(self, reading: Any) -> dict[str, Any]:
        """Return the values of a reading by their names. Called if two readings differ."""

    def first(self, name: str, value: Any) -> Any:
        """Return the value that is expected of a name which the reading before did not have."""

    def writer(self, name: str, value: Any) -> str | None:
        """Return what is known about the line that wrote the present value."""

    def is_left(self, name: str, value: Any) -> bool:
        """Return whether a changed value is neither restored nor reported."""

    def restore(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Restore values. Return the reasons, by name, for those that the library or interlock rejects."""

    def stop(self) -> None:
        """Stop observing the state."""


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; a NaN equals a NaN."""
    return same(one, other) or bool(one != one and other != other)

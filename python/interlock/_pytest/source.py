"""The interface of the parts of the state that are compared around each test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from interlock.settings._writes import shown


class Parts(ABC):
    """A value of which a report shows only the parts that have changed."""

    @abstractmethod
    def parts(self) -> dict[str, str]:
        """Return the text of each part by its name."""

    def beside(self, other: Parts) -> str:
        """Return the parts that differ from those of another value."""
        own, others = self.parts(), other.parts()
        differing = [name for name in own | others if own.get(name) != others.get(name)]
        return ", ".join(f"{name}={own.get(name, '(not set)')}" for name in differing)


class Change(NamedTuple):
    """A value that differs from the one before a test or a fixture."""

    name: str
    before: Any
    after: Any
    writer: str | None
    """The line that wrote, or why no line is known; None if nothing is known."""

    def __str__(self) -> str:
        writer = self.writer or "by an unknown line"
        before, after = shown(self.before), shown(self.after)
        if isinstance(self.before, Parts) and isinstance(self.after, Parts):
            before, after = self.before.beside(self.after), self.after.beside(self.before)
        return f"{self.name}: {before} -> {after}, {writer}"


class Source(Protocol):
    """A part of the state: values by name."""

    @abstractmethod
    def read(self) -> object:
        """Return a reading, which equals another one only if the state is equal.

        Called before and after each test, so it is cheap.
        """

    @abstractmethod
    def values(self, reading: Any) -> dict[str, Any]:
        """Return the values of a reading by their names. Called if two readings differ."""

    @abstractmethod
    def first(self, name: str, value: Any) -> Any:
        """Return the value that is expected of a name which the reading before did not have."""

    def writer(self, name: str, value: Any) -> str | None:
        """Return what is known about the line that wrote the present value; None if nothing is recorded."""
        return None

    def is_left(self, name: str, value: Any) -> bool:
        """Return whether a changed value is neither restored nor reported."""
        return False

    @abstractmethod
    def restore(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Restore values. Return the reasons, by name, for those that the library or interlock rejects."""

    def stop(self) -> None:
        """Stop observing the state, if the source does so between readings."""
        return

"""Settings that are read at once, and compared without the conversion of what the library stores."""

from __future__ import annotations

from typing import Any

import pytest
from interlock.settings import Setting
from interlock.settings._reader import Getter, Reader
from interlock.settings._setting import Unreadable


class Library:
    """Options that are read at once, and one that is read by itself."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {"depth": 1, "width": 2}
        self.level: Any = 0
        self.loads = 0
        self.conversions = 0

    def load(self) -> dict[str, Any]:
        self.loads += 1
        return dict(self.options)

    def convert(self, name: str, found: dict[str, Any]) -> str:
        self.conversions += 1
        return str(found[name])

    def rows(self) -> list[Setting]:
        load = self.load
        return [
            Setting("lib.depth", get=Getter(load, lambda found: self.convert("depth", found))),
            Setting("lib.width", get=Getter(load, lambda found: self.convert("width", found))),
            Setting("lib.level", get=lambda: self.level),
        ]


class Array:
    """A value that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value is ambiguous")

    __hash__ = None  # type: ignore[assignment]


def test_settings_of_one_function_are_read_by_one_call_and_not_converted() -> None:
    library = Library()
    reader = Reader(library.rows())
    assert reader.read() == reader.read()
    assert (library.loads, library.conversions) == (2, 0)
    assert reader.read().values() == {"lib.depth": "1", "lib.width": "2", "lib.level": 0}


def test_getter_alone_returns_the_converted_value() -> None:
    assert [row.get() for row in Library().rows()] == ["1", "2", 0]


@pytest.mark.parametrize("change", [{"depth": 3}, {"level": 1}])
def test_reading_after_a_change_differs(change: dict[str, int]) -> None:
    library = Library()
    reader = Reader(library.rows())
    before = reader.read()
    library.options.update(depth=change.get("depth", 1))
    library.level = change.get("level", 0)
    assert before != reader.read()
    assert before.values() != reader.read().values()


def test_readings_of_other_settings_differ() -> None:
    library = Library()
    rows = library.rows()
    assert Reader(rows).read() != Reader(rows).read()


def test_values_that_cannot_be_compared_differ() -> None:
    library = Library()
    reader = Reader(library.rows())
    library.level = Array()
    before, library.level = reader.read(), Array()
    assert before != reader.read()


def test_setting_that_cannot_be_read_leaves_the_others_readable() -> None:
    library = Library()
    del library.options["width"]
    broken = Setting("lib.broken", get=lambda: library.options["broken"])
    found = Reader([*library.rows(), broken]).read().values()
    reason = Unreadable("KeyError: 'width'")
    assert found == {
        "lib.depth": "1",
        "lib.width": reason,
        "lib.level": 0,
        "lib.broken": Unreadable("KeyError: 'broken'"),
    }

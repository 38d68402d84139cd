"""A library with settings for tests: values, and functions that write them."""

from __future__ import annotations

import contextvars
import sys
import threading
import types
from collections.abc import Iterator

import pytest
from interlock import settings
from interlock.errors import SettingValueError
from interlock.settings import Setting


class Library(types.ModuleType):
    """The module `mylib`, whose settings a test registers."""

    def __init__(self) -> None:
        super().__init__("mylib")
        self.values: dict[str, object] = {"level": 1, "fast": False, "mode": "slow"}
        self.reads = 0
        self.of_thread = threading.local()
        self.of_context: contextvars.ContextVar[int] = contextvars.ContextVar("mylib", default=0)

    def get(self, name: str) -> object:
        self.reads += 1
        return self.values[name]

    def set_level(self, value: int) -> str:
        self.values["level"] = value
        return f"level {value}"

    def set_fast(self, value: bool) -> None:
        if value == "refused":
            raise ValueError("mylib refuses this value")
        self.values["fast"] = value
        self.values["mode"] = "quick" if value else "slow"

    def set_mode(self, value: str) -> None:
        self.values["mode"] = value
        self.values["fast"] = value != "slow"

    def set_both(self) -> None:
        self.set_level(5)
        self.set_fast(True)

    def get_tls(self) -> int:
        return getattr(self.of_thread, "value", 0)

    def set_tls(self, value: int) -> None:
        self.of_thread.value = value


def level(value: object) -> int:
    if not isinstance(value, int):
        raise SettingValueError(f"must be an int, got {value!r}")
    return value


def rows(library: Library) -> list[Setting]:
    """Return the settings of the library: two of the process that are aliases, and one of each extent."""
    return [
        Setting(
            "mylib.level",
            get=lambda: library.get("level"),
            set=lambda value: library.set_level(value),
            default=1,
            doc="A level.",
            note="Read at the start.",
            guards=("mylib.compile",),
            convert=level,
            writers=("mylib.set_level", "mylib.set_both"),
        ),
        Setting(
            "mylib.fast",
            get=lambda: library.get("fast"),
            set=lambda value: library.set_fast(value),
            writers=("mylib.set_fast", "mylib.set_both"),
            family="speed",
        ),
        Setting(
            "mylib.mode",
            get=lambda: library.get("mode"),
            set=lambda value: library.set_mode(value),
            writers=("mylib.set_mode",),
            family="speed",
        ),
        Setting("mylib.tls", get=library.get_tls, set=library.set_tls, extent="thread"),
        Setting("mylib.context", get=library.of_context.get, set=library.of_context.set, extent="context"),
        Setting("mylib.constant", get=lambda: 7, extent="process"),
    ]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """The library, imported, with its settings known. Fails if a test leaves a value changed."""
    made = Library()
    monkeypatch.setitem(sys.modules, "mylib", made)
    before = dict(made.values)
    with settings.register(*rows(made), library="mylib"):
        yield made
        after = settings.diff(settings.Snapshot({f"mylib.{name}": value for name, value in before.items()}))
    changed = [each for each in after if each.name in {f"mylib.{name}" for name in before}]
    assert changed == []

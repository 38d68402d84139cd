"""Pinned settings keep their values."""

from __future__ import annotations

import contextvars
import re

import pytest
from interlock import settings
from interlock.errors import (
    ArgumentError,
    SettingConflictError,
    SettingPinnedError,
    SettingValueError,
    SettingWarning,
)

from tests.helpers.thread_worker import Worker
from tests.unit.settings.library import Library, library

__all__ = ["library"]

LEVEL = "mylib.level"


def test_write_of_a_pinned_setting_is_refused_with_both_lines(library: Library) -> None:
    with settings.pin({LEVEL: 2}):
        assert library.values["level"] == 2
        library.set_level(2)
        with pytest.raises(SettingPinnedError) as caught:
            library.set_level(3)
        assert library.values["level"] == 2
    assert library.values["level"] == 1
    text = str(caught.value)
    assert re.fullmatch(
        rf"mylib.level is pinned to 2 by the pin at {re.escape(__file__)}:\d+ \(thread MainThread\); "
        rf"the write at {re.escape(__file__)}:\d+ of 3 is refused",
        text,
    )


def test_pin_as_a_plain_call_ends_with_release(library: Library) -> None:
    pin = settings.pin({LEVEL: 2})
    assert repr(pin) == "pin(mylib.level=2)"
    with pytest.raises(SettingPinnedError):
        library.set_level(3)
    pin.release()
    pin.release()
    assert library.values["level"] == 1
    library.set_level(3)
    library.set_level(1)


def test_write_is_undone_with_a_warning_or_silently(library: Library) -> None:
    with settings.pin({LEVEL: 2}, on_write="warn"):
        with pytest.warns(SettingWarning, match=r"of 3 was undone"):
            library.set_level(3)
        assert library.values["level"] == 2
    with settings.pin({LEVEL: 2}, on_write="ignore"):
        library.set_level(3)
        assert library.values["level"] == 2


def test_write_of_an_alias_is_refused(library: Library) -> None:
    with settings.pin({"mylib.fast": True}):
        with pytest.raises(SettingPinnedError, match=r"mylib\.fast is pinned to True"):
            library.set_mode("slow")
        assert library.values == {"level": 1, "fast": True, "mode": "quick"}


def test_change_that_cannot_be_seen_is_undone_at_the_next_look(library: Library) -> None:
    with settings.pin({LEVEL: 2}):
        library.values["level"] = 3
        with pytest.warns(SettingWarning, match="code that cannot be seen wrote 3, which was undone"):
            assert settings.explain(LEVEL).value == 2
        assert library.values["level"] == 2


def test_scope_over_a_pinned_setting_is_refused(library: Library, workers: tuple[Worker, Worker]) -> None:
    with settings.pin({LEVEL: 2}):
        for enter in (settings.override({LEVEL: 3}).__enter__, lambda: settings.pin({LEVEL: 3})):
            with pytest.raises(SettingConflictError, match=r"mylib\.level is pinned to 2 by the pin at"):
                enter()
            with pytest.raises(SettingConflictError):
                workers[0].do(enter)
        with settings.override({LEVEL: 2}), settings.pin({LEVEL: 2}):
            assert library.values["level"] == 2


def test_pin_inside_a_scope_nests(library: Library) -> None:
    with settings.override({LEVEL: 2}):
        with settings.pin({LEVEL: 3}):
            assert library.values["level"] == 3
        assert library.values["level"] == 2
        with pytest.raises(SettingConflictError):
            contextvars.Context().run(settings.pin, {LEVEL: 4})


def test_pin_refuses_wrong_arguments(library: Library) -> None:
    with pytest.raises(ArgumentError, match='pin: on_write must be "raise", "warn" or "ignore"'):
        settings.pin({LEVEL: 2}, on_write="x")
    with pytest.raises(SettingValueError, match=r"pin: mylib\.tls must be a setting of the process"):
        settings.pin({"mylib.tls": 2})
    with pytest.raises(SettingValueError, match=r"pin: mylib\.level must be an int"):
        settings.pin({LEVEL: "x"})
    assert library.values["level"] == 1

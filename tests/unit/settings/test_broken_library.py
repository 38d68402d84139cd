"""A library whose functions raise while a setting is put back."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from interlock import backends, settings
from interlock.errors import ArgumentError, SettingValueError


class Broken:
    """Two settings, whose functions raise once a test says so."""

    def __init__(self) -> None:
        self.values = {"a": 0, "b": 0}
        self.broken = ""

    def setting(self, name: str) -> settings.Setting:
        def write(value: int) -> None:
            if name in self.broken:
                raise OSError(f"the disk of {name} is full")
            self.values[name] = value

        return settings.Setting(f"broken.{name}", get=lambda: self.values[name], set=write)


@pytest.fixture
def library() -> Iterator[Broken]:
    library = Broken()
    with settings.register(library.setting("a"), library.setting("b")):
        yield library


def failure(name: str, value: int) -> str:
    return f"broken.{name} could not be put back to {value}: OSError: the disk of {name} is full"


def test_end_of_a_scope_names_each_setting_that_is_not_put_back(library: Broken) -> None:
    with (
        pytest.raises(SettingValueError) as caught,
        settings.override({"broken.a": 1, "broken.b": 1}),
    ):
        library.broken = "ab"
    assert str(caught.value).startswith(f"override at {__file__}:")
    assert str(caught.value).endswith(f": {failure('b', 0)}; {failure('a', 0)}")
    assert caught.value.setting == "broken.b"
    assert isinstance(caught.value.__cause__, OSError)
    library.broken = ""
    with settings.override({"broken.a": 5}):
        assert library.values == {"a": 5, "b": 1}
    assert library.values == {"a": 1, "b": 1}


def test_end_of_a_scope_puts_the_others_back_after_an_error(library: Broken) -> None:
    @settings.override({"broken.a": 1, "broken.b": 1})
    def body() -> None:
        library.broken = "a"
        raise KeyError("body")

    with pytest.raises(SettingValueError, match=r"broken\.a could not be put back") as caught:
        body()
    assert library.values == {"a": 1, "b": 0}
    assert isinstance(caught.value.__context__, KeyError)


@pytest.mark.parametrize("scope", [settings.override, settings.pin])
def test_value_that_a_setter_stores_before_it_raises_is_put_back(scope: Any, library: Broken) -> None:
    state = {"c": 1}

    def write(value: int) -> None:
        state["c"] = value
        if value == 3 or "c" in library.broken:
            raise OSError(f"no {value}")

    with settings.register(settings.Setting("broken.c", get=lambda: state["c"], set=write)):
        for library.broken in ("", "c"):
            with pytest.raises(
                SettingValueError, match=r"broken\.c does not accept 3: OSError: no 3$"
            ) as caught:
                scope({"broken.a": 2, "broken.c": 3}).__enter__()
            assert (library.values["a"], state["c"]) == (0, 1)
            # The library stores the earlier value, and raises again.
            notes = getattr(caught.value.__cause__, "__notes__", [])
            assert notes == ["and broken.c could not be put back to 1: OSError: no 1"] * len(library.broken)


@pytest.mark.parametrize("scope", [settings.override, settings.pin])
def test_setting_that_cannot_be_read_is_refused(scope: Any, library: Broken) -> None:
    state = {"c": 1}
    readable = False

    def read() -> int:
        if readable:
            return state["c"]
        raise OSError("not now")

    unreadable = settings.Setting("broken.c", get=read, set=lambda value: state.update(c=value))
    with settings.register(unreadable):
        with pytest.raises(SettingValueError) as caught:
            scope({"broken.a": 2, "broken.c": 3}).__enter__()
        assert str(caught.value) == (
            f"{scope.__name__}: broken.c could not be put back, because it cannot be read: OSError: not now"
        )
        assert caught.value.setting == "broken.c"
        assert (library.values["a"], state["c"]) == (0, 1)
        readable = True
        with scope({"broken.c": 3}):
            assert state["c"] == 3
        assert state["c"] == 1


def test_second_release_of_a_pin_tries_what_failed(library: Broken) -> None:
    pin = settings.pin({"broken.a": 3})
    library.broken = "a"
    for _ in "12":
        with pytest.raises(SettingValueError, match=r"^pin at .*: broken\.a could not be put back to 0"):
            pin.release()
    library.broken = ""
    pin.release()
    assert library.values["a"] == 0
    library.values["a"] = 4
    pin.release()
    assert library.values["a"] == 4


def test_second_release_of_a_pin_leaves_what_was_set_since(library: Broken) -> None:
    pin = settings.pin({"broken.a": 3})
    library.broken = "a"
    with pytest.raises(SettingValueError):
        pin.release()
    library.broken = ""
    library.values["a"] = 4
    pin.release()
    assert library.values["a"] == 4


def test_restore_that_fails_names_the_setting_and_changes_nothing(library: Broken) -> None:
    before = settings.snapshot()
    library.values.update(a=5, b=6)
    backends.cudnn.benchmark = True
    library.broken = "b"
    with pytest.raises(SettingValueError) as caught:
        settings.restore(before)
    assert str(caught.value) == ("restore: broken.b could not be set to 0: OSError: the disk of b is full")
    assert caught.value.setting == "broken.b"
    assert (library.values, backends.cudnn.benchmark) == ({"a": 5, "b": 6}, True)
    del backends.cudnn.benchmark
    assert "and restore: broken.b could not be set to 6" in str(getattr(caught.value, "__notes__", []))


@pytest.mark.parametrize(
    ("timeout", "error"),
    [
        ("x", TypeError),
        (True, TypeError),
        (-1, ArgumentError),
        (float("nan"), ArgumentError),
        (1e300, ArgumentError),
    ],
)
def test_timeout_that_is_no_number_of_seconds_is_refused(timeout: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        settings.override({"broken.a": 1}, on_conflict="wait", timeout=timeout)
    assert str(caught.value) == (
        f"override: timeout must be None or a number of seconds from 0 on, got {timeout!r}"
    )


@pytest.mark.parametrize("names", ["nm", "mn"])
def test_refused_setting_is_put_back_before_its_relatives(names: str) -> None:
    state = {"n": "none", "m": "none"}

    def write(value: str) -> None:
        # Each write of one changes the other.
        state.update(m=value, n="ieee")
        if value == "bad":
            raise OSError("no bad")

    writers: dict[str, Callable[[str], None]] = {"n": lambda value: state.update(n=value), "m": write}
    with contextlib.ExitStack() as stack:
        for name in names:
            get = functools.partial(state.__getitem__, name)
            setting = settings.Setting(f"broken.{name}", get=get, set=writers[name], family="broken")
            stack.enter_context(settings.register(setting))
        with pytest.raises(SettingValueError, match=r"broken\.m does not accept 'bad'"):
            settings.override({"broken.m": "bad"}).__enter__()
    assert state == {"n": "none", "m": "none"}

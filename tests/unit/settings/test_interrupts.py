"""An interrupt or a signal handler at any place leaves no setting held and no value changed."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

import pytest
from interlock import settings, testing
from interlock.settings import _apply, _libraries, _registry
from interlock.settings._writes import LOG, Write

from tests.helpers.signal_checks import AtCheck, check_pending_interrupt, numbers_of_checks
from tests.unit.settings.library import Library, library

__all__ = ["library"]

# The functions of the library are interrupted, too.
FILES = (Library.__init__.__code__.co_filename,)
VALUES = {"mylib.level": 2, "mylib.fast": True, "mylib.tls": 3, "mylib.context": 4}


@pytest.fixture(autouse=True, scope="module")
def forgotten_writes() -> Iterator[None]:
    """Other tests count the stored writes, of which these tests make thousands."""
    yield
    LOG._writes.clear()


def interrupt() -> None:
    raise KeyboardInterrupt


def check_nothing_is_held(library: Library, before: dict[str, object]) -> None:
    assert not _apply.is_applying()
    assert library.values == before
    assert (library.get_tls(), library.of_context.get()) == (0, 0)
    with settings.override({"mylib.level": 7, "mylib.mode": "quick", "mylib.tls": 8, "mylib.context": 9}):
        assert library.values == {"level": 7, "fast": True, "mode": "quick"}
    assert library.values == before


def test_interrupt_at_any_check_of_a_scope_leaves_nothing(library: Library, full: bool) -> None:
    before = dict(library.values)
    for number in numbers_of_checks(full=full):
        at = AtCheck(number, interrupt, FILES)
        with contextlib.suppress(KeyboardInterrupt), at, settings.override(VALUES):
            assert library.values["level"] == 2
        check_nothing_is_held(library, before)
        if not at.is_called:
            break
    assert number > 500


def test_interrupt_at_any_check_of_a_nested_scope_leaves_the_outer_one(library: Library, full: bool) -> None:
    for number in numbers_of_checks(full=full):
        with settings.override({"mylib.level": 5}):
            at = AtCheck(number, interrupt, FILES)
            with contextlib.suppress(KeyboardInterrupt), at, settings.override({"mylib.level": 6}):
                assert library.values["level"] == 6
            assert library.values["level"] == 5
        assert library.values["level"] == 1
        if not at.is_called:
            break
    assert number > 200


def test_interrupt_at_any_check_of_a_pin_leaves_nothing(library: Library, full: bool) -> None:
    before = dict(library.values)
    for number in numbers_of_checks(full=full):
        at = AtCheck(number, interrupt, FILES)
        with contextlib.suppress(KeyboardInterrupt), at, settings.pin({"mylib.level": 2}):
            assert library.values["level"] == 2
        check_nothing_is_held(library, before)
        if not at.is_called:
            break
    assert number > 200


def test_interrupt_at_any_check_of_a_watch_stops_it(library: Library, full: bool) -> None:
    for number in numbers_of_checks(full=full):
        seen: list[Write] = []
        at = AtCheck(number, interrupt)
        with contextlib.suppress(KeyboardInterrupt), at, settings.watch(seen.append):
            pass
        with settings.override({"mylib.level": 2}):
            assert (seen, LOG.watches) == ([], [])
        if not at.is_called:
            break
    assert number >= 5


def test_interrupt_at_any_check_of_enabled_settings_leaves_nothing(library: Library, full: bool) -> None:
    def uses() -> dict[str, int]:
        return {name: each.uses for name, each in _libraries._enabled.items()}

    before, names = uses(), _registry.names()
    # The first is enabled before, as all that interlock knows are in these tests.
    environ = settings.enable("environ")
    for number in numbers_of_checks(full=full):
        at = AtCheck(number, interrupt)
        # A fresh name: what a round left would be replaced in the next one.
        name, family = f"ours.level{number}", f"ours{number}"
        own = settings.Setting(name, get=lambda: 1, set=lambda _: None, family=family)
        expected = contextlib.suppress(KeyboardInterrupt)
        with expected, at, settings.register(own), settings.enable("environ", "jax"):
            pass
        assert uses() == {**before, "environ": before.get("environ", 0) + 1}
        assert name not in _registry.names()
        assert not _registry._families.get(family)
        if not at.is_called:
            break
    assert number > 100
    environ.__exit__(None, None, None)
    assert (uses(), _registry.names()) == (before, names)


def test_interrupt_at_any_check_of_a_registration_keeps_an_earlier_one(full: bool) -> None:
    def own() -> settings.Setting:
        return settings.Setting("ours.level", get=int, set=print)

    first = own()
    with settings.register(first):
        for number in numbers_of_checks(full=full):
            at = AtCheck(number, interrupt)
            with contextlib.suppress(KeyboardInterrupt), at:
                settings.register(own())
            if not at.is_called:
                break
            assert _registry.known("ours.level") is first
    assert number > 50
    assert _registry.known("ours.level") is not first
    settings.disable(*(name for name in _libraries._enabled if "ours.level" in name))


def test_interrupt_at_any_check_of_scoped_settings_leaves_nothing(library: Library, full: bool) -> None:
    before = dict(library.values)
    for number in numbers_of_checks(full=full):
        at = AtCheck(number, interrupt)
        with contextlib.suppress(KeyboardInterrupt), testing.ScopedSettings() as scoped:
            scoped.override({"mylib.level": 2})
            with at:
                scoped.__exit__(None, None, None)
        assert library.values == before
        if not at.is_called:
            break
    assert number > 100


def test_interrupts_of_every_write_release_the_settings(library: Library) -> None:
    scope = settings.override({"mylib.level": 2, "mylib.tls": 3})
    pin = settings.pin({"mylib.mode": "quick"})
    with pytest.MonkeyPatch.context() as patch:
        scope.__enter__()
        patch.setattr(library, "set_level", lambda value: interrupt())
        patch.setattr(library, "set_mode", lambda value: interrupt())
        with pytest.raises(KeyboardInterrupt):
            scope.__exit__()
        with pytest.raises(KeyboardInterrupt):
            pin.release()
    assert library.get_tls() == 0
    pin.release()
    assert library.values == {"level": 2, "fast": False, "mode": "slow"}
    with settings.override({"mylib.level": 1}), settings.override({"mylib.mode": "quick"}):
        library.values["level"] = 1
    library.values["level"] = 1


def test_interrupt_wakes_waiting_threads(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    main, get, is_waiting = threading.current_thread(), library.get, threading.Event()
    entered = threading.Event()

    def wait() -> None:
        is_waiting.set()
        with settings.override({"mylib.level": 3}, on_conflict="wait", timeout=20):
            entered.set()

    def interrupted(name: str) -> object:
        return interrupt() if threading.current_thread() is main else get(name)

    scope = settings.override({"mylib.level": 2})
    scope.__enter__()
    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    is_waiting.wait()
    with monkeypatch.context() as patch:
        patch.setattr(library, "get", interrupted)
        with pytest.raises(KeyboardInterrupt):
            scope.__exit__()
    assert entered.wait(20)
    waiter.join()
    library.values["level"] = 1


def test_signal_handler_opens_a_scope_at_any_check(library: Library, full: bool) -> None:
    before = dict(library.values)

    def handle() -> None:
        sys.settrace(None)
        with settings.override({"mylib.level": 9, "mylib.tls": 8}):
            assert library.values["level"] == 9
            settings.explain("mylib.fast")

    for number in numbers_of_checks(full=full):
        values = {"mylib.level": 2, "mylib.context": 4}
        with AtCheck(number, handle, FILES) as at, settings.override(values):
            assert library.values["level"] == 2
        check_nothing_is_held(library, before)
        if not at.is_called:
            break
    assert number > 300


@pytest.mark.parametrize("kind", ["override", "pin"])
def test_interrupt_that_is_pending_when_a_scope_ends_waits_for_its_end(library: Library, kind: str) -> None:
    check_pending_interrupt(getattr(settings, kind)({"mylib.level": 2}))
    check_nothing_is_held(library, {"level": 1, "fast": False, "mode": "slow"})

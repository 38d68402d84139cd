"""An interrupt or a signal handler at any line leaves no setting held and no value changed."""

from __future__ import annotations

import contextlib
import gc
import itertools
import linecache
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
from interlock import settings
from interlock.settings import _holds
from interlock.settings._writes import LOG

from tests.unit.settings.library import Library, library

__all__ = ["library"]

VALUES = {"mylib.level": 2, "mylib.fast": True, "mylib.tls": 3, "mylib.context": 4}


@pytest.fixture(autouse=True, scope="module")
def forgotten_writes() -> Iterator[None]:
    """Other tests count the stored writes, of which these tests make thousands."""
    yield
    LOG._writes.clear()


class AtLine:
    """Calls a function once, before a line that runs inside of a function, as a signal handler is called."""

    def __init__(self, line: int, inside: Callable[..., object], call: Callable[[], object]) -> None:
        self._line = line
        self._inside = inside.__code__
        self._call = call
        self.is_called = False

    def __enter__(self) -> AtLine:
        # A collection would run callbacks of other packages, such as Hypothesis, inside of the function.
        self._collects = gc.isenabled()
        gc.disable()
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *exc_info: object) -> None:
        sys.settrace(self._before)
        if self._collects:
            gc.enable()

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        outer: FrameType | None = frame
        while outer is not None and outer.f_code is not self._inside:
            outer = outer.f_back
        # CPython handles no signal at `try`, at the first statement of `finally`, and at the end of `with`,
        # whose first line is traced again.
        file, number = frame.f_code.co_filename, frame.f_lineno
        source = linecache.getline(file, number).split()[:1]
        is_handled = source not in (["with"], ["try:"]) and "finally:" not in linecache.getline(
            file, number - 1
        )
        if event == "line" and outer is not None and is_handled:
            self._line -= 1
            if self._line < 0 and not self.is_called:
                self.is_called = True
                self._call()
        return self._trace


def interrupt() -> None:
    raise KeyboardInterrupt


def check_nothing_is_held(library: Library, before: dict[str, object]) -> None:
    assert not _holds.is_applying()
    assert library.values == before
    assert (library.get_tls(), library.of_context.get()) == (0, 0)
    with settings.override({"mylib.level": 7, "mylib.mode": "quick", "mylib.tls": 8, "mylib.context": 9}):
        assert library.values == {"level": 7, "fast": True, "mode": "quick"}
    assert library.values == before


def test_interrupt_while_a_scope_ends_releases_and_puts_back(library: Library) -> None:
    before = dict(library.values)
    for line in itertools.count():
        scope = settings.override(VALUES)
        scope.__enter__()
        at = AtLine(line, _holds._leave, interrupt)
        with contextlib.suppress(KeyboardInterrupt), at:
            scope.__exit__()
        check_nothing_is_held(library, before)
        if not at.is_called:
            break
    assert line > 100


def test_interrupt_while_a_nested_scope_ends_puts_back_the_outer_value(library: Library) -> None:
    for line in itertools.count():
        with settings.override({"mylib.level": 5}):
            scope = settings.override({"mylib.level": 6})
            scope.__enter__()
            at = AtLine(line, _holds._leave, interrupt)
            with contextlib.suppress(KeyboardInterrupt), at:
                scope.__exit__()
            assert library.values["level"] == 5
        assert library.values["level"] == 1
        if not at.is_called:
            break
    assert line > 50


def test_interrupt_while_a_scope_is_entered_puts_back(library: Library) -> None:
    before = dict(library.values)
    for line in itertools.count():
        scope = settings.override(VALUES)
        at = AtLine(line, settings.override._try, interrupt)
        with contextlib.suppress(KeyboardInterrupt):
            with at:
                scope.__enter__()
            scope.__exit__()
        check_nothing_is_held(library, before)
        if not at.is_called:
            break
    assert line > 100


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


@pytest.mark.parametrize("inside", [_holds.enter, _holds.leave])
def test_signal_handler_opens_a_scope_at_any_line(library: Library, inside: Callable[..., object]) -> None:
    before = dict(library.values)

    def handle() -> None:
        with settings.override({"mylib.level": 9, "mylib.tls": 8}):
            assert library.values["level"] == 9

    for line in itertools.count():
        with AtLine(line, inside, handle) as at, settings.override(VALUES):
            assert library.values["level"] == 2
        check_nothing_is_held(library, before)
        if not at.is_called:
            break
    assert line > 100


@pytest.mark.parametrize("kind", ["override", "pin"])
def test_interrupt_that_is_pending_when_a_scope_ends_waits_for_its_end(library: Library, kind: str) -> None:
    def run() -> None:
        with getattr(settings, kind)({"mylib.level": 2}):
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            # CPython does not look for signals after an operator.
            _ = b"ab" * 100_000_000

    previous = signal.signal(signal.SIGALRM, lambda *_: interrupt())
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.signal(signal.SIGALRM, previous)
    check_nothing_is_held(library, {"level": 1, "fast": False, "mode": "slow"})

"""Functions that are called when flags and modes have changed."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import autograd, backends, state
from interlock.backends import cudnn

from tests.helpers.contexts import in_a_new_context

Register = Callable[[Any], state.Registration]
BOTH = pytest.mark.parametrize("register", [backends.on_change, autograd.on_change])


@in_a_new_context
def test_modes_of_scopes_writes_and_states_are_reported() -> None:
    changes: list[Any] = []
    with autograd.on_change(lambda change: changes.append((change.old, change.new))):
        with interlock.no_grad():
            captured = interlock.capture()
        captured.run(interlock.is_grad_enabled)
        interlock.set_grad_enabled(True)
        with interlock.inference_mode():
            pass
    names = ("grad", "inference", "multithreading", "view_replay", "layout_policy")
    inference = dict(zip(names, (False, True, False, False, True), strict=True))
    written, off = {"grad": True}, {"grad": False}
    assert changes == [
        *[({}, off), (off, {})] * 2,
        ({}, written),
        (written, inference),
        (inference, written),
    ]


@in_a_new_context
def test_flags_of_writes_and_scopes_are_reported(restored: None) -> None:
    changes: list[Any] = []
    with backends.on_change(changes.append):
        cudnn.benchmark = True
        with backends.override({"cudnn.enabled": False, "cudnn.conv.fp32_precision": "ieee"}):
            cudnn.enabled = True
        del cudnn.benchmark
    written, entered, inside, exited, unset = changes
    assert (written.kind, written.name, written.old, written.new) == ("write", "cudnn.benchmark", False, True)
    assert (written.level, written.layer, written.values) == ("process", None, None)
    assert entered.kind == "enter"
    assert entered.values == {"cudnn.enabled": False, "cudnn.conv.fp32_precision": "ieee"}
    assert (inside.name, inside.new, inside.level) == ("cudnn.enabled", True, "scope")
    assert exited.kind == "exit"
    assert {change.layer for change in (entered, inside, exited)} == {entered.layer}
    assert (unset.name, unset.old, unset.new, unset.level) == ("cudnn.benchmark", True, False, "default")
    assert [repr(change) for change in changes] == [
        "FlagChange(cudnn.benchmark: False -> True)",
        f"FlagChange(enter {entered.layer}: {entered.values})",
        "FlagChange(cudnn.enabled: False -> True)",
        f"FlagChange(exit {entered.layer})",
        "FlagChange(cudnn.benchmark: True -> False)",
    ]


def test_writing_thread_calls_the_function(restored: None) -> None:
    threads: list[int] = []
    with backends.on_change(lambda _: threads.append(threading.get_ident())):
        thread = threading.Thread(target=lambda: setattr(cudnn, "benchmark", True))
        thread.start()
        thread.join()
    assert threads == [thread.ident]


def test_function_may_write_flags_and_register_functions(restored: None) -> None:
    names: list[str | None] = []
    later: list[state.Registration] = []

    def follow(change: backends.FlagChange) -> None:
        names.append(change.name)
        if change.name == "cudnn.benchmark":
            cudnn.deterministic = bool(change.new)
            later.append(backends.on_change(lambda _: None))

    with backends.on_change(follow):
        cudnn.benchmark = True
    assert names == ["cudnn.benchmark", "cudnn.deterministic"]
    later[0].remove()
    later[0].remove()


@BOTH
def test_function_is_released_when_it_is_removed(register: Register) -> None:
    def function(change: object) -> None:
        raise AssertionError(change)

    gone = weakref.ref(function)
    registration = register(function)
    del function
    assert registration.is_registered
    registration.remove()
    assert not registration.is_registered
    gc.collect()
    assert gone() is None
    with interlock.no_grad(), backends.override({"cudnn.enabled": False}):
        pass


@BOTH
@in_a_new_context
def test_exception_does_not_reach_the_code_that_changed_something(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(change: object) -> None:
        raise LookupError(f"at {type(change).__name__}")

    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    with register(fail), interlock.no_grad(), backends.override({"cudnn.enabled": False}):
        assert not cudnn.enabled
    kind = "FlagChange" if register is backends.on_change else "ModeChange"
    assert [str(each.exc_value) for each in reported] == [f"at {kind}"] * 2
    assert reported[0].object is fail


@BOTH
def test_interrupt_exits_an_entered_scope(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    interrupts = [KeyboardInterrupt]

    def interrupt(change: object) -> None:
        if interrupts:
            raise interrupts.pop()

    is_of_flags = register is backends.on_change
    changed: Any = backends.override({"cudnn.benchmark": True}) if is_of_flags else interlock.no_grad()
    with register(interrupt):
        with pytest.raises(KeyboardInterrupt):
            changed.__enter__()
        assert (interrupts, reported) == ([], [])
        # The change is undone: a statement that is interrupted in `__enter__` calls no `__exit__`.
        assert (cudnn.benchmark, interlock.is_grad_enabled()) == (False, True)


@BOTH
def test_registration_that_has_ended_cannot_be_entered(register: Register) -> None:
    registration = register(print)
    registration.remove()
    message = "^Registration.__enter__: the function was removed; register it again$"
    with pytest.raises(RuntimeError, match=message), registration:
        pass


@BOTH
def test_argument_must_be_callable(register: Register) -> None:
    module = "backends" if register is backends.on_change else "autograd"
    with pytest.raises(TypeError, match=f"^{module}.on_change: callback must be callable, got int$"):
        register(3)

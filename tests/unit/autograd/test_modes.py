"""Modes as scopes and as writes: re-entered, shared, out of order, on other threads."""

from __future__ import annotations

import threading
from typing import Any

import interlock
import numpy as np
import pytest
from interlock.autograd import grad_mode

from tests.helpers.ids import stable_repr
from tests.helpers.thread_worker import Worker
from tests.unit.autograd.mode_cases import HIDDEN, MODES, SETTERS, START, Mode, all_modes, public_modes

EACH = pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
SETTER = pytest.mark.parametrize(("name", "make"), SETTERS.items(), ids=SETTERS.keys())
BIT = {"set_grad_enabled": 0, **{kind.__name__: 2 + number for number, kind in enumerate(HIDDEN)}}


def leave(scope: Any) -> None:
    assert scope.__exit__(None, None, None) is None


def test_thread_starts_from_the_defaults() -> None:
    assert all_modes() == (True, False, True, False, True)


@EACH
def test_scope_sets_the_mode_and_restores_it(mode: Mode) -> None:
    with mode.make() as entered:
        assert entered is None
        assert public_modes() == mode.inside
    assert public_modes() == START


def test_inference_mode_sets_every_mode_bit() -> None:
    with grad_mode._force_original_view_tracking(True), grad_mode.enforce_grad_layout_policy(False):
        assert all_modes() == (True, False, True, True, False)
        with interlock.inference_mode():
            assert all_modes() == (False, True, False, False, True)
            with interlock.inference_mode(False):
                assert all_modes() == (True, False, True, False, True)
        assert all_modes() == (True, False, True, True, False)


@pytest.mark.parametrize("name", ["no_grad", "enable_grad"])
def test_plain_modes_set_only_grad_mode(name: str) -> None:
    before = all_modes()
    with MODES[name].make():
        assert all_modes() == (name == "enable_grad", *before[1:])


@EACH
def test_one_object_may_be_entered_again_while_it_is_open(mode: Mode) -> None:
    scope = mode.make()
    for _ in range(2):
        with scope:
            with scope:
                with interlock.no_grad(), scope:
                    assert public_modes() == mode.inside
                assert public_modes() == mode.inside
            assert public_modes() == mode.inside
        assert public_modes() == START


@EACH
def test_scopes_exited_out_of_order_remove_only_their_layer(mode: Mode) -> None:
    first, second = mode.make(), interlock.no_grad()
    first.__enter__()
    second.__enter__()
    leave(first)
    assert public_modes() == (False, False)
    leave(second)
    assert public_modes() == START


@EACH
def test_exit_without_enter_does_nothing(mode: Mode) -> None:
    before = all_modes()
    leave(mode.make())
    assert all_modes() == before
    with interlock.no_grad():
        leave(interlock.no_grad())
        assert public_modes() == (False, False)


@EACH
def test_surplus_exits_do_nothing(mode: Mode) -> None:
    scope = mode.make()
    with scope:
        pass
    leave(scope)
    leave(scope)
    assert public_modes() == START


@EACH
def test_exception_exits_the_scope_and_propagates(mode: Mode) -> None:
    with pytest.raises(KeyError), mode.make():
        raise KeyError
    assert public_modes() == START


@EACH
def test_one_object_is_shared_by_threads(mode: Mode, workers: tuple[Worker, Worker]) -> None:
    shared = mode.make()
    with shared:
        for worker in workers:
            worker.do(shared.__enter__)
            assert worker.do(public_modes) == mode.inside
    assert public_modes() == START
    for worker in workers:
        assert worker.do(public_modes) == mode.inside
        worker.do(lambda: leave(shared))
        assert worker.do(public_modes) == START


@EACH
def test_new_thread_starts_from_the_defaults(mode: Mode) -> None:
    seen = []
    with mode.make():
        thread = threading.Thread(target=lambda: seen.append(all_modes()))
        thread.start()
        thread.join(timeout=20)
    assert seen == [(True, False, True, False, True)]


@SETTER
def test_setter_writes_in_its_constructor(name: str, make: Any) -> None:
    before = all_modes()[BIT[name]]
    made = make(not before)
    assert (made.prev, made.mode) == (before, not before)
    assert all_modes()[BIT[name]] is not before
    leave(made)
    assert all_modes()[BIT[name]] is before


@SETTER
def test_entering_a_setter_reverts_the_write_of_its_constructor(name: str, make: Any) -> None:
    before = all_modes()
    made = make(not before[BIT[name]])
    with made:
        assert all_modes()[BIT[name]] is not before[BIT[name]]
    assert all_modes() == before
    with made:
        assert all_modes()[BIT[name]] is not before[BIT[name]]
    assert all_modes() == before


@SETTER
def test_decorating_reverts_the_write_of_the_constructor(name: str, make: Any) -> None:
    before = all_modes()
    function = make(not before[BIT[name]])(all_modes)
    assert all_modes() == before
    assert function()[BIT[name]] is not before[BIT[name]]
    assert all_modes() == before


@SETTER
def test_write_of_the_constructor_is_reverted_only_once(name: str, make: Any) -> None:
    before = all_modes()[BIT[name]]
    made = make(not before)
    leave(made)
    kept = make(not before)
    leave(made)
    assert all_modes()[BIT[name]] is not before, "that write is another object's"
    leave(kept)
    assert all_modes()[BIT[name]] is before


def test_setter_created_outside_a_scope_is_reverted_there() -> None:
    made = interlock.set_grad_enabled(False)
    with interlock.no_grad():
        with made:
            assert public_modes() == (False, False)
        assert public_modes() == (False, False)
    assert public_modes() == START


def test_write_is_undone_with_the_scope_that_owns_the_bit() -> None:
    with interlock.no_grad():
        interlock.set_grad_enabled(True)
        assert public_modes() == (True, False)
        with interlock.enable_grad():
            interlock.set_grad_enabled(False)
            assert public_modes() == (False, False)
        assert public_modes() == (True, False)
    assert public_modes() == START
    with grad_mode.set_multithreading_enabled(False):
        kept = interlock.set_grad_enabled(False)
    assert public_modes() == (False, False), "that scope does not decide grad"
    leave(kept)
    assert public_modes() == START


def test_write_to_an_exited_scope_is_not_reverted() -> None:
    with interlock.no_grad():
        made = interlock.set_grad_enabled(True)
    leave(made)
    assert public_modes() == START
    with interlock.enable_grad():
        leave(made)
        assert public_modes() == (True, False)


@EACH
def test_clone_returns_an_equal_object_of_its_class(mode: Mode) -> None:
    made = mode.make()
    copy = made.clone()
    assert type(copy) is type(made)
    assert copy is not made
    assert getattr(copy, "mode", None) == getattr(made, "mode", None)
    leave(copy)
    leave(made)
    with copy:
        assert public_modes() == mode.inside
    assert public_modes() == START


def test_mode_and_prev_equal_those_of_pytorch() -> None:
    assert (interlock.inference_mode().mode, interlock.inference_mode(False).mode) == (True, False)
    scope = interlock.no_grad()
    assert scope.prev is False
    with scope:
        assert scope.prev is True
        with interlock.no_grad() as _:
            pass


def test_text_names_the_class_and_the_mode() -> None:
    with interlock.set_grad_enabled(False) as _:
        pass
    for mode in (True, False):
        made = interlock.set_grad_enabled(mode)
        assert str(made) == repr(made) == f"interlock.autograd.grad_mode.set_grad_enabled(mode={mode})"
        leave(made)
    assert "no_grad" in repr(interlock.no_grad())


@pytest.mark.parametrize("wrong", [None, 1, 0, "x", 1.5, []], ids=stable_repr)
@SETTER
def test_setter_accepts_a_bool_and_otherwise_changes_nothing(name: str, make: Any, wrong: object) -> None:
    before = all_modes()
    with pytest.raises(TypeError, match="bool"):
        make(wrong)
    assert all_modes() == before


def test_arguments_missing_or_too_many_are_type_errors() -> None:
    before = all_modes()
    wrong_calls = (
        lambda: interlock.set_grad_enabled(),
        lambda: interlock.set_grad_enabled(True, False),
        lambda: interlock.no_grad(public_modes, public_modes),
        lambda: interlock.inference_mode(True, True),
        lambda: interlock.set_grad_enabled(enabled=True),
    )
    for call in wrong_calls:
        with pytest.raises(TypeError):
            call()
        assert all_modes() == before


@pytest.mark.parametrize("wrong", [1, "x", 1.5, []], ids=stable_repr)
@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "inference_mode"])
def test_mode_without_parentheses_accepts_only_a_function(name: str, wrong: object) -> None:
    with pytest.raises(TypeError):
        getattr(interlock, name)(wrong)
    assert public_modes() == START


def test_mode_accepts_a_bool_of_numpy() -> None:
    given: Any = np.False_
    with interlock.set_grad_enabled(given), grad_mode.set_multithreading_enabled(given):
        assert all_modes()[:3] == (False, False, False)
    with interlock.inference_mode(np.True_), interlock.inference_mode(given):  # type: ignore[call-overload]
        assert public_modes() == (True, False)
    pinned: Any = np.True_
    assert "cudnn.enabled" in repr(interlock.capture(pin=pinned))


def test_arguments_may_be_named() -> None:
    with interlock.set_grad_enabled(mode=False), grad_mode.set_multithreading_enabled(mode=False):
        assert all_modes()[:3] == (False, False, False)
    with interlock.inference_mode(mode=True), grad_mode.enforce_grad_layout_policy(enable=False):
        assert public_modes() == (False, True)
    with grad_mode.enforce_grad_layout_policy():
        assert all_modes() == (True, False, True, False, True)

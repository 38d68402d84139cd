"""Scopes that are never exited: a barrier ends them, and they can be listed and ended."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import interlock
import pytest
from interlock import backends, state

from tests.helpers.contexts import in_a_new_context
from tests.helpers.subprocess import eval_program, marked_lines

TRACED = {"INTERLOCK_DEBUG": "1"}
SCOPES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "mode": interlock.no_grad,
    "flags": lambda: backends.override({"cudnn.benchmark": True}),
    "captured state": lambda: interlock.capture().apply(),
    "device": lambda: interlock.device("cpu"),
    "precision": lambda: backends.cudnn.flags(fp32_precision="ieee"),
}


def look() -> tuple[object, ...]:
    return interlock.is_grad_enabled(), backends.cudnn.benchmark, repr(interlock.capture())


@pytest.fixture(params=SCOPES)
def scope(request: pytest.FixtureRequest) -> AbstractContextManager[Any]:
    return SCOPES[request.param]()


def test_barrier_ends_scopes_that_its_block_leaves_open(scope: AbstractContextManager[Any]) -> None:
    before = look()
    with interlock.enable_grad():
        inside = look()
        with state.scope_barrier() as barrier:
            scope.__enter__()
            with interlock.no_grad():
                scope.__enter__()
            copy = contextvars.copy_context()
        assert barrier.ended == 2
        assert look() == copy.run(look) == inside
    assert look() == before
    # Nothing is left to exit.
    scope.__exit__(None, None, None)
    assert look() == before


def test_barrier_ends_nothing_that_its_block_exits() -> None:
    with interlock.no_grad(), state.scope_barrier() as barrier:
        with interlock.enable_grad():
            assert interlock.is_grad_enabled()
        assert not interlock.is_grad_enabled()
    assert barrier.ended == 0


def test_barrier_can_be_nested_in_itself() -> None:
    barrier = state.scope_barrier()
    with barrier:
        interlock.no_grad().__enter__()
        with barrier:
            interlock.enable_grad().__enter__()
            assert interlock.is_grad_enabled()
        assert (barrier.ended, interlock.is_grad_enabled()) == (1, False)
    assert (barrier.ended, interlock.is_grad_enabled()) == (2, True)


def test_barrier_ends_scopes_if_its_block_raises() -> None:
    barrier = state.scope_barrier()

    def fail() -> None:
        with barrier:
            interlock.no_grad().__enter__()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert barrier.ended == 1
    assert interlock.is_grad_enabled()


def test_barrier_of_a_task_ends_only_scopes_of_the_task() -> None:
    async def task() -> tuple[int, bool]:
        with state.scope_barrier() as barrier:
            interlock.enable_grad().__enter__()
            await asyncio.sleep(0)
        return barrier.ended, interlock.is_grad_enabled()

    async def main() -> list[tuple[int, bool]]:
        with interlock.no_grad():
            done = await asyncio.gather(task(), task())
            assert not interlock.is_grad_enabled()
        return done

    assert asyncio.run(main()) == [(1, False), (1, False)]


@in_a_new_context
def test_open_scopes_of_a_context_can_be_ended(scope: AbstractContextManager[Any]) -> None:
    before = look()
    scope.__enter__()
    interlock.no_grad().__enter__()
    copy = contextvars.copy_context()
    assert state.end_open_scopes() == 2
    assert look() == copy.run(look) == before
    assert state.end_open_scopes() == 0
    scope.__exit__(None, None, None)
    assert look() == before


@in_a_new_context
def test_blocks_that_are_open_can_be_exited_after_their_scopes_were_ended() -> None:
    with interlock.no_grad(), backends.override({"cudnn.benchmark": True}):
        assert state.end_open_scopes() == 2
        assert look()[:2] == (True, False)
        with interlock.no_grad():
            assert not interlock.is_grad_enabled()
    assert look()[:2] == (True, False)


@in_a_new_context
def test_ending_open_scopes_keeps_writes() -> None:
    interlock.set_grad_enabled(False)
    interlock.enable_grad().__enter__()
    assert state.end_open_scopes() == 1
    assert not interlock.is_grad_enabled()


@in_a_new_context
def test_ending_inherited_scopes_ends_them_where_they_are_open() -> None:
    with interlock.no_grad():
        copy = contextvars.copy_context()
        assert copy.run(state.end_open_scopes) == 1
        assert interlock.is_grad_enabled()
    assert interlock.is_grad_enabled()


def test_ending_inherited_scopes_that_were_exited_changes_one_copy() -> None:
    with interlock.no_grad():
        first = contextvars.copy_context()
        second = contextvars.copy_context()
    assert first.run(state.end_open_scopes) == 1
    assert (first.run(interlock.is_grad_enabled), second.run(interlock.is_grad_enabled)) == (True, False)


def test_scopes_of_other_threads_are_not_ended() -> None:
    seen: list[bool] = []
    entered, ended = threading.Event(), threading.Event()

    def work() -> None:
        with interlock.no_grad():
            entered.set()
            ended.wait(20)
            seen.append(interlock.is_grad_enabled())

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(20)
    contextvars.Context().run(state.end_open_scopes)
    ended.set()
    thread.join()
    assert seen == [False]


def test_barrier_warns_of_the_lines_that_entered() -> None:
    name = "state.left_open.barrier"
    entered = [place for mark, place in sorted(marked_lines(name).items())]
    open_scopes, warned, is_grad_enabled = eval_program(name, env=TRACED)
    assert open_scopes == []
    assert [place for _, place in warned] == entered
    assert [message for message, _ in warned] == [
        f"the scope of {scope} entered here was still open at the end of its scope_barrier"
        for scope in ("no_grad", "cudnn.enabled")
    ]
    assert is_grad_enabled


def test_ended_scopes_are_no_longer_listed() -> None:
    assert eval_program("state.left_open.ended", env=TRACED) == [1, []]

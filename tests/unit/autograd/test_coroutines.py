"""Decorated coroutines and async generators are in their mode around each step."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import types
import weakref
from collections.abc import AsyncIterator, Generator
from typing import Any

import pytest
from interlock import is_grad_enabled, no_grad

from tests.unit.autograd.callable_kinds import Pause
from tests.unit.autograd.mode_cases import BARE, MODES, START, Mode, State, public_modes

EACH = pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())


@EACH
def test_decorated_coroutine_is_in_the_mode_only_while_it_runs(mode: Mode) -> None:
    @mode.make()
    async def coroutine(x: int) -> Any:
        first = await Pause(public_modes())
        with contextlib.suppress(KeyError):
            await Pause(first)
        return x, public_modes()

    assert inspect.iscoroutinefunction(coroutine)
    running = coroutine(3)
    assert (running.send(None), public_modes()) == (mode.inside, START)
    assert (running.send("a"), public_modes()) == ("a", START)
    with pytest.raises(StopIteration) as stop:
        running.throw(KeyError())
    assert stop.value.value == (3, mode.inside)
    assert public_modes() == START


@EACH
def test_overlapping_tasks_do_not_disturb_each_other(mode: Mode) -> None:
    @mode.make()
    async def step(seen: list[State], pauses: int) -> None:
        for _ in range(pauses):
            seen.append(public_modes())
            await asyncio.sleep(0)

    async def plain(seen: list[State]) -> None:
        for _ in range(6):
            seen.append(public_modes())
            await asyncio.sleep(0)

    async def main() -> tuple[list[State], list[State]]:
        inside: list[State] = []
        outside: list[State] = []
        await asyncio.gather(step(inside, 3), plain(outside), step(inside, 5))
        return inside, outside

    assert asyncio.run(main()) == ([mode.inside] * 8, [START] * 6)
    assert public_modes() == START


@EACH
def test_decorated_async_generator_is_in_the_mode_only_while_it_runs(mode: Mode) -> None:
    ended = []

    @mode.make()
    async def generator() -> AsyncIterator[Any]:
        try:
            yield public_modes()
            await asyncio.sleep(0)
            yield public_modes()
        finally:
            ended.append(public_modes())

    assert inspect.isasyncgenfunction(generator)

    async def main() -> list[Any]:
        seen = [(inside, public_modes()) async for inside in generator()]
        closing = generator()
        seen.append((await closing.__anext__(), public_modes()))
        await closing.aclose()
        return seen

    assert asyncio.run(main()) == [(mode.inside, START)] * 3
    assert ended == [mode.inside] * 2
    assert public_modes() == START


@pytest.mark.parametrize(("kind", "inside"), BARE.values(), ids=BARE.keys())
def test_coroutine_can_be_decorated_without_parentheses(kind: Any, inside: State) -> None:
    @kind
    async def coroutine() -> State:
        await asyncio.sleep(0)
        return public_modes()

    assert inspect.iscoroutinefunction(coroutine)
    assert asyncio.run(coroutine()) == inside


@EACH
def test_object_with_an_async_call_is_in_the_mode_while_it_runs(mode: Mode) -> None:
    class Caller:
        async def __call__(self) -> State:
            await asyncio.sleep(0)
            return public_modes()

    assert asyncio.run(mode.make()(Caller())()) == mode.inside
    assert public_modes() == START


@EACH
def test_generator_based_coroutine_can_still_be_awaited(mode: Mode) -> None:
    @mode.make()
    @types.coroutine
    def steps() -> Generator[Any, Any, State]:
        yield
        return public_modes()

    async def main() -> State:
        return await steps()

    assert asyncio.run(main()) == mode.inside
    assert public_modes() == START


def test_exception_thrown_in_is_not_kept_alive() -> None:
    class Thrown(Exception):
        pass

    @no_grad()
    def generator() -> Generator[None, None, None]:
        yield

    def throw() -> weakref.ref[Thrown]:
        running = generator()
        next(running)
        try:
            running.throw(Thrown())
        except Thrown as error:
            return weakref.ref(error)
        raise AssertionError("the error did not come out")

    gc.disable()
    try:
        assert throw()() is None
    finally:
        gc.enable()


def test_loop_shutdown_closes_a_decorated_asyncgen_once_in_its_mode() -> None:
    seen: list[object] = []

    @no_grad()
    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            seen.append(is_grad_enabled())

    async def main() -> object:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: seen.append(context))
        generator = numbers()
        await anext(generator)
        return generator

    asyncio.run(main())
    assert seen == [False]


def test_gc_may_collect_a_decorated_asyncgen_from_inside() -> None:
    @no_grad()
    async def numbers() -> AsyncIterator[int]:
        yield 1

    generator: Any = numbers()
    with pytest.raises(StopIteration):
        anext(generator).__await__().send(None)
    with pytest.raises(StopIteration):
        generator.ag_frame.f_locals["generator"].aclose().send(None)
    with pytest.raises(StopIteration):
        generator.aclose().send(None)


def test_gc_may_collect_a_decorated_coroutine_from_inside() -> None:
    @no_grad()
    async def wait() -> None:
        await Pause()

    coroutine: Any = wait()
    coroutine.send(None)
    coroutine.cr_await.gi_frame.f_locals["running"].close()
    coroutine.close()
    assert coroutine.cr_frame is None

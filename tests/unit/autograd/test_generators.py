"""A decorated generator is in its mode only while it runs, never while its consumer does."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Generator, Iterator
from typing import Any

import interlock
import pytest

from tests.helpers.thread_worker import Worker
from tests.unit.autograd.mode_cases import BARE, MODES, START, Mode, State, public_modes

EACH = pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())


@EACH
def test_send_and_the_returned_value_pass_through(mode: Mode) -> None:
    @mode.make()
    def generator(x: int) -> Generator[Any, Any, Any]:
        first = yield x, public_modes()
        second = yield first, public_modes()
        return second, public_modes()

    assert inspect.isgeneratorfunction(generator)
    it = generator(1)
    assert inspect.isgenerator(it)
    assert (next(it), public_modes()) == ((1, mode.inside), START)
    assert (it.send("a"), public_modes()) == (("a", mode.inside), START)
    with pytest.raises(StopIteration) as stop:
        it.send("b")
    assert stop.value.value == ("b", mode.inside)
    assert public_modes() == START


@EACH
def test_yield_from_works_on_both_sides(mode: Mode) -> None:
    @mode.make()
    def inner() -> Generator[State, Any, str]:
        yield public_modes()
        return "end"

    @mode.make()
    def outer() -> Generator[Any, Any, Any]:
        result = yield from inner()
        yield result, public_modes()

    assert list(outer()) == [mode.inside, ("end", mode.inside)]
    assert public_modes() == START


@EACH
def test_exception_thrown_in_is_handled_inside_the_mode(mode: Mode) -> None:
    @mode.make()
    def generator() -> Generator[Any, Any, None]:
        while True:
            try:
                yield public_modes()
            except KeyError as error:
                yield error, public_modes()

    error = KeyError("mine")
    it = generator()
    assert next(it) == mode.inside
    assert it.throw(error) == (error, mode.inside)
    assert next(it) == mode.inside
    with pytest.raises(ValueError, match="not handled"):
        it.throw(ValueError("not handled"))
    assert public_modes() == START
    assert list(it) == []


@EACH
def test_exception_raised_inside_exits_the_mode(mode: Mode) -> None:
    @mode.make()
    def generator() -> Iterator[int]:
        yield 1
        raise LookupError

    it = generator()
    assert next(it) == 1
    with pytest.raises(LookupError):
        next(it)
    assert public_modes() == START


@EACH
def test_close_runs_the_cleanup_inside_the_mode(mode: Mode) -> None:
    seen = []

    @mode.make()
    def generator() -> Iterator[int]:
        try:
            yield 1
        finally:
            seen.append(public_modes())

    it = generator()
    next(it)
    it.close()
    assert seen == [mode.inside]
    unstarted = generator()
    unstarted.close()
    assert seen == [mode.inside]
    assert public_modes() == START


@EACH
def test_close_returns_the_value_that_a_plain_generator_returns(mode: Mode) -> None:
    def generator() -> Generator[int, None, str]:
        try:
            yield 1
        except GeneratorExit:
            return "closed"
        return "ended"

    decorated, plain = mode.make()(generator)(), generator()
    assert next(decorated) == next(plain)
    assert decorated.close() == plain.close(), "a value since CPython 3.13"


@EACH
def test_generator_that_is_dropped_half_way_cleans_up_inside_the_mode(mode: Mode) -> None:
    seen = []

    @mode.make()
    def generator() -> Iterator[int]:
        try:
            yield 1
        finally:
            seen.append(public_modes())

    it = generator()
    next(it)
    del it
    gc.collect()
    assert seen == [mode.inside]
    assert public_modes() == START


@EACH
def test_generator_that_ignores_close_is_an_error_as_for_any_other(mode: Mode) -> None:
    @mode.make()
    def generator() -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            yield 2

    it = generator()
    next(it)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        it.close()
    assert public_modes() == START


@EACH
def test_modes_of_the_consumer_and_the_generator_are_independent(mode: Mode) -> None:
    @mode.make()
    def generator() -> Iterator[State]:
        yield public_modes()
        yield public_modes()

    it = generator()
    assert next(it) == mode.inside
    with interlock.no_grad():
        seen = next(it)
        assert public_modes() == (False, False)
    assert seen[1] == mode.inside[1]
    assert public_modes() == START


@EACH
def test_two_generators_interleave(mode: Mode) -> None:
    @mode.make()
    def generator() -> Iterator[State]:
        for _ in range(3):
            yield public_modes()

    @interlock.enable_grad()
    def other() -> Iterator[State]:
        for _ in range(3):
            yield public_modes()

    pairs = [(*pair, public_modes()) for pair in zip(generator(), other(), strict=True)]
    assert pairs == [(mode.inside, (True, False), START)] * 3


@pytest.mark.parametrize(("kind", "inside"), BARE.values(), ids=BARE.keys())
def test_generator_can_be_decorated_without_parentheses(kind: Any, inside: State) -> None:
    @kind
    def generator() -> Iterator[State]:
        yield public_modes()

    assert inspect.isgeneratorfunction(generator)
    assert [(seen, public_modes()) for seen in generator()] == [(inside, START)]


@EACH
def test_generator_method_keeps_its_object(mode: Mode) -> None:
    class Owner:
        @mode.make()
        def items(self) -> Iterator[Any]:
            yield self, public_modes()

    owner = Owner()
    assert list(owner.items()) == [(owner, mode.inside)]


@EACH
def test_generator_may_be_resumed_on_another_thread(mode: Mode, workers: tuple[Worker, Worker]) -> None:
    @mode.make()
    def generator() -> Iterator[State]:
        while True:
            yield public_modes()

    it = generator()
    for worker in (*workers, *workers):
        assert worker.do(lambda: next(it)) == mode.inside
        assert worker.do(public_modes) == START


def test_scope_open_in_an_undecorated_generator_ends_with_it() -> None:
    def generator() -> Iterator[int]:
        with interlock.no_grad():
            yield 1

    it = generator()
    next(it)
    assert public_modes() == (False, False), "known and unavoidable: the scope is open in the consumer"
    del it
    gc.collect()
    assert public_modes() == START

"""Every way to run a decorated callable: each kind of function with each operation on its result."""

from __future__ import annotations

import functools
import gc
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import suppress
from typing import Any

import pytest

Decorate = Callable[[Any], Any]
Note = Callable[[], None]
Use = Callable[[Decorate, Note, Note], None]
"""Decorates and runs a callable; its body calls the first function, its caller the second."""


class Pause:
    """An awaitable that yields a value and receives one."""

    def __init__(self, value: object = None) -> None:
        self.value = value

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self.value)


# Plain callables.


def a_function(decorate: Decorate, inside: Note, outside: Note) -> None:
    decorate(inside)()


def a_function_that_raises(decorate: Decorate, inside: Note, outside: Note) -> None:
    @decorate
    def function() -> None:
        inside()
        raise KeyError

    with pytest.raises(KeyError):
        function()


def methods(decorate: Decorate, inside: Note, outside: Note) -> None:
    class Owner:
        @decorate
        def method(self) -> None:
            inside()

        @decorate
        @classmethod
        def of_class_decorated_last(cls) -> None:
            inside()

        @classmethod
        @decorate
        def of_class_decorated_first(cls) -> None:
            inside()

        @decorate
        @staticmethod
        def static_decorated_last() -> None:
            inside()

        @staticmethod
        @decorate
        def static_decorated_first() -> None:
            inside()

    for owner in (Owner(), Owner):
        for name in ("of_class_decorated_last", "of_class_decorated_first"):
            getattr(owner, name)()
            outside()
        for name in ("static_decorated_last", "static_decorated_first"):
            getattr(owner, name)()
            outside()
    Owner().method()


def objects_that_can_be_called(decorate: Decorate, inside: Note, outside: Note) -> None:
    class Called:
        def __call__(self) -> None:
            inside()

    class Started:
        def __call__(self) -> Generator[None, None, None]:
            inside()
            yield

    class Awaited:
        async def __call__(self) -> None:
            inside()

    decorate(Called())()
    decorate(functools.partial(inside))()
    outside()
    next(decorate(Started())())
    outside()
    run(decorate(Awaited())())


def a_class(decorate: Decorate, inside: Note, outside: Note) -> None:
    def decorated(class_: Any) -> Any:
        with pytest.warns(FutureWarning, match="construction only"):
            return decorate(class_)

    class Initialised:
        def __init__(self, given: int) -> None:
            inside()

        def method(self) -> None:
            outside()

    class Made:
        def __new__(cls, given: int) -> Made:
            inside()
            return super().__new__(cls)

    class Both(Made):
        def __init__(self, given: int) -> None:
            inside()

    decorated(Initialised)(1).method()
    for class_ in (Made, Both):
        made = decorated(class_)(1)
        outside()
        assert type(made) is class_
    assert decorated(type("Number", (int,), {}))(3) == 3
    assert decorated(type("Plain", (), {}))()


# Generators, and coroutines driven with `send` like generators.


def steps(inside: Note) -> Generator[str, str, str]:
    """Log received values, continue after a KeyError, clean up."""
    try:
        inside()
        said = "started"
        while said != "end":
            try:
                said = yield said
            except KeyError:
                said = "caught"
            inside()
        return "returned"
    finally:
        inside()


def drive(started: Any, outside: Note, ending: str) -> None:
    """Run all operations on a generator or coroutine whose body is `steps`."""
    assert started.send(None) == "started"
    outside()
    assert started.send("sent") == "sent"
    outside()
    assert started.throw(KeyError()) == "caught"
    outside()
    if ending == "return":
        with pytest.raises(StopIteration, match="returned"):
            started.send("end")
    elif ending == "throw":
        with pytest.raises(LookupError, match="not caught"):
            started.throw(LookupError("not caught"))
    elif ending == "close":
        started.close()
    elif ending == "drop":
        del started
        gc.collect()


def generator(decorate: Decorate, inside: Note, outside: Note, ending: str) -> None:
    @decorate
    def function() -> Generator[str, str, str]:
        return (yield from steps(inside))

    drive_and_drop(function, outside, ending)


def coroutine(decorate: Decorate, inside: Note, outside: Note, ending: str) -> None:
    @types.coroutine
    def awaited() -> Generator[str, str, str]:
        return (yield from steps(inside))

    @decorate
    async def function() -> str:
        return await awaited()

    drive_and_drop(function, outside, ending)


def generator_based_coroutine(decorate: Decorate, inside: Note, outside: Note, ending: str) -> None:
    @decorate
    @types.coroutine
    def function() -> Generator[str, str, str]:
        return (yield from steps(inside))

    async def main() -> str:
        return await function()

    drive_and_drop(main, outside, ending)


def drive_and_drop(function: Callable[[], Any], outside: Note, ending: str) -> None:
    # No reference stays here, so that the one in `drive` is the last.
    drive(function(), outside, ending)
    outside()
    function().close()


# Async generators: operations on them, and on the awaited step.


def run(step: Awaitable[Any]) -> Any:
    """Return the result of a step that never suspends."""
    awaited = step.__await__()
    try:
        while True:
            next(awaited)
    except StopIteration as end:
        return end.value


def async_generator(
    decorate: Decorate, inside: Note, outside: Note, ending: str, *, while_it_waits: bool = False
) -> None:
    @decorate
    async def function() -> AsyncGenerator[str, str]:
        try:
            inside()
            said = "started"
            while said != "end":
                with suppress(KeyError):
                    await Pause("waits")
                inside()
                try:
                    said = yield said
                except KeyError:
                    said = "caught"
                inside()
        finally:
            if not while_it_waits:
                await Pause()
            inside()

    running = function()
    assert run(running.asend(None)) == "started"
    outside()
    assert run(running.asend("sent")) == "sent"
    outside()
    assert run(running.athrow(KeyError())) == "caught"
    outside()
    if while_it_waits:
        end_a_step(running.asend("again"), outside, ending)
    elif ending == "return":
        with pytest.raises(StopAsyncIteration):
            run(running.asend("end"))
    elif ending == "throw":
        with pytest.raises(LookupError, match="not caught"):
            run(running.athrow(LookupError("not caught")))
    elif ending == "close":
        run(running.aclose())
    outside()
    run(function().aclose())
    del running
    gc.collect()


def end_a_step(step: Any, outside: Note, ending: str) -> None:
    assert step.send(None) == "waits"
    outside()
    if ending == "return":
        with pytest.raises(StopIteration, match="again"):
            step.throw(KeyError())
    elif ending == "throw":
        with pytest.raises(LookupError, match="not caught"):
            step.throw(LookupError("not caught"))
    elif ending == "close":
        step.close()


CALLS: list[Use] = [a_function, a_function_that_raises, methods, objects_that_can_be_called, a_class]
KINDS = {
    "generator": (generator, ("return", "throw", "close", "drop")),
    "coroutine": (coroutine, ("return", "throw", "close", "drop")),
    "generator-based coroutine": (generator_based_coroutine, ("return", "throw", "close", "drop")),
    "async generator": (async_generator, ("return", "throw", "close")),
    "async generator that waits": (
        functools.partial(async_generator, while_it_waits=True),
        ("return", "throw", "close", "drop"),
    ),
}
USES: dict[str, Use] = {use.__name__.replace("_", " "): use for use in CALLS} | {
    f"{kind}, {ending}": functools.partial(use, ending=ending)
    for kind, (use, endings) in KINDS.items()
    for ending in endings
}

"""Frames: calls, generators, coroutines and tasks that run the actions sent to them.

Every frame except a call is suspended between the steps, possibly inside a scope, and may be resumed by any
thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from typing import Any

from interlock import aio

Action = Callable[[], Any]
Wait = Callable[[Any], Awaitable[Action]]


class Handled(Exception):
    """Thrown into a frame, which handles it."""


class Finish(Exception):
    """Thrown into a frame, which then returns from inside the scope."""


class Unhandled(Exception):
    """Thrown into a frame, which does not catch it."""


def generator(scope: Any, _wait: object = None) -> Generator[Any, Action, None]:
    """Run the actions sent to it, with `scope` open from the first step to the last."""
    answer = None
    with scope:
        while True:
            try:
                answer = (yield answer)()
            except Handled:
                answer = None
            except Finish:
                return


async def coroutine(scope: Any, wait: Wait) -> None:
    """Run actions like `generator`; `wait` yields the answer and returns the next action."""
    answer = None
    with scope:
        while True:
            try:
                answer = (await wait(answer))()
            except Handled:
                answer = None
            except Finish:
                return


async def async_generator(scope: Any, _wait: object = None) -> AsyncGenerator[Any, Action]:
    """Run actions like `generator`."""
    answer = None
    with scope:
        while True:
            try:
                answer = (yield answer)()
            except Handled:
                answer = None
            except Finish:
                return


@types.coroutine
def by_hand(answer: Any) -> Generator[Any, Action, Action]:
    """Suspend a coroutine that is driven without an event loop."""
    return (yield answer)


class Call:
    """A function that calls its argument and is never suspended."""

    def __init__(self, function: Callable[[Action], Any]) -> None:
        self.function = function

    def send(self, action: Action) -> Any:
        return self.function(action)

    def throw(self, error: Exception) -> bool:
        def fail() -> None:
            raise error

        with contextlib.suppress(type(error)):
            self.function(fail)
        return False

    def close(self) -> None:
        """Do nothing: a call is never suspended."""

    drop = collect = close


class Resumed:
    """A generator or coroutine. This is the only reference to it, so that it can be dropped."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        inner.send(None)

    def send(self, action: Action) -> Any:
        return self.inner.send(action)

    def throw(self, error: Exception) -> bool:
        """Return whether the frame has ended."""
        try:
            self.inner.throw(error)
        except (StopIteration, Unhandled):
            return True
        return False

    def close(self) -> None:
        self.inner.close()

    def drop(self) -> None:
        """Drop the last reference, which closes it here."""
        del self.inner

    def collect(self) -> None:
        """Let the GC collect it in a cycle, which closes it here."""
        cycle = [self.inner]
        cycle.append(cycle)
        del cycle
        self.drop()
        gc.collect()


class ResumedAsync(Resumed):
    """An async generator that never suspends in a step."""

    def __init__(self, inner: AsyncGenerator[Any, Any]) -> None:
        self.inner = inner
        self.result_of(inner.asend(None))

    @staticmethod
    def result_of(step: Awaitable[Any]) -> Any:
        try:
            next(step.__await__())
        except StopIteration as end:
            return end.value
        raise AssertionError("it waits for something")

    def send(self, action: Action) -> Any:
        return self.result_of(self.inner.asend(action))

    def throw(self, error: Exception) -> bool:
        try:
            self.result_of(self.inner.athrow(error))
        except (StopAsyncIteration, Unhandled):
            return True
        return False

    def close(self) -> None:
        self.result_of(self.inner.aclose())


class LoopTask(Resumed):
    """A task of an event loop, which runs one iteration per step on the thread of the step."""

    def __init__(self, loop: asyncio.AbstractEventLoop, factory: Any, body: Callable[[Wait], Any]) -> None:
        self.loop = loop
        loop.set_task_factory(factory)
        self.inner = loop.create_task(body(self.wait))
        self.go_round()

    async def wait(self, answer: Any) -> Action:
        self.answer = answer
        self.sent: asyncio.Future[Action] = self.loop.create_future()
        return await self.sent

    def go_round(self) -> None:
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def send(self, action: Action) -> Any:
        self.sent.set_result(action)
        self.go_round()
        return self.answer

    def throw(self, error: Exception) -> bool:
        self.sent.set_exception(error)
        self.go_round()
        if ended := self.inner.done():
            assert isinstance(self.inner.exception(), Unhandled | None)
        return bool(ended)

    def close(self) -> None:
        self.inner.cancel()
        self.go_round()

    def drop(self) -> None:
        # Task and future refer to each other, so only the GC destroys them.
        del self.inner, self.sent
        gc.collect()

    collect = drop


def with_looks(inner: Coroutine[Any, Any, Any]) -> Any:
    """Return the coroutine that the task factory of `aio` passes to asyncio."""
    return aio.task_factory(lambda _loop, steps: steps)(None, inner)


async def awaiting(steps: Awaitable[Any]) -> None:
    """Wrap a coroutine like a custom task factory."""
    await steps


class InContext:
    """A copy of the context, in which each action runs."""

    def __init__(self) -> None:
        self.context = contextvars.copy_context()

    def send(self, action: Action) -> Any:
        return self.context.run(action)

    def throw(self, error: Exception) -> bool:
        return False

    def close(self) -> None:
        """Do nothing: nothing is suspended in it."""

    drop = collect = close


KINDS = (
    "function",
    "generator",
    "coroutine",
    "async generator",
    "coroutine with looks",
    "awaited coroutine with looks",
    "context",
    "task",
    "task of aio",
)
OF_THE_LOOP = ("task", "task of aio")
WITH_A_STATE = ("context", *OF_THE_LOOP)


def frame(kind: str, decorator: Any, held: Any, loop: asyncio.AbstractEventLoop) -> Any:
    """Start a frame of interlock's side, optionally decorated and with an open scope."""
    scope = held or contextlib.nullcontext()

    def decorated(function: Any) -> Any:
        return decorator(function) if decorator else function

    match kind:
        case "context":
            return InContext()
        case "function":
            return Call(decorated(lambda action: action()))
        case "generator":
            return Resumed(decorated(generator)(scope))
        case "async generator":
            return ResumedAsync(decorated(async_generator)(scope))
    body = decorated(coroutine)
    match kind:
        case "coroutine":
            return Resumed(body(scope, by_hand))
        case "coroutine with looks":
            return Resumed(with_looks(body(scope, by_hand)))
        case "awaited coroutine with looks":
            return Resumed(awaiting(with_looks(body(scope, by_hand))))
        case "task of aio":
            return LoopTask(loop, aio.task_factory(), lambda wait: body(scope, wait))
    return LoopTask(loop, None, lambda wait: body(scope, wait))

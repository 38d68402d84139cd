"""asyncio with a state of its own for each task.

A task begins with a copy of the state of the code that creates it. What it enters and writes holds for its
own steps only: other tasks never see it, and nothing flows back. Callbacks of the loop that belong to no
task, and functions in executors, run in the state of their thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Never, Self, TypeVar

from interlock._core.state import TaskState
from interlock._scope_decorator import wrap_resumable

__all__ = ["Runner", "run", "task_factory"]

_T = TypeVar("_T")
_Factory = Callable[..., "asyncio.Future[Any]"]


class _StatefulCoroutine(Coroutine[Any, Any, _T]):
    """A coroutine whose every step runs in the state of its task."""

    __slots__ = ("__weakref__", "_coroutine", "_state")

    def __init__(self, coroutine: Coroutine[Any, Any, _T]) -> None:
        self._coroutine = coroutine
        self._state = TaskState()

    def send(self, value: Any, /) -> Any:
        with self._state:
            return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        with self._state:
            return self._coroutine.throw(*error)

    def close(self) -> None:
        with self._state:
            self._coroutine.close()

    def __del__(self) -> None:
        try:
            state = self._state
        except AttributeError:
            # The construction failed.
            return
        # The cleanup of a coroutine that is not done belongs to the task as well.
        with state:
            del self._coroutine

    def __reduce__(self) -> Never:
        raise TypeError("a coroutine can be neither copied nor pickled")

    def __await__(self) -> Generator[Any, Any, _T]:
        # For a factory that wraps what it is given in a coroutine of its own.
        result: _T = yield from wrap_resumable(contextlib.nullcontext, lambda: self)()
        return result

    def __getattr__(self, name: str) -> Any:
        # `cr_frame` and its like, by which debuggers and asyncio itself tell where a task is.
        if name in _StatefulCoroutine.__slots__:
            raise AttributeError(name)
        return getattr(self._coroutine, name)


class _TaskFactory:
    """What `task_factory` returns: a class, so that a loop tells whether it has one already."""

    def __init__(self, inner: _Factory | None) -> None:
        self._inner = inner or _task

    def __call__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, _T], /, **options: Any
    ) -> asyncio.Future[_T]:
        if not asyncio.iscoroutine(coroutine):
            raise TypeError(f"a task takes a coroutine, got a value of type {type(coroutine).__name__}")
        return self._inner(loop, _StatefulCoroutine(coroutine), **options)


def _task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, _T], /, **options: Any
) -> asyncio.Task[_T]:
    return asyncio.Task(coroutine, loop=loop, **options)


def task_factory(inner: _Factory | None = None) -> _Factory:
    """Return a task factory whose tasks have a state of their own: `loop.set_task_factory(task_factory())`.

    `inner` makes the tasks, called as asyncio calls a task factory; None makes an `asyncio.Task`.
    `asyncio.eager_task_factory` fits: the first step, too, then runs in the task's own state.
    """
    if inner is not None and not callable(inner):
        raise TypeError(f"inner is a task factory or None, got a value of type {type(inner).__name__}")
    return _TaskFactory(inner)


class Runner:
    """An `asyncio.Runner` whose tasks, the first one included, have a state of their own.

    A task factory that the loop has already makes the tasks, as `inner` of `task_factory` does.
    """

    def __init__(
        self,
        *,
        debug: bool | None = None,
        loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
    ) -> None:
        self._runner = asyncio.Runner(debug=debug, loop_factory=loop_factory)

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what still runs, and close the loop."""
        self._runner.close()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop, which has the task factory."""
        loop = self._runner.get_loop()
        present = loop.get_task_factory()
        if not isinstance(present, _TaskFactory):
            loop.set_task_factory(task_factory(present))
        return loop

    def run(self, coro: Awaitable[_T], *, context: contextvars.Context | None = None) -> _T:
        """Run a coroutine or another awaitable in the event loop, as a task with a state of its own.

        Raises RuntimeError if an event loop runs on this thread, and TypeError if `coro` is not awaitable.
        """
        # `asyncio.Runner` takes coroutines only, and raises ValueError for anything else, before Python 3.14.
        given: object = coro
        if not inspect.isawaitable(given):
            kind = type(given).__name__
            raise TypeError(f"Runner.run: coro must be a coroutine or another awaitable, got {kind}")
        if asyncio._get_running_loop() is not None:
            raise RuntimeError(
                "Runner.run: cannot be called while an event loop runs on this thread; await instead"
            )
        self.get_loop()
        main = coro if asyncio.iscoroutine(coro) else _await(coro)
        return self._runner.run(main, context=context)


async def _await(awaitable: Awaitable[_T]) -> _T:
    return await awaitable


def run(
    main: Awaitable[_T],
    *,
    debug: bool | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> _T:
    """Run a coroutine or another awaitable as `asyncio.run` does, with a state of its own for every task.

    Raises RuntimeError if an event loop runs on this thread, and TypeError if `main` is not awaitable.
    """
    if asyncio._get_running_loop() is not None:
        raise RuntimeError("aio.run() can't be called while an event loop runs on this thread; await instead")
    with Runner(debug=debug, loop_factory=loop_factory) as runner:
        return runner.run(main)

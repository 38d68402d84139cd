"""Runs asyncio tasks whose state native code sees exactly.

Scopes belong to the context of a task on every event loop, without this module: a task starts with a copy of
the state of the code that creates it, and what it enters or sets reaches neither other tasks nor its creator.
Python code always reads the state of its own task. Native code that reads modes or flags without a call of
interlock on that thread sees the state of the last such call, before Python 3.14 even of another task;
the tasks of this module make it exact at each step. From Python 3.14 the interpreter reports each switch.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Never, Self, TypeVar, overload

from interlock._core.state import CarriedTask
from interlock._scope_decorator import wrap_resumable

__all__ = ["Runner", "run", "task_factory"]

_T = TypeVar("_T")
_Factory = Callable[..., "asyncio.Future[Any]"]


class _SyncedCoroutine(Coroutine[Any, Any, _T]):
    """A coroutine that looks at its context before each step, and has carried values of its own."""

    __slots__ = ("__weakref__", "_carried", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, _T]) -> None:
        self._coroutine = coroutine
        self._carried = CarriedTask()

    def send(self, value: Any, /) -> Any:
        coroutine = self._coroutine
        self._carried.begin()
        try:
            return coroutine.send(value)
        finally:
            self._carried.end()

    def throw(self, *error: Any) -> Any:
        coroutine = self._coroutine
        self._carried.begin()
        try:
            return coroutine.throw(*error)
        finally:
            self._carried.end()

    def close(self) -> None:
        coroutine = self._coroutine
        self._carried.begin()
        try:
            coroutine.close()
        finally:
            self._carried.end()

    def __reduce__(self) -> Never:
        raise TypeError("a coroutine can be neither copied nor pickled")

    def __await__(self) -> Generator[Any, Any, _T]:
        # Called by a task factory that awaits the coroutine in its own coroutine.
        result: _T = yield from wrap_resumable(contextlib.nullcontext, lambda: self)()
        return result

    def __getattr__(self, name: str) -> Any:
        # `cr_frame` and similar attributes, which debuggers and asyncio read to show where a task is.
        if name in _SyncedCoroutine.__slots__:
            raise AttributeError(name)
        return getattr(self._coroutine, name)


class _TaskFactory:
    """A task factory that `task_factory` returns; `Runner` recognizes it by this class."""

    def __init__(self, inner: _Factory | None) -> None:
        self._inner = inner or _task

    def __call__(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, _T], /, **options: Any
    ) -> asyncio.Future[_T]:
        if not asyncio.iscoroutine(coroutine):
            raise TypeError(f"task_factory: coroutine must be a coroutine, got {type(coroutine).__name__}")
        return self._inner(loop, _SyncedCoroutine(coroutine), **options)


def _task(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, _T], /, **options: Any
) -> asyncio.Task[_T]:
    return asyncio.Task(coroutine, loop=loop, **options)


_FACTORY = _TaskFactory(None)


@overload
def task_factory(inner: _Factory | None = None) -> _Factory: ...
@overload
def task_factory(
    loop: asyncio.AbstractEventLoop, coroutine: Any, /, **options: Any
) -> asyncio.Future[Any]: ...
def task_factory(  # type: ignore[misc] # no option of a loop is called `inner`
    inner: Any = None, *coroutine: Any, **options: Any
) -> Any:
    """Return a task factory whose tasks keep native readers exact, for `loop.set_task_factory`.

    Like `asyncio.eager_task_factory`, the function is a task factory itself:
    `loop.set_task_factory(aio.task_factory)` does what `loop.set_task_factory(aio.task_factory())` does.

    Args:
        inner: The task factory that creates the tasks, for example `asyncio.eager_task_factory`; None creates
            `asyncio.Task` objects.
        coroutine: The coroutine of the task, in a call by an event loop, whose first argument is the loop.
        options: Further arguments of the task, in such a call.

    Raises:
        TypeError: `inner` is neither callable nor None.

    Example:
        >>> import asyncio
        >>> from interlock import aio
        >>> async def main():
        ...     asyncio.get_running_loop().set_task_factory(aio.task_factory())
        >>> asyncio.run(main())

    """
    if coroutine or options:
        return _FACTORY(inner, *coroutine, **options)
    if inner is None or inner is task_factory:
        return _FACTORY
    if not callable(inner):
        raise TypeError(f"task_factory: inner must be callable or None, got {type(inner).__name__}")
    return _TaskFactory(inner)


class Runner:
    """An `asyncio.Runner` whose tasks, including the first one, keep native readers exact.

    If the loop already has a task factory, that factory creates the tasks, like `inner` of `task_factory`.

    Args:
        debug: Whether the event loop runs in debug mode; None means asyncio's default.
        loop_factory: Creates the event loop; None means `asyncio.new_event_loop`.

    Example:
        >>> import asyncio
        >>> from interlock import aio
        >>> with aio.Runner() as runner:
        ...     runner.run(asyncio.sleep(0, "done"))
        'done'

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

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the remaining tasks and close the event loop."""
        self._runner.close()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop, with the task factory installed."""
        loop = self._runner.get_loop()
        present = loop.get_task_factory()
        if not isinstance(present, _TaskFactory) and present is not task_factory:
            loop.set_task_factory(task_factory(present))
        return loop

    def run(self, coro: Awaitable[_T], *, context: contextvars.Context | None = None) -> _T:
        """Run an awaitable in the event loop as a task, and return its result.

        Args:
            coro: The coroutine or other awaitable to run.
            context: The `contextvars` context of the task; None means the context of the runner.

        Raises:
            RuntimeError: An event loop runs on this thread, or the runner was closed.
            TypeError: `coro` is not awaitable.

        """
        # Before Python 3.14, `asyncio.Runner` raises ValueError for anything but a coroutine.
        _check_awaitable("Runner.run: coro", coro)
        if asyncio._get_running_loop() is not None:
            raise RuntimeError(
                "Runner.run: cannot be called while an event loop runs on this thread; await instead"
            )
        self.get_loop()
        main = coro if asyncio.iscoroutine(coro) else _await(coro)
        return self._runner.run(main, context=context)


def _check_awaitable(name: str, value: object) -> None:
    if not inspect.isawaitable(value):
        raise TypeError(f"{name} must be a coroutine or another awaitable, got {type(value).__name__}")


async def _await(awaitable: Awaitable[_T]) -> _T:
    return await awaitable


def run(
    main: Awaitable[_T],
    *,
    debug: bool | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> _T:
    """Run an awaitable like `asyncio.run`, with tasks that keep native readers exact, and return its result.

    Args:
        main: The coroutine or other awaitable to run.
        debug: Whether the event loop runs in debug mode; None means asyncio's default.
        loop_factory: Creates the event loop; None means `asyncio.new_event_loop`.

    Raises:
        RuntimeError: An event loop runs on this thread.
        TypeError: `main` is not awaitable.

    Example:
        >>> import interlock
        >>> async def main():
        ...     with interlock.no_grad():
        ...         return interlock.is_grad_enabled()
        >>> interlock.aio.run(main())
        False

    """
    if asyncio._get_running_loop() is not None:
        raise RuntimeError("aio.run: cannot be called while an event loop runs on this thread; await instead")
    _check_awaitable("aio.run: main", main)
    with Runner(debug=debug, loop_factory=loop_factory) as runner:
        return runner.run(main)

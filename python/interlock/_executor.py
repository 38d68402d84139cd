"""A thread pool that carries state; `interlock.state` imports it on its first use."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from interlock._homes import set_home
from interlock._quote import shown
from interlock._scope_decorator import check_plain
from interlock.state import capture

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Executor(ThreadPoolExecutor):
    """A thread pool whose calls run in the state of the caller of `submit`.

    The arguments are those of `concurrent.futures.ThreadPoolExecutor`.

    Args:
        max_workers: The largest number of threads; None means the default of `ThreadPoolExecutor`.
        thread_name_prefix: The beginning of the names of the threads.
        initializer: A function that each thread calls first, without the state of any caller; None for none.
        initargs: The arguments of `initializer`.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `max_workers` is not positive.

    Example:
        >>> import interlock
        >>> with interlock.Executor(1) as pool, interlock.no_grad():
        ...     pool.submit(interlock.is_grad_enabled).result()
        False

    """

    def __init__(
        self,
        max_workers: int | None = None,
        thread_name_prefix: str = "",
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] | list[Any] = (),
    ) -> None:
        if max_workers is not None:
            if isinstance(max_workers, bool) or not isinstance(max_workers, int):
                raise _wrong_type("max_workers", "an int or None", max_workers)
            if max_workers < 1:
                raise ValueError(f"Executor: max_workers must be at least 1, got {shown(max_workers)}")
        if not isinstance(thread_name_prefix, str):
            raise _wrong_type("thread_name_prefix", "a str", thread_name_prefix)
        if initializer is not None:
            if not callable(initializer):
                raise _wrong_type("initializer", "callable or None", initializer)
            check_plain("Executor: initializer", initializer, "no thread would run its body")
        if not isinstance(initargs, tuple | list):
            raise _wrong_type("initargs", "a tuple or a list", initargs)
        super().__init__(max_workers, thread_name_prefix, initializer, tuple(initargs))

    def submit(
        self,
        fn: Callable[_Arguments, _Result],
        /,
        *args: _Arguments.args,
        **kwargs: _Arguments.kwargs,
    ) -> Future[_Result]:
        """Call `fn` with the arguments on a thread of the pool, in the state of this call; return its future.

        Args:
            fn: The function to call.
            args: Positional arguments of the function.
            kwargs: Keyword arguments of the function.

        Raises:
            TypeError: `fn` is not callable, or is a coroutine function or generator function, whose body
                would not run on the pool: submit a function that runs it, for example with `asyncio.run`.
            RuntimeError: The pool was shut down.

        """
        if not callable(fn):
            raise TypeError(f"submit: fn must be callable, got {type(fn).__name__}")
        check_plain(
            "submit: fn", fn, "its body would not run on the pool; submit a function that runs it to its end"
        )
        return super().submit(capture().run, fn, *args, **kwargs)


def _wrong_type(argument: str, allowed: str, given: object) -> TypeError:
    return TypeError(f"Executor: {argument} must be {allowed}, got {type(given).__name__}")


set_home("interlock.state", Executor)

"""A thread pool that carries state; `interlock.state` imports it on its first use."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from interlock.state import capture

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Executor(ThreadPoolExecutor):
    """A thread pool whose calls run in the state of the caller of `submit`.

    The arguments are those of `concurrent.futures.ThreadPoolExecutor`, whose threads have the defaults.

    Example:
        >>> import interlock
        >>> with interlock.Executor(1) as pool, interlock.no_grad():
        ...     pool.submit(interlock.is_grad_enabled).result()
        False

    """

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
            TypeError: `fn` is not callable.
            RuntimeError: The pool was shut down.

        """
        if not callable(fn):
            raise TypeError(f"submit: fn must be callable, got {type(fn).__name__}")
        return super().submit(capture().run, fn, *args, **kwargs)


Executor.__module__ = "interlock.state"

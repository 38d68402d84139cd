"""Functions for workers that may lack interlock: cloudpickle copies nested functions instead of naming them.

Dask, Ray, joblib and Spark send functions with cloudpickle. A worker without interlock could not import a
function of a module, and the engine would end the worker or the task.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def installer(text: str) -> Callable[[], None]:
    """Return a function that installs a state in the process that calls it, or warns if it has no interlock.

    Engines compare initializers, so the same function is returned for the same text.

    Args:
        text: The JSON of the state.

    """

    def install_state_of_interlock() -> None:
        try:
            from interlock.integrations import Portable
        except ImportError as error:
            import warnings

            warnings.warn(f"the state of interlock is ignored: {error}", RuntimeWarning, stacklevel=1)
        else:
            Portable.from_json(text).install()

    return install_state_of_interlock


@cache
def observer(
    text: str, seconds: float = 0.0, *, on_new_thread: bool = False
) -> Callable[..., dict[str, Any]]:
    """Return a function that returns what its process has of a state; its arguments are ignored.

    Args:
        text: The JSON of the state.
        seconds: How long the function occupies its worker, so that other workers answer the next calls.
        on_new_thread: Whether it looks on a thread of its own, because tasks do not run where it is called.

    """

    def observe_state_of_interlock(*_: object) -> dict[str, Any]:
        import time

        time.sleep(seconds)
        try:
            from interlock.integrations import Portable
        except ImportError as error:
            import os
            import socket

            return {"host": socket.gethostname(), "pid": os.getpid(), "missing": str(error)}
        state = Portable.from_json(text)
        if not on_new_thread:
            return state.observe()
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(state.observe).result()

    return observe_state_of_interlock

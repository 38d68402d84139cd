"""Python functions in the order of a stream."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import ParamSpec

from interlock._core import accelerator as _native
from interlock._core.accelerator import Stream

P = ParamSpec("P")


def launch(stream: Stream, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Queue a call of `function` with these arguments on a stream, and return at once.

    It is called on another thread, in the state of this thread as it is now, after everything that was queued
    before; what is queued later waits for it. It must not wait for that stream itself. What it returns is
    dropped. What it raises is told late: whatever next waits for the stream raises `AcceleratorError`, which
    names the function and what it raised. Where the stream records a graph, each replay calls the function.

    >>> import interlock
    >>> from interlock import accelerator
    >>> accelerator.use("host")
    >>> stream, seen = interlock.Stream(), []
    >>> accelerator.launch(stream, seen.append, 1)
    >>> stream.synchronize()
    >>> seen
    [1]
    """
    called = function if not kwargs else _with_keywords(function, kwargs)
    _start_a_thread_if_needed()
    _native.launch_python(stream, called, args)


def _with_keywords(function: Callable[..., object], keywords: dict[str, object]) -> Callable[..., object]:
    import functools

    return functools.update_wrapper(functools.partial(function, **keywords), function)


def _start_a_thread_if_needed() -> None:
    """See to it that a thread waits for calls, so that no stream waits for one in vain."""
    if not _native.needs_a_thread():
        return
    import threading

    try:
        # A daemon: it waits for calls as long as the process lasts.
        threading.Thread(target=_serve, name="interlock-functions", daemon=True).start()
    except BaseException:
        _native.no_thread_came()
        raise


def _serve() -> None:
    """Make the calls that streams wait for, until another thread is idle already."""
    call = _native.next_call(True)
    while call is not None:
        # Where the interpreter is about to end, or has no threads left, other streams wait for this call.
        with contextlib.suppress(RuntimeError):
            _start_a_thread_if_needed()
        _make(call)
        call = _native.next_call(False)


def _make(call: _native.Call) -> None:
    """Make one call. No frame of Rust lies below the function: see `functions.rs`."""
    found = call.function()
    if found is None:
        call.end("the interpreter is about to end")
        return
    function, arguments = found
    try:
        with call.state().apply():
            function(*arguments)
    except BaseException as error:
        call.end(_told(error))
    else:
        call.end()


def _told(error: BaseException) -> str:
    """Return the exception in one line, with the place where it was raised."""
    text = f"{type(error).__qualname__}: {error}" if str(error) else type(error).__qualname__
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or traceback.tb_frame.f_code.co_filename == __file__:
        return text
    return f"{text} (raised at {traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno})"

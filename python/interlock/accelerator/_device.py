"""Devices: their properties, the functions that streams call, and old names."""

from __future__ import annotations

import _thread
import contextlib
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

from interlock._core import accelerator as _native
from interlock._core.accelerator import current_device_index, device as _device, set_device_index
from interlock._core.tensor import bool as _bool, float32, float64, int64

if TYPE_CHECKING:
    from interlock._core.accelerator import _CudaStream

_DTYPES = frozenset({_bool, float32, float64, int64})


class DeviceProperties(NamedTuple):
    """What a device is."""

    name: str
    """As its maker calls it."""
    total_memory: int
    """Bytes of memory that it has."""
    multi_processor_count: int
    """How many units run work at the same time."""
    extra: dict[str, str]
    """What its driver tells besides."""


def device_properties(device: _device | str | int | None = None, /) -> DeviceProperties:
    """Return what a device is; None, or a device without an index, is the current one.

    Raises `NoAcceleratorError` without an accelerator, `DeviceError` for a device that it does not have.
    """
    return DeviceProperties(**_native.properties(device))


def get_device_capability(device: _device | str | int | None = None, /) -> dict[str, Any]:
    """Return what a device can: `supported_dtypes`, the set of element types that its memory can hold.

    None, or a device without an index, is the current one. Raises `NoAcceleratorError` without an
    accelerator, `DeviceError` for a device that it does not have.
    """
    _native.properties(device)
    return {"supported_dtypes": set(_DTYPES)}


P = ParamSpec("P")


def launch(stream: _CudaStream, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Queue a call of `function` with these arguments on a stream, and return at once.

    It is called on another thread, in the state of this thread as it is now, after everything that was queued
    before; what is queued later waits for it. It can't wait for that stream or its device itself. What it
    returns is dropped. What it raises is told late: whatever next waits for the stream raises
    `AcceleratorError`, which names the function and what it raised. Where the stream records a graph, each
    replay calls the function; the graph keeps it, so a function that refers to its graph keeps that for good.

    Raises TypeError for what is no stream or no function, RuntimeError while the interpreter is finalized:
    then no thread can call the function any more, and what was queued before fails.

    >>> import interlock
    >>> from interlock import accelerator
    >>> accelerator.use("host")
    >>> stream, seen = interlock.Stream(), []
    >>> accelerator.launch(stream, seen.append, 1)
    >>> stream.synchronize()
    >>> seen
    [1]
    """
    launched = _native.Launch(stream, function, args, kwargs)
    try:
        _start_a_server_if_needed()
    except RuntimeError as error:
        # CPython 3.12 and later start no threads once the main thread has ended. A daemon thread would only
        # print a traceback, which can abort an interpreter that flushes the same stream.
        if "shutdown" in str(error):
            _native.stop_if_ending()
        raise
    launched.queue()


def _start_a_server_if_needed() -> None:
    """See to it that a thread waits for calls, so that no stream waits for one in vain."""
    server = _native.server_if_needed()
    if server is not None:
        # The interpreter does not wait for such a thread when it ends.
        _thread.start_new_thread(_serve, (server,))


def _serve(server: _native.Server) -> None:
    """Make the calls that streams wait for, as long as there are not too many threads that do."""
    while (call := server.next()) is not None:
        # Where the interpreter is about to end, or has no threads left, other streams wait for this call.
        with contextlib.suppress(RuntimeError):
            _start_a_server_if_needed()
        reason: str | None = "the thread that called it was stopped"
        try:
            reason = _make(call)
        finally:
            call.end(reason)
        del call  # It keeps the state of the thread that launched it.


def _make(call: _native.Call) -> str | None:
    """Make one call and return why it failed. No frame of Rust lies below it: see `functions.rs`."""
    found = call.function()
    if found is None:
        return "the interpreter is about to end"
    function, arguments, keywords = found
    try:
        with call.state().apply():
            call.begin()
            result = function(*arguments, **keywords)
    except BaseException as error:
        return _describe(error)
    if hasattr(type(result), "__await__"):
        if hasattr(result, "close"):
            result.close()
        return "it returned an awaitable, which nothing awaits"
    return None


def _describe(error: BaseException) -> str:
    """Return the exception in one line, with the place where it was raised."""
    try:
        message = str(error)
    except BaseException:
        message = "its message can't be shown"
    text = f"{type(error).__qualname__}: {message}" if message else type(error).__qualname__
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is not None and traceback.tb_frame.f_code.co_filename != __file__:
        text = f"{text} (raised at {traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno})"
    return text.encode("utf-8", "backslashreplace").decode()


def current_device_idx() -> int:
    """Return the index of the current device; deprecated (FutureWarning) for `current_device_index`."""
    _warn_deprecated("current_device_idx", "current_device_index")
    return current_device_index()


def set_device_idx(device: _device | str | int, /) -> None:
    """Make a device the current one; deprecated (FutureWarning) for `set_device_index`."""
    _warn_deprecated("set_device_idx", "set_device_index")
    set_device_index(device)


def _warn_deprecated(name: str, successor: str) -> None:
    message = f"accelerator.{name} is deprecated; its successor is accelerator.{successor}"
    warnings.warn(message, FutureWarning, stacklevel=3)

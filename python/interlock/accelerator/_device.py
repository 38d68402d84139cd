"""Capabilities of devices, host functions on streams (`launch`), and deprecated names."""

from __future__ import annotations

import _thread
import contextlib
import warnings
from collections.abc import Callable
from types import AsyncGeneratorType, GeneratorType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias

from interlock._core import accelerator as _native
from interlock._core.accelerator import current_device_index, device as _device, set_device_index
from interlock._features import HAS_TENSORS
from interlock.accelerator._declared_uses import declare_uses

if TYPE_CHECKING or HAS_TENSORS:
    from interlock._core import tensor as _tensor

if TYPE_CHECKING:
    from interlock._core.accelerator import _CudaStream
else:
    _CudaStream = Any

_Failure: TypeAlias = tuple[str | None, BaseException | None]
"""Why a call failed, if it did, and the exception that it raised."""


def get_device_capability(device: _device | str | int | None = None, /) -> dict[str, Any]:
    """Return the capabilities of a device: a dict with `supported_dtypes`.

    These are the dtypes that tensors on the device can have. The set is empty in a build without the tensor
    runtime.

    Args:
        device: The device; None, or a device without an index, means the current device.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.

    """
    _native.check_device_of_capability(device)
    if not HAS_TENSORS:
        return {"supported_dtypes": set()}
    # Tensors of each dtype can be on each device. On cuda few operations have kernels, of any dtype.
    return {
        "supported_dtypes": {dtype for dtype in vars(_tensor).values() if isinstance(dtype, _tensor.dtype)}
    }


# The name that is proposed for PyTorch.
get_device_name = _native.device_name


P = ParamSpec("P")


def launch(stream: _CudaStream, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Queue a call of a Python function on a stream, like `cudaLaunchHostFunc`, and return immediately.

    `declare_uses` declares the memory that the function uses, for the detection of races.

    The function is called on another thread, with a copy of the caller's state, after all work that was
    queued on the stream before; work that is queued later waits for it. The function must not wait for the
    stream or its device. Its result is discarded. An exception is reported asynchronously: the next call that
    waits for the stream raises `AcceleratorError` with the name of the function and the exception, which is
    also its `__cause__`, with the traceback. Until then the stream owns the exception.

    If the stream is capturing a graph, each replay calls the function. The graph holds a reference to the
    function, so a function that refers to its graph is never released.

    Args:
        stream: The stream.
        function: The function to call.
        args: Positional arguments of the function.
        kwargs: Keyword arguments of the function.

    Raises:
        TypeError: `stream` is not a stream or `function` is not callable.
        RuntimeError: The interpreter is being finalized, so no thread can call the function.

    Example:
        >>> import interlock
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> stream, seen = interlock.Stream(), []
        >>> accelerator.launch(stream, seen.append, 1)
        >>> stream.synchronize()
        >>> seen
        [1]

    """
    uses = function._uses if isinstance(function, declare_uses) else []
    launched = _native.HostCallback(stream, function, args, kwargs, uses)
    try:
        _ensure_worker()
    except RuntimeError as error:
        # CPython 3.12 and later start no threads after the main thread has ended. In a daemon thread the
        # traceback alone can abort the interpreter, which flushes the same stream.
        if "shutdown" in str(error):
            _native.park_if_finalizing()
        raise
    launched.queue()


def _ensure_worker() -> None:
    """Start a worker thread unless enough of them wait for calls, so that queued calls make progress."""
    worker = _native.worker_if_needed()
    if worker is not None:
        # Not `threading.Thread`: the interpreter does not wait for this thread at exit. `start_new` is
        # CPython's other name of `start_new_thread`, which gevent replaces: it would start a greenlet.
        _thread.start_new(_run_worker, (worker,))


def _run_worker(worker: _native.CallbackWorker) -> None:
    """Run queued calls until there are more worker threads than needed."""
    while (call := worker.next()) is not None:
        # If no thread can be started, calls of other streams wait until this one returns.
        with contextlib.suppress(RuntimeError):
            _ensure_worker()
        failure: _Failure = "the thread that called it was stopped", None
        try:
            failure = _run_call(call)
        finally:
            call.end(*failure)
        del call, failure  # They hold the state of the caller of `launch`, and the frames of the function.


def _run_call(call: _native.Call) -> _Failure:
    """Run one call and return why it failed. No Rust frame is below it: see `host_callbacks.rs`."""
    task = call.function()
    if task is None:
        return "the interpreter is about to end", None
    function, arguments, keywords = task
    try:
        with call.state().apply():
            call.begin()
            result = function(*arguments, **keywords)
    except BaseException as error:
        reason = _describe(error)
        # Without the frame of this function, which holds the call.
        own = error.__traceback__
        return reason, error.with_traceback(own and own.tb_next)
    if hasattr(type(result), "__await__"):
        if hasattr(result, "close"):
            result.close()
        return "it returned an awaitable, which nothing awaits", None
    if isinstance(result, GeneratorType | AsyncGeneratorType):
        return "it returned a generator, which nothing iterates over", None
    return None, None


def _describe(error: BaseException) -> str:
    """Return an exception in one line, with the file and line where it was raised."""
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
    """Return the index of the current device. Deprecated (FutureWarning): use `current_device_index`."""
    _warn_deprecated("current_device_idx", "current_device_index")
    return current_device_index()


def set_device_idx(device: _device | str | int, /) -> None:
    """Set the current device. Deprecated (FutureWarning): use `set_device_index`.

    Args:
        device: The device, which must have an index.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.

    """
    _warn_deprecated("set_device_idx", "set_device_index")
    set_device_index(device)


def _warn_deprecated(name: str, successor: str) -> None:
    message = f"accelerator.{name} is deprecated; use accelerator.{successor}"
    warnings.warn(message, FutureWarning, stacklevel=3)

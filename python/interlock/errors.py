"""The exception and warning classes of interlock.

Each class derives from the exception that PyTorch raises in the same situation and, where Python has a more
specific one, also from that exception, so that code written for either catches it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock._core.accelerator import device


__all__ = [
    "AcceleratorEnvironmentWarning",
    "AcceleratorError",
    "ArgumentError",
    "AttentionKernelError",
    "AttentionKernelWarning",
    "BufferClosedError",
    "DTypeError",
    "DeviceError",
    "DeviceLostError",
    "DriverInUseError",
    "FlagDeprecationWarning",
    "FlagEnvironmentWarning",
    "FlagRegistrationError",
    "FlagTypeError",
    "FlagValueError",
    "FlagsFrozenError",
    "ForkedProcessError",
    "GraphError",
    "GraphFreedError",
    "InterlockError",
    "LibraryError",
    "LibraryNotFoundError",
    "LibraryPathError",
    "NoAcceleratorError",
    "OutOfMemoryError",
    "ReadOnlyFlagError",
    "ScopeWarning",
    "ShapeError",
    "TaskIsRunningError",
    "UnknownFlagError",
    "UnknownLibraryError",
    "UnsupportedError",
]


class InterlockError(Exception):
    """Base class of all exceptions of interlock."""


class FlagTypeError(InterlockError, TypeError, RuntimeError):
    """A value of the wrong type was assigned to a flag."""


class FlagValueError(InterlockError, ValueError, RuntimeError):
    """A value that the flag does not accept was assigned to it."""


class FlagRegistrationError(InterlockError, ValueError):
    """`backends.register` cannot register a flag: its name, default or variable is invalid or taken."""


class FlagsFrozenError(InterlockError, RuntimeError):
    """A flag was written while flags are frozen."""


class UnknownFlagError(InterlockError, AttributeError):
    """No flag has this name."""


class AttentionKernelError(FlagTypeError, AssertionError):
    """`sdpa_kernel` was called with something other than an `SDPBackend` or a list of them."""


class ReadOnlyFlagError(InterlockError, AttributeError, RuntimeError):
    """A read-only flag or attribute was written."""


class DeviceError(InterlockError, ValueError, RuntimeError):
    """A value does not name a device, or the device is not valid for the operation."""


class NoAcceleratorError(InterlockError, RuntimeError):
    """An operation needs an accelerator, and none is available in this process."""


class ArgumentError(InterlockError, ValueError, RuntimeError):
    """An argument has a value that the function does not accept."""


class AcceleratorError(InterlockError, RuntimeError):
    """An operation on a device failed, or queued work failed and reported an asynchronous error."""

    operation: str | None = None
    """The operation that failed; None if it is not known."""
    device: device | None = None
    """The device on which it failed; None if it is not known."""
    error_code: int | None = None
    """The driver's error code, such as a `CUresult`; None if there is none."""


class DeviceLostError(AcceleratorError):
    """A device cannot be used any more in this process, and the memory on it is lost."""


class ForkedProcessError(AcceleratorError):
    """A stream, event, graph or buffer of the parent process was used in a forked child."""


class GraphError(AcceleratorError):
    """A method of a graph was called in the wrong state, or the captured work cannot be replayed."""


class DriverInUseError(AcceleratorError):
    """A driver was selected or registered after the process had initialized another one."""


class UnsupportedError(InterlockError, NotImplementedError):
    """The driver does not support the operation."""


class LibraryError(InterlockError, RuntimeError, AssertionError):
    """A call of a vendor library failed."""


class LibraryNotFoundError(LibraryError):
    """An operation needs a vendor library that cannot be found or loaded."""


class LibraryPathError(LibraryNotFoundError):
    """The path of a vendor library, given as an argument or in a variable, does not lead to that library."""


class UnknownLibraryError(InterlockError, ValueError):
    """No vendor library has this name."""


class OutOfMemoryError(InterlockError, RuntimeError, MemoryError):
    """Not enough memory is available on a device or on the CPU.

    Attributes that are not known are None.
    """

    requested: int | None = None
    """Bytes that were requested."""
    rounded: int | None = None
    """Bytes of the block that was needed, after rounding."""
    allocated: int | None = None
    """Bytes in use when the request failed."""
    reserved: int | None = None
    """Bytes that the caching allocator had reserved from the driver."""
    largest_free: int | None = None
    """Bytes of the largest free block of the caching allocator."""
    limit: int | None = None
    """Bytes that the caching allocator may reserve, see `accelerator.memory.set_limit`."""
    free: int | None = None
    """Free bytes of the device, as the driver reports them."""
    device: device | None = None
    """The device of the request."""
    stream: int | None = None
    """The id of the stream of the request."""
    pool: tuple[int, int] | None = None
    """The memory pool of the graph that was captured, see `Graph.pool`."""


class BufferClosedError(InterlockError, ValueError, RuntimeError):
    """A buffer was used after it was closed."""


class TaskIsRunningError(InterlockError, RuntimeError):
    """A step of a task was started while another step of the task runs."""


class ShapeError(InterlockError, RuntimeError, ValueError):
    """The shapes of tensors are not valid for an operation or do not match."""


class DTypeError(InterlockError, NotImplementedError, TypeError):
    """An operation does not support the dtype of a tensor."""


class GraphFreedError(InterlockError, RuntimeError):
    """`backward` traversed a graph a second time, after its saved tensors were freed."""


class ScopeWarning(RuntimeWarning):
    """A scope is open in a suspended coroutine, was exited out of order, or was never exited.

    Issued only with `INTERLOCK_DEBUG=1` in the environment.
    """


class FlagEnvironmentWarning(UserWarning):
    """An environment variable is ignored: its flag does not accept the value, or its name is misspelt."""


class AcceleratorEnvironmentWarning(UserWarning):
    """An environment variable that selects devices was changed after the driver was initialized."""


class FlagDeprecationWarning(FutureWarning):
    """A deprecated name was used; the message names its successor."""


class AttentionKernelWarning(UserWarning):
    """The reason why an attention kernel cannot run; issued by `can_use_*_attention(debug=True)`."""

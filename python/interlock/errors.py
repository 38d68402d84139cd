"""The exception and warning classes of interlock.

Each class derives from the exception that PyTorch raises in the same situation and, where Python has a more
specific one, also from that exception, so that code written for either catches it.
"""

from __future__ import annotations

from interlock._core.accelerator import device as _device
from interlock._lazy import list_exports

__all__ = [
    "AcceleratorEnvironmentWarning",
    "AcceleratorError",
    "ArgumentError",
    "AttentionKernelError",
    "AttentionKernelWarning",
    "BufferClosedError",
    "ContextNotAtHandError",
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
    "LinAlgError",
    "NoAcceleratorError",
    "NotTracedError",
    "OutOfMemoryError",
    "PortableStateWarning",
    "ReadOnlyFlagError",
    "SavedTensorError",
    "ScopeWarning",
    "SettingConflictError",
    "SettingPinnedError",
    "SettingValueError",
    "SettingWarning",
    "ShapeError",
    "StateDriftError",
    "TaskIsRunningError",
    "ThreadPoolWarning",
    "UnknownFlagError",
    "UnknownLibraryError",
    "UnknownSettingError",
    "UnsupportedError",
]


class InterlockError(Exception):
    """Base class of all exceptions of interlock."""


class FlagTypeError(InterlockError, TypeError, RuntimeError):
    """A value of the wrong type was assigned to a flag.

    Assign a value of the type that the message names; `python -m interlock explain NAME` shows it, too.
    """


class FlagValueError(InterlockError, ValueError, RuntimeError):
    """A value that the flag does not accept was assigned to it.

    Assign one of the values that the message lists, or one that the validator that it names does not refuse.
    """


class FlagRegistrationError(InterlockError, ValueError):
    """`backends.register` cannot register a flag: its name, default or variable is invalid or taken.

    Correct the declaration as the message states, or use the name of another library. `backends.unregister`
    raises it for a flag of interlock, which cannot be unregistered.
    """


class FlagsFrozenError(InterlockError, RuntimeError):
    """A flag was written while flags are frozen.

    Write the flag before the line that froze the flags, which the message names, or use a scope:
    `backends.override` works while flags are frozen.
    """


class UnknownFlagError(InterlockError, AttributeError):
    """No flag has this name.

    Use the name that the message suggests; `python -m interlock flags` lists all flags. A flag that was
    unregistered must be registered again.
    """


class AttentionKernelError(FlagTypeError, AssertionError):
    """`sdpa_kernel` was called with something other than an `SDPBackend` or a list of them.

    Pass a member of `backends.cuda.SDPBackend`, or a list of members.
    """


class ReadOnlyFlagError(InterlockError, AttributeError, RuntimeError):
    """A read-only flag or attribute was written.

    Write the flag from which the value is derived; its documentation names that flag.
    """


class DeviceError(InterlockError, ValueError, RuntimeError):
    """A value does not name a device, or the device is not valid for the operation.

    Use one of the devices that the message lists; `accelerator.device_count` returns their number.
    """


class NoAcceleratorError(InterlockError, RuntimeError):
    """An operation needs an accelerator, and none is available in this process.

    Select a driver that has devices: `accelerator.use("host")` needs no GPU. `python -m interlock` prints
    why the other drivers have none.
    """


class ArgumentError(InterlockError, ValueError, RuntimeError):
    """An argument has a value that the function does not accept.

    Pass a value that the message describes.
    """


class AcceleratorError(InterlockError, RuntimeError):
    """An operation on a device failed, or queued work failed and reported an asynchronous error.

    `operation`, `device` and `error_code` identify the operation. An asynchronous error is reported by a
    later call, because the work was queued.
    """

    operation: str | None = None
    """The operation that failed; None if it is not known."""
    device: _device | None = None
    """The device on which it failed; None if it is not known."""
    error_code: int | None = None
    """The driver's error code, such as a `CUresult`; None if there is none."""


class DeviceLostError(AcceleratorError):
    """A device cannot be used any more in this process, and the memory on it is lost.

    Restart the process: another process can use the device.
    """


class ForkedProcessError(AcceleratorError):
    """A stream, event, graph or buffer of the parent process was used in a forked child.

    Create the object in the child, or start workers with `spawn` or `forkserver`.
    """


class GraphError(AcceleratorError):
    """A method of a graph was called in the wrong state, or the captured work cannot be replayed.

    End the capture before the call, or call it outside of the capture; the message names the state.
    """


class DriverInUseError(AcceleratorError):
    """A driver was selected or registered after the process had initialized another one.

    Call `accelerator.use` (in Rust also `register_driver`) before the first use of a device.
    """


class UnsupportedError(InterlockError, NotImplementedError):
    """The driver does not support the operation.

    Use an operation that the driver supports; the message names the missing function.
    """


class LibraryError(InterlockError, RuntimeError, AssertionError):
    """A call of a vendor library failed.

    The message contains the status that the library returned; its documentation explains the status.
    """


class LibraryNotFoundError(LibraryError):
    """An operation needs a vendor library that cannot be found or loaded.

    Install the library, or set `INTERLOCK_<NAME>_PATH` to its file or folder.
    """


class LibraryPathError(LibraryNotFoundError):
    """The path of a vendor library, given as an argument or in a variable, does not lead to that library.

    Correct the path, or unset the variable so that interlock searches for the library.
    """


class UnknownLibraryError(InterlockError, ValueError):
    """No vendor library has this name.

    Use one of `backends.libraries.NAMES`.
    """


class OutOfMemoryError(InterlockError, RuntimeError, MemoryError):
    """Not enough memory is available on a device or on the CPU.

    Free memory, raise the limit (`accelerator.memory.set_limit`), or register a callback that frees memory
    (`accelerator.memory.on_oom`). `python -m interlock memory` shows what a snapshot has allocated.
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
    """Bytes of the largest free block that the request could have used."""
    limit: int | None = None
    """Bytes that the caching allocator may reserve, see `accelerator.memory.set_limit`."""
    free: int | None = None
    """Free bytes of the device, as the driver reports them."""
    device: _device | None = None
    """The device of the request."""
    stream: int | None = None
    """The id of the stream of the request."""
    pool: tuple[int, int] | None = None
    """The id of the private pool of the request, see `MemPool` and `Graph.pool`."""


class BufferClosedError(InterlockError, ValueError, RuntimeError):
    """A buffer was used after it was closed.

    Close a buffer after its last use, for example at the end of its `with` block.
    """


class NotTracedError(InterlockError, RuntimeError):
    """Lines of the program are requested that this process does not record.

    Start the process with `INTERLOCK_DEBUG=1` in its environment.
    """


class TaskIsRunningError(InterlockError, RuntimeError):
    """A step of a task was started while another step of the task runs.

    Run the steps of a task one after the other, on one thread at a time.
    """


class ContextNotAtHandError(InterlockError, RuntimeError):
    """Native code wrote a mode, device or flag that a scope of Python code sets, on a thread without the GIL.

    Set it with a guard of Rust or C, or attach the thread to the interpreter first.
    """


class SettingValueError(InterlockError, ValueError):
    """A setting of another library does not accept a value, is read-only, or is declared wrongly.

    Pass a value that the message describes; a read-only setting is changed by its library only.
    """

    setting: str | None
    """The name of the setting, if its library refused the value."""

    def __init__(self, *args: object, setting: str | None = None) -> None:
        super().__init__(*args)
        self.setting = setting


class UnknownSettingError(InterlockError, LookupError):
    """No setting of an enabled and imported library has this name.

    Use the name that the message suggests; `settings.names` lists all. Call `settings.enable` with the
    library first, and import the library.
    """


class SettingConflictError(InterlockError, RuntimeError):
    """A setting of the process is held by another scope, or pinned, with another value.

    Exit the scope that the message names first, request its value, or pass `on_conflict="wait"`. Also raised
    if another thread has been reading or writing the setting for 30 seconds.
    """


class SettingPinnedError(InterlockError, RuntimeError):
    """A pinned setting was written.

    Remove the write, or release the pin; the message has the lines of both.
    """


class StateDriftError(InterlockError, RuntimeError):
    """A worker process has another state than the driver means, or did not answer.

    The message names the worker, the setting and the line that made the state; `Portable.verify` has all.
    """


class ShapeError(InterlockError, RuntimeError, ValueError):
    """The shapes of tensors are not valid for an operation or do not match.

    Reshape, expand or transpose an operand; the message contains the shapes.
    """


class DTypeError(InterlockError, NotImplementedError, TypeError):
    """An operation does not support the dtype of a tensor, or a value has no dtype.

    Convert an operand with `Tensor.to`; the message names the dtypes.
    """


class GraphFreedError(InterlockError, RuntimeError):
    """`backward` traversed a graph a second time, after its saved tensors were freed.

    Pass `retain_graph=True` to the first backward pass.
    """


class LinAlgError(InterlockError, RuntimeError):
    """A matrix is singular, or not positive-definite or finite, so that `interlock.linalg` cannot factor it.

    The message has the position of the matrix in the batch. Functions whose names end in `_ex` return `info`
    instead, and do not raise.
    """


class GradcheckError(InterlockError, RuntimeError):
    """`gradcheck` found a gradient that does not agree with finite differences.

    Compare the two Jacobians in the message; inputs of dtype float64 avoid differences through rounding.
    """


class SavedTensorError(InterlockError, RuntimeError, AssertionError):
    """A tensor is needed that an ended scope of `allow_mutation_on_saved_tensors` has saved.

    Run the backward pass inside of the scope.
    """


class CheckpointError(InterlockError, RuntimeError):
    """The recomputation of a checkpoint saved other tensors than the first call.

    The function must do the same in each call. With `debug=True` the message lists the lines that save
    tensors.
    """


class ScopeWarning(RuntimeWarning):
    """A scope is open in a suspended generator, was exited out of order or elsewhere, or was never exited.

    Exit scopes in the reverse order of entering them, in the context that entered them. Issued only with
    `INTERLOCK_DEBUG=1` in the environment.
    """


class SettingWarning(UserWarning):
    """A setting of another library was changed while a scope held it or a pin kept it.

    Remove one of the two writes; the message has their lines. Also issued where `on_conflict` or `on_write`
    is `"warn"`.
    """


class ThreadPoolWarning(UserWarning):
    """A thread pool does not accept a limit, or more threads than CPUs may run at one time.

    The message has what the library of the pool allows, or the size of pools to set.
    """


class PortableStateWarning(UserWarning):
    """A state from another process is malformed, or this process does not know or accept a part of it.

    The rest of the state is applied. Install the interlock of the driver in the worker, or correct the value
    that the message names. A malformed `INTERLOCK_STATE` is ignored: create it with `Portable.env`.
    """


class FlagEnvironmentWarning(UserWarning):
    """An environment variable is ignored: its flag does not accept the value, or its name is misspelt.

    Correct or unset the variable that the message names.
    """


class AcceleratorEnvironmentWarning(UserWarning):
    """An environment variable that selects devices was changed after the driver was initialized.

    Set the variable before the first use of a device.
    """


class FlagDeprecationWarning(FutureWarning):
    """A deprecated name was used; the message names its successor.

    Use the successor.
    """


class AttentionKernelWarning(UserWarning):
    """The reason why an attention kernel cannot run; issued by `can_use_*_attention(debug=True)`.

    Change what the message names, or allow another kernel.
    """


list_exports(globals())

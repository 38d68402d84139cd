"""The exception and warning classes of interlock.

Each derives from what PyTorch raises in its place and, where Python has a class that fits better, from
that too, so that code written for either catches it.
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
    """Base of every exception class of interlock."""


class FlagTypeError(InterlockError, TypeError, RuntimeError):
    """A flag was given a value of a type that it does not take."""


class FlagValueError(InterlockError, ValueError, RuntimeError):
    """A flag was given a value that it does not take."""


class FlagRegistrationError(InterlockError, ValueError):
    """A flag of a library that can't be registered under its name, or with its default."""


class FlagsFrozenError(InterlockError, RuntimeError):
    """A flag was to be written while flags are frozen."""


class UnknownFlagError(InterlockError, AttributeError):
    """No flag has this name."""


class AttentionKernelError(FlagTypeError, AssertionError):
    """Something else was given where kernels of attention are chosen."""


class ReadOnlyFlagError(InterlockError, AttributeError, RuntimeError):
    """A flag, or a number that a library keeps, was to be written and can only be read."""


class DeviceError(InterlockError, ValueError, RuntimeError):
    """Text or a number that names no device, or a device that does not fit."""


class NoAcceleratorError(InterlockError, RuntimeError):
    """An operation needs an accelerator and this process has none."""


class ArgumentError(InterlockError, ValueError, RuntimeError):
    """A value that an argument does not take."""


class AcceleratorError(InterlockError, RuntimeError):
    """A device did not do what it was asked, or tells late that it failed to do what was queued.

    `operation` is what failed, `device` where, `error_code` the driver's number for it. They are None where
    nothing is known.
    """

    operation: str | None = None
    device: device | None = None
    error_code: int | None = None


class DeviceLostError(AcceleratorError):
    """A device is gone for good, and everything on it."""


class ForkedProcessError(AcceleratorError):
    """A stream, event, graph or buffer of a process was used in one that was forked from it."""


class GraphError(AcceleratorError):
    """A graph was used in the wrong order, or what was captured can't be repeated."""


class DriverInUseError(AcceleratorError):
    """A driver was to be chosen or registered while one is in use."""


class UnsupportedError(InterlockError, NotImplementedError):
    """The devices of this process can't do this at all."""


class LibraryError(InterlockError, RuntimeError, AssertionError):
    """A vendor library did not do what it was asked."""


class LibraryNotFoundError(LibraryError):
    """An operation needs a vendor library that this process does not find or can't use."""


class LibraryPathError(LibraryNotFoundError):
    """A path that was given for a vendor library, by argument or variable, can't be used as that."""


class UnknownLibraryError(InterlockError, ValueError):
    """No vendor library has this name."""


class OutOfMemoryError(InterlockError, RuntimeError, MemoryError):
    """A device, or the processor, has no room for what was asked.

    `requested` is how many bytes were asked for and `rounded` what that was rounded up to; of the memory
    `reserved`, which was taken from the driver, `allocated` bytes were in use and `largest_free` those of the
    largest piece that was not; `limit` is how many may be taken and `free` how many the driver had left.
    `stream` is the id of the stream that they were asked for, `pool` the pool of the graph that was captured.
    They are None where nothing is known.
    """

    requested: int | None = None
    rounded: int | None = None
    allocated: int | None = None
    reserved: int | None = None
    largest_free: int | None = None
    limit: int | None = None
    free: int | None = None
    device: device | None = None
    stream: int | None = None
    pool: tuple[int, int] | None = None


class BufferClosedError(InterlockError, ValueError, RuntimeError):
    """A buffer was used after it was closed."""


class TaskIsRunningError(InterlockError, RuntimeError):
    """A step of a task was begun while another one runs."""


class ShapeError(InterlockError, RuntimeError, ValueError):
    """Shapes of tensors that do not fit an operation or each other."""


class DTypeError(InterlockError, NotImplementedError, TypeError):
    """An element type that an operation on tensors does not take."""


class GraphFreedError(InterlockError, RuntimeError):
    """A graph was gone through a second time after what it had saved was freed."""


class ScopeWarning(RuntimeWarning):
    """A scope is open, or was left, where nobody expects it; told only under `INTERLOCK_DEBUG=1`."""


class FlagEnvironmentWarning(UserWarning):
    """An environment variable has a value that its flag does not take; it counts as unset."""


class AcceleratorEnvironmentWarning(UserWarning):
    """An environment variable that chooses devices was changed when they were in use already."""


class FlagDeprecationWarning(FutureWarning):
    """A name that still works, and that has a successor."""


class AttentionKernelWarning(UserWarning):
    """Why a kernel of attention can't run; told only where it is asked for."""

import builtins
from collections.abc import Callable, Mapping
from typing import (
    Any,
    Literal,
    Never,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    final,
    type_check_only,
)

from interlock._core.state import ThreadState
from interlock._core.tensor import Tensor
from interlock.accelerator._snapshot_types import Segment, Snapshot, TraceEntry
from interlock.errors import OutOfMemoryError
from typing_extensions import Buffer as HasBytes, disjoint_base

__all__ = [
    "Buffer",
    "Call",
    "Event",
    "FaultInjector",
    "Graph",
    "Launch",
    "PausedCopies",
    "Recording",
    "Registration",
    "Server",
    "Stream",
    "allocator_keys",
    "checked_config",
    "config_report",
    "config_text",
    "copy_",
    "current_accelerator",
    "current_device_index",
    "current_stream",
    "device",
    "device_count",
    "device_index",
    "device_name",
    "empty_cache",
    "empty_host_cache",
    "fill_",
    "fragmentation",
    "get_cache_limit",
    "get_config",
    "get_default_device",
    "get_limit",
    "get_memory_info",
    "host_memory_stats",
    "is_available",
    "largest_free_block",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "named_statistics",
    "on_oom",
    "parse_config",
    "properties",
    "replay",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "scope",
    "server_if_needed",
    "set_cache_limit",
    "set_config",
    "set_default_device",
    "set_device_index",
    "set_limit",
    "set_stream",
    "snapshot",
    "stop_if_ending",
    "stream_priority_range",
    "synchronize",
    "use",
    "why_unavailable",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Limit: TypeAlias = int | float | str | None

_CaptureErrorMode: TypeAlias = Literal["default", "global", "thread_local", "relaxed"]

class _ArrayInterface(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@type_check_only
class AllocatorKey(TypedDict):
    name: str
    annotation: str
    default: object
    takes: str
    acts: str
    why: str
    doc: str

class _CudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

@final
class device:
    """A device: a type such as "cpu" or "cuda" and, unless it stands for the current one, an index.

    Written `device("cuda:1")`, `device("cuda", 1)`, or `device(1)` for an index on the accelerator of
    this process. `with device:` makes it the one on which tensors are made that are given none. Raises RuntimeError (`interlock.errors.DeviceError`) for text that names no device,
    TypeError for other types, and `NoAcceleratorError` for an index without an accelerator.
    """
    def __new__(cls, type: _DeviceLike, index: int | None = None) -> device: ...
    @property
    def type(self) -> str:
        """The type, such as "cpu"."""
    @property
    def index(self) -> int | None:
        """The index, or None where the device stands for the current one of its type."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[builtins.type[device], tuple[str]]: ...

_Device: TypeAlias = device
_DeviceLike: TypeAlias = device | str | int

@disjoint_base
class Stream:
    """A queue of work for one device: what is put into one runs in order, apart from what is in others.

    `with stream:` makes it the current stream of its device on this thread, and that device the current one.
    `Stream(device)` hands out the 32 streams that a device has for each priority in turn, so another part of the
    program may get the same one; with `exclusive=True` it is a stream of its own. `priority` is 0 or less, and a
    smaller number goes first (`accelerator.stream_priority_range`); numbers below the range count as its end.
    `Stream(stream_id=..., device_index=..., device_type=...)` is a stream that is alive, by its numbers.

    Raises `NoAcceleratorError` without an accelerator, `DeviceError` for a device that it does not have,
    `ArgumentError` for a priority above 0 or numbers of no stream.
    """
    def __new__(
        cls,
        device: _DeviceLike | None = None,
        *,
        priority: int = 0,
        exclusive: bool = False,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
    ) -> Self: ...
    @property
    def device(self) -> _Device:
        """The device whose work it orders."""
    @property
    def device_index(self) -> int:
        """The index of that device."""
    @property
    def device_type(self) -> int:
        """The number of the type of that device."""
    @property
    def stream_id(self) -> int:
        """A number that no other stream of the device has while this one lives; 0 for the default stream."""
    @property
    def priority(self) -> int:
        """The priority that the device gives it: 0 or less, and a smaller number goes first."""
    @property
    def exclusive(self) -> bool:
        """Whether it was made for whoever asked. Otherwise others may get the same stream, as it is a default stream
        or one that is handed out in turn, or it belongs to another library.
        """
    @property
    def native_handle(self) -> int:
        """What other libraries for these devices call it, as a number: on NVIDIA's a `cudaStream_t`."""
    def __cuda_stream__(self) -> tuple[int, int]: ...
    def query(self) -> bool:
        """Whether all that was queued has been done. Raises what failed there, if that was not raised before."""
    def synchronize(self) -> None:
        """Waits until all that was queued has been done. Raises what failed there, if that was not raised before."""
    def record_event(self, event: Event | None = None) -> Event:
        """Marks the place after all that is queued with `event`, or with a new one, and returns the event."""
    def wait_event(self, event: Event) -> None:
        """What is queued from now on waits for what the event marks now."""
    def wait_stream(self, stream: _CudaStream) -> None:
        """What is queued from now on waits for all that is queued on another stream now."""
    def is_capturing(self) -> bool:
        """Whether what is queued is recorded into a graph."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Never: ...

@disjoint_base
class Event:
    """A mark in a stream: other streams and threads wait until it is passed, and two of them tell the time between.

    Without a device, or without its index, it belongs to the device of the stream that records it first. With
    `enable_timing` it notes when it is passed. With `blocking` a thread in `synchronize` sleeps until it is woken,
    else it asks again and again, which answers sooner and takes a processor. With `interprocess` other
    processes can open it. Raises `NoAcceleratorError` without an accelerator, `DeviceError` for a device that it
    does not have.
    """
    def __new__(
        cls,
        device: _DeviceLike | None = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> Self: ...
    @staticmethod
    def from_ipc_handle(device: _DeviceLike, handle: bytes) -> Event:
        """An event that another process made with `interprocess=True`, from what its `ipc_handle` returned. Raises
        `UnsupportedError` where devices have no such events.
        """
    def ipc_handle(self) -> bytes:
        """What another process opens it with. Raises `UnsupportedError` where devices have no such events."""
    @property
    def device(self) -> _Device:
        """Its device; without an index where it has none yet."""
    @property
    def event_id(self) -> int:
        """What other libraries for these devices call it, as a number: on NVIDIA's a `cudaEvent_t`; 0 before it is
        recorded.
        """
    @property
    def enable_timing(self) -> bool:
        """Whether it notes when it is passed."""
    @property
    def blocking(self) -> bool:
        """Whether a thread that waits for it sleeps."""
    @property
    def interprocess(self) -> bool:
        """Whether other processes can open it."""
    def record(self, stream: _CudaStream | None = None) -> None:
        """Marks the place after all that is queued on `stream`, or on the current stream of the event's device, in
        place of what it marked before. The stream must be of that device.
        """
    def wait(self, stream: _CudaStream | None = None) -> None:
        """What is queued on `stream` from now on, or on the current stream, waits for what the event marks now; for
        nothing if it was never recorded.
        """
    def query(self) -> bool:
        """Whether all before the mark has been done; True if it was never recorded. Raises what failed there, if that
        was not raised before.
        """
    def synchronize(self) -> None:
        """Waits until all before the mark has been done. Raises what failed there, if that was not raised before."""
    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to `end_event`. Raises `ArgumentError`, a ValueError, unless both were made
        with `enable_timing` and recorded; `AcceleratorError` before both have been passed.
        """
    def __reduce__(self) -> Never: ...

@disjoint_base
class Graph:
    """Work that is recorded once and queued again and again; `interlock.accelerator.Graph` is made of it."""
    def __new__(
        cls, keep_graph: bool, pool: tuple[int, int] | None, capture_error_mode: _CaptureErrorMode
    ) -> Self: ...
    def _capture_begin(self, pool: tuple[int, int] | None, capture_error_mode: _CaptureErrorMode) -> None: ...
    def _discard(self) -> None: ...
    def _capture_end(self) -> bool: ...
    def instantiate(self) -> None:
        """Makes what was recorded ready for replays."""
    def replay(self) -> None:
        """Queues what was recorded."""
    def reset(self) -> None:
        """Lets go what was recorded."""
    def _pool(self, next: tuple[int, int] | None) -> tuple[int, int]: ...
    def enable_debug_mode(self) -> None:
        """Keeps what is needed for a dump."""
    def _dot(self) -> str: ...
    def __reduce__(self) -> Never: ...

@final
class Buffer:
    """`nbytes` bytes on a device, not initialised; no device, or one without an index, is the current one.

    They are allocated for `stream`, or for the current stream of the device: its work may use them at once, and once
    they are free they are handed out for that stream alone. Work of other streams that `copy_from`, `copy_to` and
    `fill_` queue is known to use them; of other work `record_stream` tells. They are free when the last reference,
    slice and export has gone, or by `close`, also as a context manager.

    Where the processor reaches the memory of the device, as that of the host driver, a buffer shows its bytes to
    `memoryview`, NumPy and whatever takes DLPack: that first waits until all streams that use them have done what is
    queued. On NVIDIA's devices it has `__cuda_array_interface__`, and DLPack in the order of the streams.

    Raises `OutOfMemoryError` where the device has no room, `ArgumentError` for a negative number, `DeviceError` for a
    stream of another device, `NoAcceleratorError` without an accelerator. A buffer that was closed raises
    `BufferClosedError` whatever it is used for.
    """
    def __new__(
        cls, nbytes: int, device: _DeviceLike | None = None, *, stream: _CudaStream | None = None
    ) -> Buffer: ...
    @property
    def nbytes(self) -> int:
        """How many bytes there are."""
    @property
    def device(self) -> _Device:
        """Where they are."""
    @property
    def stream(self) -> Stream | None:
        """The stream that they were allocated for; None once that has gone."""
    @property
    def closed(self) -> bool:
        """Whether it was closed."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def data_ptr(self) -> int:
        """The address of the first byte, in the device's own counting; 0 where there are none."""
    def copy_from(
        self, source: _Bytes, *, non_blocking: bool = False, stream: _CudaStream | None = None
    ) -> Self:
        """Copies all bytes of `source`, which has as many, to this buffer, as `copy_` does; returns the buffer."""
    def copy_to(
        self, destination: _Bytes, *, non_blocking: bool = False, stream: _CudaStream | None = None
    ) -> Self:
        """Copies all bytes to `destination`, which has as many, as `copy_` does; returns this buffer."""
    def fill_(self, value: int, *, stream: _CudaStream | None = None) -> Self:
        """Sets every byte to `value`, as the function `fill_` does; returns the buffer."""
    def slice(self, start: int, stop: int | None = None) -> Buffer:
        """The bytes from `start` up to `stop`, or to the end, as a buffer of the same memory, which it keeps. Raises
        `ArgumentError` for what does not lie within; `buffer[start:stop]` takes what does, as slices of Python do.
        """
    def record_stream(self, stream: _CudaStream) -> None:
        """Says that work on `stream` uses the bytes, which interlock did not queue there: once they are free, nobody
        gets them before what is queued there by then has been done.
        """
    def close(self, stream: _CudaStream | None = None) -> None:
        """Gives the bytes back now, also while others refer to this buffer; with a stream, nobody gets them before what
        is queued there by now has been done. Slices and what was exported by DLPack keep the memory. Does nothing
        where it was closed before. Raises BufferError as long as there is a memoryview of it.
        """
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def __getitem__(self, key: builtins.slice, /) -> Buffer: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, view: memoryview, /) -> None: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> Never: ...

@final
class Recording:
    """A history that is recorded; what `history` returns. `with recording:` stops it at the end of the block."""
    def __new__(
        cls, max_entries: int | None, stacks: Literal["python", "all"] | None, device: _DeviceLike | None
    ) -> Recording: ...
    def stop(self) -> None:
        """Records no more, unless another history has begun already. What is recorded stays for snapshots."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...
    def __reduce__(self) -> Never: ...

_Bytes: TypeAlias = Buffer | HasBytes | _ArrayInterface | Tensor

@final
class scope:
    """Counts what is allocated on a device while it is open, by all threads: a context manager and a decorator.

    `current` is what was allocated in the block and is still in use, `peak` the most that was so at one time, `total`
    all that was allocated, in bytes as they were rounded; `allocations` is in how many pieces. They can be read while
    the block runs, and stay when it is left. Blocks nest; each enter of one object counts anew, and the numbers are
    those of the last. A decorated generator or coroutine enters it for each of its steps. No device, or one without
    an index, is the current one when it is entered. Without an accelerator all is 0.

    Raises `DeviceError` for what is no device of the accelerator.
    """
    def __new__(cls, device: _DeviceLike | None = None) -> scope: ...
    @property
    def current(self) -> int:
        """Bytes that were allocated in the block and are still in use."""
    @property
    def peak(self) -> int:
        """The most that `current` was."""
    @property
    def total(self) -> int:
        """All bytes that were allocated in the block."""
    @property
    def allocations(self) -> int:
        """In how many pieces they were."""
    def __call__(self, function: _Function, /) -> _Function: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

@final
class Registration:
    """A function that is asked where memory is short, until it is removed."""
    def remove(self) -> None:
        """The function is not asked any more. Does nothing where it was removed before."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

@disjoint_base
class device_index:
    """Makes a device the current one of this thread while it is open; None changes nothing.

    It takes an index, a str or a device. Entering raises `NoAcceleratorError` without an accelerator and
    `DeviceError` for a device that it does not have.
    """
    def __new__(cls, device: _DeviceLike | None, /) -> Self: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exc_info: object) -> None: ...

@final
class Launch:
    """A call of a function to be queued on a stream."""
    def __new__(
        cls,
        stream: _CudaStream,
        function: Callable[..., object],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Launch: ...
    def queue(self) -> None:
        """Queues the call. The next wait for the stream reports what the function raises. Raises RuntimeError while the
        interpreter is finalized.
        """

@final
class Server:
    """A thread of Python that makes calls, or is to become one."""
    def next(self) -> Call | None:
        """Waits for a call; None where this thread is not needed any more."""

@final
class Call:
    """A call to be made by the server that took it."""
    def function(self) -> tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]] | None:
        """What is to be called; None once the interpreter is about to end."""
    def state(self) -> ThreadState:
        """The state of the thread that launched it."""
    def begin(self) -> None:
        """This thread begins to run the function, and so must not wait for its stream."""
    def end(self, reason: str | None) -> None:
        """It has returned, or failed for a reason."""

@final
class FaultInjector:
    """Makes devices of the host driver misbehave, to test how a program takes it: `accelerator.use("host",
    faults=faults)`. One object for each driver.

    Methods raise `NoAcceleratorError` where no host driver was made with it in this process. A forked child's driver
    is another one, which is made when a device is used there and begins without faults.
    """
    def __new__(cls) -> FaultInjector: ...
    def fail_allocation(self, number: int | None) -> None:
        """The `number`th time from now on that the driver is asked for memory it has none; 1 is the next. What is kept
        is given back then, and the driver asked once more. None takes that back.
        """
    def fail_pinned_allocation(self, number: int | None) -> None:
        """As `fail_allocation`, for pinned memory. What is kept of it is given back, and the driver asked again, before
        anybody is told.
        """
    def fail_next_launch(self, reason: str) -> None:
        """The next function that is launched does not run, and fails late for this reason. Called twice, the next two
        do. What a graph records counts when it is replayed.
        """
    def fail_next_copy(self, reason: str) -> None:
        """As `fail_next_launch`, for copies."""
    def fail_next_fill(self, reason: str) -> None:
        """As `fail_next_launch`, for fills."""
    def lose_device(self, device: _DeviceLike, reason: str) -> None:
        """A device is gone for good: every call that reaches it raises `DeviceLostError`, and so does waiting for
        what is queued on it.
        """
    def hold_copies(self) -> PausedCopies:
        """No copy begins until the object that this returns is released, or the `with` block is left."""
    def live_objects(self) -> dict[str, int]:
        """How many objects of the driver there are, by what they are: for tests of leaks."""

@final
class PausedCopies:
    """Copies that have not begun do not begin until it is released."""
    def step(self) -> bool:
        """Lets one copy begin, of those that wait for nothing else; False where there is none. What a copy waits for
        may not have been done yet: synchronize an event that was recorded before it first.
        """
    def release(self) -> None:
        """Lets copies begin again, unless something else holds them."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

def use(
    name: str,
    *,
    devices: int | None = None,
    memory: int | None = None,
    faults: FaultInjector | None = None,
) -> None:
    """Chooses the driver of this process: "host" for devices made of threads and memory of this computer, "cuda", the
    name of one that the program which embeds Python has registered, or "none".

    `devices` (how many, 1 if not given), `memory` (bytes that each has, 4 GiB if not given) and `faults` (what is
    to go wrong, for tests) belong to "host".
    The driver is fixed when a device is used first; afterwards this raises `DriverInUseError`. Raises
    `DeviceError` for an unknown name, `ArgumentError` for numbers that don't fit.
    """

def current_accelerator(check_available: bool = False) -> device | None:
    """The accelerator of this process without an index, or None.

    It is there once a driver was chosen, even if that has no device; with `check_available` only if it has one.
    """

def is_available() -> bool:
    """Whether there is an accelerator with at least one device. Fixes nothing: a driver may still be chosen."""

def device_count() -> int:
    """How many devices the accelerator has; 0 where there is none. Fixes nothing: a driver may still be chosen."""

def why_unavailable() -> str | None:
    """Why there is no accelerator with a device, in one sentence; None where there is one."""

def current_device_index() -> int:
    """The index of the current device of this thread: 0 until another is made current."""

def set_device_index(device: _DeviceLike, /) -> None:
    """Makes a device the current one of this thread, until the innermost open scope that decides it is left. The
    device must have an index.
    """

def current_stream(device: _DeviceLike | None = None, /) -> Stream:
    """The current stream of a device on this thread: its default one until another is made current. No device, or
    one without an index, is the current one.
    """

def set_stream(stream: _CudaStream) -> None:
    """Makes a stream the current one of its device on this thread, and that device the current one; each until the
    innermost open scope that decides it is left.
    """

def synchronize(device: _DeviceLike | None = None, /) -> None:
    """Waits until all work of a device has been done. Raises what failed there, if that was not raised before. No
    device, or one without an index, is the current one.
    """

def stream_priority_range(device: _DeviceLike | None = None, /) -> tuple[int, int]:
    """The priorities that streams of a device may have: the largest number, which goes last, and the smallest,
    which goes first.
    """

def device_name(device: _DeviceLike | None = None, /) -> str:
    """A device as its maker calls it."""

def properties(device: _DeviceLike | None = None, /) -> dict[str, Any]:
    """What a device is, as a dict."""

def get_memory_info(device_index: _DeviceLike | None = None, /) -> tuple[int, int]:
    """Free and total memory of a device, in bytes. No device, or one without an index, is the current one."""

def get_default_device() -> device:
    """The device on which tensors are made that are given none: the processor until another is chosen. One that was chosen
    without an index has that of the current device of its type.
    """

def set_default_device(device: _DeviceLike | None) -> None:
    """Chooses the device on which tensors are made that are given none, for this thread and until the innermost open
    scope that decides it is left; None is the processor.
    """

def server_if_needed() -> Server | None:
    """A server to be given a thread, where none is idle."""

def stop_if_ending() -> None:
    """Parks this thread if the interpreter, which no longer starts threads, ends within a moment."""

def copy_(
    destination: _Bytes,
    source: _Bytes,
    *,
    non_blocking: bool = False,
    stream: _CudaStream | None = None,
) -> None:
    """Copies all bytes of `source` to `destination`, which has as many; at least one of them is a `Buffer`, the
    other may be an object with the buffer protocol.

    The copy is in the order of `stream`, which must be of the device of one of the buffers, and of no other
    stream. Without one it is in the order of the current stream of the buffer's device; between two devices in
    that of the source's, and it and the current stream of the destination's wait for each other. This waits until
    the copy has been done, unless `non_blocking`: then the bytes must be left alone until the stream has passed.
    Raises `ArgumentError` for different sizes or two objects that are no buffers, `DeviceError` for a stream of
    another device, TypeError and BufferError for objects that don't show their bytes.
    """

def empty_host_cache() -> None:
    """Gives pinned memory back to the system that nothing uses, neither the program nor what is queued. Waits for
    nothing that is queued. Does nothing before an accelerator is used.
    """

def host_memory_stats() -> dict[str, int]:
    """What is counted of pinned memory, by name, in the order of the names. Zeros before an accelerator is used.

    `allocations` are blocks that are in use or kept, `active_requests` those that are in use, by the program or by
    what is queued; `allocated_bytes` and `active_bytes` are their bytes, after rounding. Each has `.current`, `.peak`,
    `.allocated` (by how much it went up) and `.freed` (by how much it went down). `num_host_alloc` and
    `num_host_free` are how many blocks were made and given back. `host_alloc_time` and `host_free_time` are how
    long the driver took for that, in microseconds: `.total`, `.max`, `.min`, `.count` and `.avg`.
    """

def reset_peak_host_memory_stats() -> None:
    """Makes every `.peak` of `host_memory_stats` what there is now, and every `.max` and `.min` 0."""

def reset_accumulated_host_memory_stats() -> None:
    """Makes every `.allocated`, `.freed`, `.total` and `.count` of `host_memory_stats` 0, and `num_host_alloc` and
    `num_host_free`.
    """

def snapshot(device: _DeviceLike | None) -> tuple[list[Segment], list[list[TraceEntry]]]:
    """The segments, and the traces of all devices; of one device alone if it is given."""

def replay(snapshot: Snapshot | Mapping[str, Any], device: _DeviceLike | None) -> dict[str, int]:
    """Allocates and frees on a device what its trace in a snapshot says; returns the statistics."""

def fill_(buffer: Buffer, value: int, *, stream: _CudaStream | None = None) -> None:
    """Sets every byte of a `Buffer` to `value`, from 0 to 255, in the order of `stream` or of the current stream of
    the buffer's device. Returns at once. Raises `ArgumentError` for another number, `DeviceError` for a
    stream of another device.
    """

def allocator_keys() -> list[AllocatorKey]:
    """A key with its default, what it takes, when it acts and what it means."""

def parse_config(text: str) -> dict[str, Any]:
    """The fields that a text stands for."""

def checked_config(given: dict[str, Any]) -> dict[str, Any]:
    """The fields as the core has them, once it has checked them."""

def config_text(given: dict[str, Any]) -> str:
    """The text of fields."""

def get_config() -> dict[str, Any]:
    """The fields of the configuration in force."""

def set_config(given: dict[str, Any]) -> None:
    """Puts fields in force."""

def config_report() -> list[
    tuple[str, Any, bool, str, Literal["now", "on new segments", "never"], str | None]
]:
    """For each key: its name, its value, whether that is the default, who said so, when it acts and, if never, why."""

def empty_cache() -> None:
    """Gives memory that is kept and not in use back to the driver, of all devices, once the work that is queued now has
    been done; waits for that. Ctrl-C ends the wait. Does nothing while a graph is captured, and where no device has
    been used.
    """

def memory_allocated(device_index: _DeviceLike | None = None, /) -> int:
    """The bytes of a device's memory that are in use, in pieces as they were rounded. 0 where no device has been used.
    No device, or one without an index, is the current one; raises `DeviceError` for what is no device of the
    accelerator.
    """

def max_memory_allocated(device_index: _DeviceLike | None = None, /) -> int:
    """The most that `memory_allocated` was since `reset_peak_memory_stats`."""

def memory_reserved(device_index: _DeviceLike | None = None, /) -> int:
    """The bytes of a device's memory that were taken from the driver, in use or kept. As `memory_allocated`."""

def max_memory_reserved(device_index: _DeviceLike | None = None, /) -> int:
    """The most that `memory_reserved` was since `reset_peak_memory_stats`."""

def named_statistics(device: _DeviceLike | None) -> list[tuple[str, int]]:
    """What `memory_stats` tells, in the order of the names."""

def reset_peak_memory_stats(device_index: _DeviceLike | None = None, /) -> None:
    """Makes every peak of a device's statistics what there is now. As `memory_allocated`."""

def reset_accumulated_memory_stats(device_index: _DeviceLike | None = None, /) -> None:
    """Counts anew what is allocated and freed on a device, and how often something happens. As `memory_allocated`."""

def largest_free_block(device: _DeviceLike | None = None) -> int:
    """The bytes of the largest piece that is kept and not in use: what can be allocated for its stream without asking
    the driver. As `memory_allocated`.
    """

def fragmentation(device: _DeviceLike | None = None) -> float:
    """In how small pieces the memory lies that is kept and not in use: 0.0 where it is one piece or none, close to 1.0
    where the largest piece is a small part of all. As `memory_allocated`.
    """

def set_limit(limit: _Limit, device: _DeviceLike | None = None) -> int | None:
    """Says how much of a device's memory this process may take from the driver, in use or kept: a number of bytes (an
    int), a part of all (a float from 0.0 to 1.0, or a str such as "90%"), or None for all of it.

    Returns the limit that was in force, in bytes, or None. What is taken already stays, also beyond the limit. No
    device, or one without an index, is the current one. Raises `ArgumentError` for a limit out of range,
    `NoAcceleratorError` without an accelerator.
    """

def get_limit(device: _DeviceLike | None = None) -> int | None:
    """The limit of a device in bytes, or None where there is none."""

def set_cache_limit(limit: _Limit, device: _DeviceLike | None = None) -> int | None:
    """Says how much of a device's memory may be kept that nobody uses, as `set_limit` does; None for any number. What is
    kept beyond goes back to the driver, the longest unused first, once streams have got past it. Returns the limit
    that was in force, in bytes, or None.
    """

def get_cache_limit(device: _DeviceLike | None = None) -> int | None:
    """The limit of what is kept of a device's memory, in bytes, or None where there is none."""

def on_oom(callback: Callable[[OutOfMemoryError], object], /) -> Registration:
    """Has `callback` called with the `OutOfMemoryError` where a device has no room for what was asked, before that is
    raised. It returns True if it is worth while to try once more, because it let something go; nothing else is asked
    then.

    It runs on the thread that allocates; what it allocates itself does not ask again. What it raises is raised by the
    allocation, with the `OutOfMemoryError` as its context. It stays registered until the object that this returns is
    removed, or the `with` block is left.
    """

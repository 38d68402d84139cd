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

from interlock._core.state import Registration, ThreadState
from interlock._core.tensor import Tensor
from interlock._faults import Fault
from interlock.accelerator._snapshot_types import HostSegment, Segment, Snapshot, TraceEntry
from interlock.errors import OutOfMemoryError
from typing_extensions import Buffer as HasBytes, CapsuleType, disjoint_base

__all__ = [
    "Buffer",
    "Call",
    "CallbackWorker",
    "Event",
    "FaultInjector",
    "Graph",
    "HostCallback",
    "MemPool",
    "MemoryTracker",
    "PausedCopies",
    "RaceDetector",
    "Recording",
    "Stream",
    "TraceRecorder",
    "allocator_keys",
    "annotate",
    "check_device_of_capability",
    "checked_config",
    "checked_max_events",
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
    "generate_graph_pool_handle",
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
    "nested_statistics",
    "on_oom",
    "park_if_finalizing",
    "parse_config",
    "properties",
    "replay",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_cache_limit",
    "set_config",
    "set_default_device",
    "set_device_index",
    "set_limit",
    "set_stream",
    "snapshot",
    "snapshot_to_dump",
    "stream_priority_range",
    "synchronize",
    "unavailable_reason",
    "use",
    "use_mem_pool",
    "worker_if_needed",
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
    accepts: str
    applies: str
    reason: str
    doc: str

class _CudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

@final
class device:
    """A device: a type such as "cpu" or "cuda", and an index unless it means the current device of the type.

    `device("cuda:1")` equals `device("cuda", 1)`; `device(1)` is a device of the accelerator of this process. `with
    device:` makes it the default device of new tensors.

    Args:
        type: The name of a device, a device, or an index on the accelerator.
        index: The index, if `type` is the name of a device type.

    Raises:
        DeviceError: The text is not the name of a device.
        TypeError: An argument has another type.
        NoAcceleratorError: An index was passed and no accelerator is available.

    Example:
        >>> import interlock
        >>> interlock.device("cuda:1")
        device(type='cuda', index=1)
        >>> interlock.device("cuda").index is None
        True
    """
    def __new__(cls, type: _DeviceLike, index: int | None = None) -> device: ...
    @property
    def type(self) -> str:
        """The device type, such as "cpu"."""
    @property
    def index(self) -> int | None:
        """The index, or None if the device means the current device of its type."""
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
    """A queue of work for one device. The work of one stream runs in order, independently of other streams.

    `with stream:` makes it the current stream of its device in this context, and that device the current one.
    `Stream(stream_id=..., device_index=..., device_type=...)` returns an existing stream.

    Args:
        device: The device. None, or a device without an index, means the current device.
        priority: 0 or less. Streams with smaller numbers run first; numbers below the range of the device
            (`accelerator.stream_priority_range`) mean its greatest priority.
        dedicated: Whether to create a new stream. Otherwise the 32 pooled streams of the device and priority are
            returned in turn, so another part of the program may use the same stream.
        stream_id: The id of an existing stream, with `device_index` and `device_type`.
        device_index: The index of its device.
        device_type: The number of its device type.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.
        ArgumentError: The priority is above 0, or no stream has these numbers.
        TypeError: A device was passed together with numbers, or only some of the numbers.

    Example:
        >>> import interlock
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> stream = interlock.Stream(priority=-1)
        >>> with stream:
        ...     accelerator.current_stream() == stream
        True
    """
    def __new__(
        cls,
        device: _DeviceLike | None = None,
        *,
        priority: int = 0,
        dedicated: bool = False,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
    ) -> Self: ...
    @property
    def device(self) -> _Device:
        """The device of the stream."""
    @property
    def device_index(self) -> int:
        """The index of the device."""
    @property
    def device_type(self) -> int:
        """The number of the device type."""
    @property
    def stream_id(self) -> int:
        """The id, which is unique on the device while the stream is alive; 0 for the default stream."""
    @property
    def priority(self) -> int:
        """The priority, limited to the range of the device. Streams with smaller numbers run first."""
    @property
    def dedicated(self) -> bool:
        """Whether the stream was created with `dedicated=True`. Otherwise it is a default stream, a pooled stream or a
        stream of another library.
        """
    @property
    def native_handle(self) -> int:
        """The raw handle of the stream as an int, for CUDA a `cudaStream_t`."""
    def __cuda_stream__(self) -> tuple[int, int]: ...
    def query(self) -> bool:
        """Return whether all queued work is done, without blocking.

        Raises:
            AcceleratorError: Queued work has failed, and the error was not reported yet.
        """
    def synchronize(self) -> None:
        """Wait for all queued work. Ctrl-C interrupts the wait.

        Raises:
            AcceleratorError: Queued work has failed, and the error was not reported yet.
        """
    def record_event(self, event: Event | None = None) -> Event:
        """Record an event after all queued work.

        Args:
            event: An event of the stream's device. None creates one with default options.

        Returns:
            The event.

        Raises:
            AcceleratorError: The event is of another device.
        """
    def wait_event(self, event: Event) -> None:
        """Make later work of this stream wait for the current record of an event. Does not block the calling thread.

        Args:
            event: The event, of any device. An event that was never recorded has no effect.
        """
    def wait_stream(self, stream: _CudaStream) -> None:
        """Make later work of this stream wait for all work that is queued on another stream now. Does not block the
        calling thread.

        Args:
            stream: The other stream, on any device: a `Stream`, or an object with `__cuda_stream__`.

        Raises:
            TypeError: `stream` is not a stream.
        """
    def is_capturing(self) -> bool:
        """Return whether the stream is being captured into a graph."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Never: ...

@disjoint_base
class Event:
    """A mark in a stream, which other streams and threads can wait for. Two events measure the time between them.

    Args:
        device: The device. None, or a device without an index, means the device of the stream that records it first.
        enable_timing: Whether the event records the time of its completion.
        blocking: Whether `synchronize` sleeps until the thread is woken. Otherwise it polls, which has less latency and
            occupies a CPU core.
        interprocess: Whether other processes can open the event.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.

    Example:
        >>> import interlock
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> stream = interlock.Stream()
        >>> start, end = interlock.Event(enable_timing=True), interlock.Event(enable_timing=True)
        >>> start.record(stream)
        >>> end.record(stream)
        >>> end.synchronize()
        >>> start.elapsed_time(end) >= 0.0
        True
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
        """Open an event that another process created with `interprocess=True`.

        Args:
            device: The device of the event.
            handle: The bytes that `ipc_handle` returned in the other process.

        Raises:
            UnsupportedError: The driver does not support interprocess events.
            TypeError: `handle` is not bytes.
        """
    def ipc_handle(self) -> bytes:
        """Return the handle as bytes, with which `Event.from_ipc_handle` opens the event in another process.

        Raises:
            AcceleratorError: The event was created without `interprocess=True`.
            UnsupportedError: The driver does not support interprocess events.
        """
    @property
    def device(self) -> _Device:
        """The device of the event, without an index before the device is known."""
    @property
    def event_id(self) -> int:
        """The raw handle of the event as an int, for CUDA a `cudaEvent_t`; 0 before the first record."""
    @property
    def enable_timing(self) -> bool:
        """Whether the event records the time of its completion."""
    @property
    def blocking(self) -> bool:
        """Whether waiting threads sleep instead of polling."""
    @property
    def interprocess(self) -> bool:
        """Whether other processes can open the event."""
    def record(self, stream: _CudaStream | None = None) -> None:
        """Record the event after all work that is queued on a stream now. Replaces an earlier record.

        Args:
            stream: A stream of the event's device. None means the current stream of that device.

        Raises:
            AcceleratorError: The stream is of another device.
            TypeError: `stream` is not a stream.
        """
    def wait(self, stream: _CudaStream | None = None) -> None:
        """Make later work of a stream wait for the current record of the event. Has no effect if it was never recorded.

        Args:
            stream: The stream, of any device. None means the current stream.

        Raises:
            TypeError: `stream` is not a stream.
        """
    def query(self) -> bool:
        """Return whether the event has completed, without blocking; True if it was never recorded.

        Raises:
            AcceleratorError: Queued work has failed, and the error was not reported yet.
        """
    def synchronize(self) -> None:
        """Wait until the event has completed. Returns at once if it was never recorded. Ctrl-C interrupts the wait.

        Raises:
            AcceleratorError: Queued work has failed, and the error was not reported yet.
        """
    def elapsed_time(self, end_event: Event) -> float:
        """Return the time from this event to another one in milliseconds.

        Args:
            end_event: The later event, of the same device.

        Raises:
            ArgumentError: An event was created without `enable_timing`, or was never recorded.
            AcceleratorError: An event has not completed, or the events are of different devices.
        """
    def __reduce__(self) -> Never: ...

@disjoint_base
class Graph:
    """Native base class of `interlock.accelerator.Graph`."""
    def __new__(
        cls, keep_graph: bool, pool: MemPool | tuple[int, int] | None, capture_error_mode: _CaptureErrorMode
    ) -> Self: ...
    def _capture_begin(
        self, pool: MemPool | tuple[int, int] | None, capture_error_mode: _CaptureErrorMode
    ) -> None: ...
    def __exit__(self, *exc_info: object) -> None:
        """End the capture with the method `_leave` of the subclass. After an exception or an interrupt, discard it.

        A function in Python could not do this: CPython runs signal handlers before its first instruction.
        """
    def _abort_capture(self) -> None: ...
    def _capture_end(self) -> bool: ...
    def _is_capturing(self) -> bool: ...
    def instantiate(self) -> None:
        """Instantiate the captured graph for replays."""
    def replay(self) -> None:
        """Queue the captured work on the current stream."""
    def reset(self) -> None:
        """Destroy the captured work, so that the graph can be captured again."""
    def _pool(self, next: MemPool | tuple[int, int] | None) -> tuple[int, int]: ...
    def enable_debug_mode(self) -> None:
        """Store nodes and edges of later captures for `debug_dump`."""
    def _dot(self) -> str: ...
    def __reduce__(self) -> Never: ...

@disjoint_base
class MemPool:
    """A private pool of the caching allocator, like `torch.cuda.MemPool`. The name is proposed for PyTorch.

    Its memory serves only the allocations of `with accelerator.use_mem_pool(pool):` blocks, and of graphs that capture
    with it (`accelerator.Graph(pool=pool)`). The pool is released with the last object, open block and graph that uses
    it: its memory then returns to the driver as soon as its blocks are freed and the queued work is done. Until then
    its free blocks remain cached: `empty_cache` does not release them, and neither does a lack of memory elsewhere.

    The replay of a graph overwrites the memory that the graph allocated and freed during its capture. Later allocations
    from the same pool may have that memory, so a program that does both must not need their contents after a replay.

    Args:
        allocator: None. PyTorch accepts allocators of its own for CUDA, which interlock does not have.
        use_on_oom: Whether an allocation outside of pools uses a free block of this pool before it raises
            `OutOfMemoryError`.
        no_split: Whether each block is a segment of its own, which the driver allocates, instead of a part of one.
        device: The only device that may use the pool. None means that each device may use it, with memory of its own.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.
        TypeError: `allocator` is not None, or another argument has the wrong type.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> pool = accelerator.MemPool()
        >>> with accelerator.use_mem_pool(pool):
        ...     buffer = accelerator.memory.Buffer(1000)
        >>> [segment["segment_pool_id"] == pool.id for segment in pool.snapshot()]
        [True]
        >>> buffer.close()
        >>> del pool
        >>> accelerator.empty_cache()
        >>> accelerator.memory_reserved()
        0
    """
    def __new__(
        cls,
        allocator: None = None,
        use_on_oom: bool = False,
        no_split: bool = False,
        *,
        device: _DeviceLike | None = None,
    ) -> Self: ...
    @property
    def id(self) -> tuple[int, int]:
        """The id, as it is in snapshots and in statistics, and as graphs accept it as their `pool`."""
    @property
    def device(self) -> _Device | None:
        """The only device that may use the pool, or None."""
    def use_count(self) -> int:
        """Return the number of users: 1 for this object, and 1 for each open `use_mem_pool` block, for each graph whose
        capture allocated from the pool, and for each allocation of such a capture that is underway.
        """
    def snapshot(self, include_traces: bool = True) -> list[Segment]:
        """Return the segments of the pool, in the format of `accelerator.memory.snapshot()["segments"]`.

        Args:
            include_traces: Has no effect: the result has no recorded events. PyTorch has this argument, too.
        """
    def __reduce__(self) -> Never: ...

@disjoint_base
class use_mem_pool:
    """Context manager and decorator that routes allocations to a pool, like `torch.cuda.use_mem_pool`. The name is proposed
    for PyTorch.

    It belongs to the context that enters it, as a `with stream:` block does: an asyncio task and `asyncio.to_thread` have
    a copy, while a new `threading.Thread` allocates from the default pool. PyTorch's belongs to the thread. It holds for
    every stream of the device. Of nested blocks the innermost one holds, and the order of exits does not matter. Copies
    and captured states do not use the pool: once it is released, they allocate from the default pool.

    On a stream that is captured, the pool of the capture or the block holds, whichever began last. In the second case the
    graph uses the pool as well, and keeps the memory that its work uses, until it is reset.

    Args:
        pool: The pool, which remains in use until the block ends.
        device: The device whose allocations are routed. None means the device of the pool, or else the device that is
            current when the block begins.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device, or it is not the device of the pool.
        TypeError: `pool` is not a `MemPool`.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> pool = accelerator.MemPool()
        >>> with accelerator.use_mem_pool(pool):
        ...     pool.use_count()
        2
    """
    def __new__(cls, pool: MemPool, device: _DeviceLike | None = None) -> Self: ...
    def __call__(self, function: _Function, /) -> _Function: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exc_info: object) -> None: ...

@final
class Buffer:
    """Uninitialized memory on a device.

    The memory is allocated for one stream, whose work may use it at once. Uses by other streams are recorded by
    `copy_from`, `copy_to` and `fill_`; `record_stream` records other work. The memory is freed with the last reference,
    slice and export, or by `close`. A buffer is also a context manager that closes it.

    If the CPU can access the memory, as with the host driver, a buffer supports `memoryview`, NumPy and DLPack, which
    first wait for all streams that use the bytes. On CUDA devices it has `__cuda_array_interface__`, and DLPack in
    stream order.

    Args:
        nbytes: The size in bytes.
        device: The device. None, or a device without an index, means the current device.
        stream: The stream to allocate for. None means the current stream of the device.

    Raises:
        OutOfMemoryError: The device has too little memory.
        ArgumentError: `nbytes` is negative.
        DeviceError: The stream is on another device.
        NoAcceleratorError: No accelerator is available.
        BufferClosedError: A method is called after `close`.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> buffer = accelerator.memory.Buffer(4).fill_(0).copy_from(b"abcd")
        >>> bytes(memoryview(buffer))
        b'abcd'
        >>> bytes(buffer.slice(1, 3))
        b'bc'
    """
    def __new__(
        cls, nbytes: int, device: _DeviceLike | None = None, *, stream: _CudaStream | None = None
    ) -> Buffer: ...
    @property
    def nbytes(self) -> int:
        """The size in bytes."""
    @property
    def device(self) -> _Device:
        """The device of the memory."""
    @property
    def stream(self) -> Stream | None:
        """The stream that the memory was allocated for; None if the stream was destroyed. An object with `__cuda_stream__`
        is kept alive as long as memory is allocated for its stream.
        """
    @property
    def closed(self) -> bool:
        """Whether the buffer was closed."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def data_ptr(self) -> int:
        """Return the device address of the first byte; 0 if there are no bytes."""
    def copy_from(
        self, source: _Bytes, *, non_blocking: bool = False, stream: _CudaStream | None = None
    ) -> Self:
        """Copy all bytes of `source` to this buffer, like the function `copy_`.

        Args:
            source: A `Buffer`, or an object with the buffer protocol, with the size of this buffer.
            non_blocking: Whether to return before the copy is done, as for `copy_`.
            stream: The stream of the copy. None means the current stream, as for `copy_`.

        Returns:
            This buffer.

        Raises:
            ArgumentError: The sizes differ.
            DeviceError: The stream is on another device.
            TypeError: `source` does not support the buffer protocol, or contains object references.
            BufferError: `source` is not contiguous.
        """
    def copy_to(
        self, destination: _Bytes, *, non_blocking: bool = False, stream: _CudaStream | None = None
    ) -> Self:
        """Copy all bytes of this buffer to `destination`, like the function `copy_`.

        Args:
            destination: A `Buffer`, or a writable object with the buffer protocol, with the size of this buffer.
            non_blocking: Whether to return before the copy is done, as for `copy_`.
            stream: The stream of the copy. None means the current stream, as for `copy_`.

        Returns:
            This buffer.

        Raises:
            ArgumentError: The sizes differ.
            DeviceError: The stream is on another device.
            TypeError: `destination` does not support the buffer protocol, or contains object references.
            BufferError: `destination` is not contiguous, or read-only.
        """
    def fill_(self, value: int, *, stream: _CudaStream | None = None) -> Self:
        """Queue a fill of every byte with `value`, like the function `fill_`.

        Args:
            value: The byte, from 0 to 255.
            stream: The stream of the fill. None means the current stream of the buffer's device.

        Returns:
            This buffer.

        Raises:
            ArgumentError: `value` is out of range.
            DeviceError: The stream is on another device.
        """
    def slice(self, start: int, stop: int | None = None) -> Buffer:
        """Return a part of the bytes as a buffer that shares the memory. `buffer[start:stop]` clips the range instead of
        raising, like Python slices.

        Args:
            start: The index of the first byte.
            stop: The index after the last byte. None means the end of the buffer.

        Raises:
            ArgumentError: The range is not within the buffer.
        """
    def record_stream(self, stream: _CudaStream) -> None:
        """Record that work of another library on a stream uses the bytes. After they are freed, they are reused only after
        the work that is queued on the stream by then.

        Args:
            stream: A `Stream`, or an object with `__cuda_stream__`.

        Raises:
            TypeError: `stream` is not a stream.
        """
    def close(self, stream: _CudaStream | None = None) -> None:
        """Free the memory now, even while other references to this buffer exist. Slices and DLPack exports keep the memory
        alive. Has no effect on a closed buffer.

        Args:
            stream: A stream whose queued work uses the bytes, as for `record_stream`.

        Raises:
            BufferError: A memoryview of the buffer exists.
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
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> Never: ...

@final
class Recording:
    """A recording of the memory history, as `history` returns it. `with recording:` stops it at the end of the block.

    Args:
        max_entries: The number of events for each device, as for `history`.
        stacks: Whether to record Python stacks, as for `history`.
        device: The device. None means all devices.
        pinned: Whether pinned memory is recorded, as for `history`.
    """
    def __new__(
        cls,
        max_entries: int | None,
        stacks: Literal["python", "all"] | None,
        device: _DeviceLike | None,
        pinned: bool,
    ) -> Recording: ...
    def stop(self) -> None:
        """Stop recording, unless another recording has begun. Snapshots still contain the recorded entries."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...
    def __reduce__(self) -> Never: ...

_Bytes: TypeAlias = Buffer | HasBytes | _ArrayInterface | Tensor

@final
class MemoryTracker:
    """Context manager and decorator that counts the allocations of all threads on a device during a block.

    The counts can be read during and after the block. Sizes are in bytes after rounding. Blocks can be nested; each
    entry starts new counts, and the properties return those of the last one. A decorated generator or coroutine enters
    the block for each of its steps. Without an accelerator all counts are 0.

    Args:
        device: The device. None, or a device without an index, means the current device when the block is entered.

    Raises:
        DeviceError: The accelerator does not have the device.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> with accelerator.memory.MemoryTracker() as tracker:
        ...     buffer = accelerator.memory.Buffer(1000)
        >>> tracker.allocations, tracker.current
        (1, 1024)
    """
    def __new__(cls, device: _DeviceLike | None = None) -> MemoryTracker: ...
    @property
    def current(self) -> int:
        """The bytes that were allocated in the block and are still in use."""
    @property
    def peak(self) -> int:
        """The peak of `current` in the block, in bytes."""
    @property
    def total(self) -> int:
        """All bytes that were allocated in the block."""
    @property
    def allocations(self) -> int:
        """The number of allocations in the block."""
    def __call__(self, function: _Function, /) -> _Function: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

@disjoint_base
class device_index:
    """Context manager that makes a device the current one of the context that enters it.

    Args:
        device: An index, a device or its name, with an index. None has no effect.

    Raises:
        NoAcceleratorError: No accelerator is available when the block is entered.
        DeviceError: The device has no index, or the accelerator does not have it when the block is entered.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host", devices=2)
        >>> with accelerator.device_index(1):
        ...     accelerator.current_device_index()
        1
    """
    def __new__(cls, device: _DeviceLike | None, /) -> Self: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exc_info: object) -> None: ...

@final
class HostCallback:
    """A call of a Python function to be queued on a stream."""
    def __new__(
        cls,
        stream: _CudaStream,
        function: Callable[..., object],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        uses: list[tuple[int, int, bool]],
    ) -> HostCallback: ...
    def queue(self) -> None:
        """Queue the call. The next wait for the stream reports an exception of the function.

        Raises:
            RuntimeError: The interpreter is being finalized.
        """

@final
class CallbackWorker:
    """A Python thread that runs queued calls, or is about to be started."""
    def next(self) -> Call | None:
        """Wait for a call; return None if this thread is no longer needed."""

@final
class Call:
    """A call that a worker has taken from the queue."""
    def function(self) -> tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]] | None:
        """Return the function and its arguments; None once the interpreter is about to be finalized."""
    def state(self) -> ThreadState:
        """Return the state in which the call was launched."""
    def begin(self) -> None:
        """Mark this thread as running the function, so that it cannot wait for its stream."""
    def end(self, reason: str | None, exception: BaseException | None) -> None:
        """End the call, with the reason if it failed, and with the exception that it raised."""

@final
class TraceRecorder:
    """A trace that is being recorded, for `interlock.accelerator.trace`.

    Args:
        most: The most activities that are recorded.
    """

    def __new__(cls, most: int) -> Self: ...
    def finish(self) -> tuple[list[tuple[str, str, int | None, int, str, float, float, int, int]], int]:
        """Stop and return the activities, and the number of further ones. An activity is its kind, its name, the index of its
        device or None, the number and the name of its track, its start and its duration in microseconds, the bytes that are
        allocated, and a number that a call shares with its task, or 0.
        """

@final
class RaceDetector:
    """A running detection of races. `interlock.testing.detect_races` starts and stops it.

    Args:
        poison: Whether new and freed memory is poisoned.
    """

    def __new__(cls, poison: bool) -> Self: ...
    def pending(self) -> int:
        """Return the number of tasks that have not run yet."""
    def races(self) -> list[tuple[Any, ...]]:
        """Return the races that were found: for each the two accesses, the allocation or None, the missing order, the count
        and the report. An access is its operation, its kind, its line or None, its stream or thread, whether that is a
        stream, its first address, the address after it, and its stack.
        """
    def stop(self) -> None:
        """Stop the detection."""

@disjoint_base
class FaultInjector:
    """Injects errors into the devices of a host driver, to test error handling: `accelerator.use("host", faults=faults)`.
    Each driver needs its own object.

    Methods raise `NoAcceleratorError` if no host driver was started with this object in this process. A forked child
    starts its own driver when it uses a device, which begins without faults.

    Example:
        >>> import interlock
        >>> from interlock import accelerator, testing
        >>> faults = testing.FaultInjector()
        >>> accelerator.use("host", faults=faults)
        >>> stream = interlock.Stream()
        >>> faults.fail_next_launch("injected")
        >>> accelerator.launch(stream, print, "not printed")
        >>> try:
        ...     stream.synchronize()
        ... except accelerator.AcceleratorError as error:
        ...     str(error).endswith("injected")
        True
    """
    def __new__(cls) -> Self: ...
    def inject(
        self,
        operation: Literal["launch", "copy", "fill", "event", "allocation", "pinned allocation"]
        | None = None,
        *,
        error: str | None = None,
        sticky: bool = False,
        delay: float | None = None,
        never: bool = False,
        name: str | None = None,
        device: _DeviceLike | None = None,
        stream: _CudaStream | int | None = None,
        number: int = 1,
        times: int | None = 1,
        probability: float | None = None,
        seed: int = 0,
    ) -> None:
        """Inject a fault: a rule that says which operations it matches, which of the matches it affects, and what happens.

        Operations are counted when they are queued, also if they are queued by interlock itself, and those of a graph when
        it is replayed. Each fault counts for itself. At most one fault fails an operation: another one whose turn it is
        fails the next match. Without `delay` and `never`, the operation fails.

        Args:
            operation: The kind of operation: "launch" (a function, also a kernel of a tensor), "copy", "fill", "event" (a
                record), "allocation" or "pinned allocation" (by the driver). None matches functions, copies and fills.
            error: The text at the end of the `AcceleratorError` that the next wait raises; "injected" by default. An
                allocation raises `OutOfMemoryError` instead, after the driver was called again.
            sticky: Whether the failure breaks the device for the rest of the process, as a sticky error of CUDA does:
                every later call that uses it raises `DeviceLostError`, like `lose_device`.
            delay: The seconds by which the operation runs later than it could. With `times=None` a device is slow.
            never: Whether the operation, and the work behind it on its stream, does not complete before `clear`.
            name: The name of a function or a kernel, in which `*` stands for any text and `?` for one character. A
                function has its `__qualname__`.
            device: The device that does the work, or whose memory is allocated.
            stream: The stream, or its `native_handle`.
            number: The first match that is affected; 1 is the next.
            times: How many matches are affected, from that one on; None for all.
            probability: The probability, from 0 to 1, that each of them is affected. They are all affected by default.
            seed: The seed of these choices: the same seed gives the same choices in the order of the matches.

        Raises:
            ArgumentError: A value is not accepted, or no operation could match.
            DeviceError: The driver does not have the device.

        Example:
            >>> import interlock
            >>> from interlock import accelerator, testing
            >>> faults = testing.FaultInjector()
            >>> accelerator.use("host", faults=faults)
            >>> stream, seen = interlock.Stream(), []
            >>> faults.inject("launch", name="*append", number=2, error="a cable came loose")
            >>> for value in range(3):
            ...     accelerator.launch(stream, seen.append, value)
            >>> try:
            ...     stream.synchronize()
            ... except accelerator.AcceleratorError as error:
            ...     print(error)
            list.append failed on host:0: a cable came loose
            >>> seen
            [0, 2]
        """
    def _inject_all(self, faults: list[Fault]) -> None:
        """Inject all of several faults, which are dicts of the arguments of `inject`, or none. An error has the index of its
        fault as a note.
        """
    def pending(self) -> list[dict[str, Any]]:
        """Return the faults that are still to occur, or may occur again, in the order in which they were injected.

        Returns:
            For each a dict of the arguments of `inject` that differ from their defaults, with `matched` and `fired`: how
            many operations it has matched and affected. Devices are names, and streams their `native_handle`.

        Example:
            >>> from interlock import accelerator, testing
            >>> faults = testing.FaultInjector()
            >>> accelerator.use("host", faults=faults)
            >>> faults.inject("fill", error="bad cell", device=0, number=2)
            >>> _ = accelerator.memory.Buffer(8).fill_(0)
            >>> for fault in faults.pending():
            ...     print(fault)
            {'operation': 'fill', 'error': 'bad cell', 'device': 'host:0', 'number': 2, 'matched': 1, 'fired': 0}
        """
    def injected(self) -> list[dict[str, Any]]:
        """Return all faults that were injected since the last `clear`, in their order, also those that have occurred.

        Returns:
            For each a dict of the arguments of `inject` that differ from their defaults: `testing.Scenario` repeats them.

        Example:
            >>> from interlock import accelerator, testing
            >>> faults = testing.FaultInjector()
            >>> accelerator.use("host", faults=faults)
            >>> faults.fail_next_copy("bus error")
            >>> faults.injected()
            [{'operation': 'copy', 'error': 'bus error'}]
        """
    def clear(self) -> None:
        """Remove all faults. Work that they delay runs, and work that they keep from completing completes. Lost devices
        remain lost, and paused copies paused.
        """
    def fail_allocation(self, number: int, times: int = 1) -> None:
        """Make later allocations of device memory by the driver fail. Each call adds a fault.

        A request that no cached block serves calls the driver, and calls it again after the allocator has released its
        cache. So `times=1` only tests the release. With `times=2` the request fails: the callbacks of
        `accelerator.memory.on_oom` run, and `OutOfMemoryError` is raised unless one of them requests a retry.

        Args:
            number: The first allocation that fails; 1 is the next one.
            times: How many consecutive allocations fail.

        Raises:
            ArgumentError: `number` or `times` is less than 1.

        Example:
            >>> from interlock import accelerator, testing
            >>> faults = testing.FaultInjector()
            >>> accelerator.use("host", faults=faults)
            >>> faults.fail_allocation(1, times=2)
            >>> with accelerator.memory.on_oom(lambda error: True):
            ...     accelerator.memory.Buffer(8)
            interlock.accelerator.memory.Buffer(8, device='host:0')
        """
    def fail_pinned_allocation(self, number: int, times: int = 1) -> None:
        """Make later allocations of pinned memory by the driver fail, like `fail_allocation`. The cache of pinned memory is
        released and the driver called again before an error is raised.

        Args:
            number: The first allocation that fails; 1 is the next one.
            times: How many consecutive allocations fail.

        Raises:
            ArgumentError: `number` or `times` is less than 1.
        """
    def fail_next_launch(self, reason: str) -> None:
        """Make the next function that `accelerator.launch` queues fail instead of running. The error is reported
        asynchronously. Each call adds one failure. A kernel of a tensor on a device counts as a function, and functions
        in a graph count when the graph is replayed.

        Args:
            reason: The text at the end of the `AcceleratorError`.
        """
    def fail_next_copy(self, reason: str) -> None:
        """Make the next copy fail, like `fail_next_launch`.

        Args:
            reason: The text at the end of the `AcceleratorError`.
        """
    def fail_next_fill(self, reason: str) -> None:
        """Make the next fill fail, like `fail_next_launch`.

        Args:
            reason: The text at the end of the `AcceleratorError`.
        """
    def lose_device(self, device: _DeviceLike, reason: str) -> None:
        """Lose a device: every later call that uses it, and every wait for its queued work, raises `DeviceLostError`. That
        includes allocations that the cache could serve. An `Event` uses its device when it is recorded first.

        Args:
            device: An index, a device or its name, with an index.
            reason: The text at the end of the `DeviceLostError`.

        Raises:
            DeviceError: The driver does not have the device.
        """
    def pause_copies(self) -> PausedCopies:
        """Pause copies on all devices of the driver: none begins until the returned object is released.

        Returns:
            A context manager that ends the pause. While several of them exist, copies remain paused.
        """
    def live_objects(self, *, internal: bool = False) -> dict[str, int]:
        """Return the number of objects that the program holds on the devices, for tests of leaks.

        Collect garbage and synchronize the devices first: unreachable objects are alive until the garbage collector runs,
        and queued work holds its memory.

        Args:
            internal: Whether to count all objects of the driver, also what interlock owns: pooled streams, events of
                the allocators, cached memory, streams of graphs and worker threads. None of these is a leak of the
                program.

        Returns:
            A dict with `streams` (dedicated ones), `events` (recorded ones), `graphs`, `executables` (instantiated
            graphs), `captures`, `commands` (queued work), `bytes` of the devices and `pinned_bytes`, both as the
            allocator rounds them. With `internal` also `replay_streams` (internal streams of graphs) and `threads`.

        Example:
            >>> import interlock
            >>> from interlock import accelerator, testing
            >>> faults = testing.FaultInjector()
            >>> accelerator.use("host", faults=faults)
            >>> pooled, dedicated = interlock.Stream(), interlock.Stream(dedicated=True)
            >>> [faults.live_objects(internal=internal)["streams"] for internal in (False, True)]
            [1, 2]
        """

@final
class PausedCopies:
    """A pause of copies, as `FaultInjector.pause_copies` returns it. `with paused:` releases it at the end of the block."""
    def step(self) -> bool:
        """Let one copy begin that waits only for the pause. To be sure that a copy waits only for the pause, first
        synchronize an event that was recorded before it.

        Returns:
            Whether a copy began; False if none waits only for the pause, or the pause was released.
        """
    @property
    def is_active(self) -> bool:
        """Whether the pause was not released."""

    def release(self) -> None:
        """Release the pause. Copies begin again unless another pause exists."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

def use(
    name: str,
    *,
    devices: int | None = None,
    memory: int | None = None,
    faults: FaultInjector | None = None,
) -> None:
    """Select the driver of this process. The driver is fixed when a device is used first.

    Args:
        name: "host" for devices that run on threads of the CPU, "host:N" for N of them, "cuda", the name of a driver
            that the embedding program has registered, or "none".
        devices: The number of devices, only for "host". None means 1.
        memory: The bytes of memory of each device, only for "host". None means 4 GiB.
        faults: Injects errors for tests, only for "host".

    Raises:
        DriverInUseError: A device has been used.
        DeviceError: The name is unknown.
        ArgumentError: A number is out of range.
        TypeError: `devices`, `memory` or `faults` was passed for another driver than "host".

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host", devices=2, memory=1 << 30)
        >>> accelerator.device_count()
        2
    """

def current_accelerator(check_available: bool = False) -> device | None:
    """Return the accelerator of this process as a device without an index, or None. Does not fix the driver.

    Args:
        check_available: Whether to return None for a driver that was selected but has no device.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> accelerator.current_accelerator()
        device(type='host')
    """

def is_available() -> bool:
    """Return whether an accelerator with at least one device is available. Does not fix the driver."""

def device_count() -> int:
    """Return the number of devices of the accelerator, 0 if there is none. Does not fix the driver."""

def unavailable_reason() -> str | None:
    """Return the reason why no accelerator with a device is available, in one sentence; None if one is."""

def current_device_index() -> int:
    """Return the index of the current device of this context, 0 unless another device was made current.

    Raises:
        NoAcceleratorError: No accelerator is available.
    """

def set_device_index(device: _DeviceLike, /) -> None:
    """Make a device the current one, until the innermost open scope that sets it is exited; without one, for the context.

    Args:
        device: The device, which must have an index.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.
        AcceleratorError: Another device has a context of CUDA, and `TORCH_CUDA_CHECK_STRAY_CONTEXT` is "error".
    """

def current_stream(device: _DeviceLike | None = None, /) -> Stream:
    """Return the current stream of a device in this context, its default stream unless another one was made current.

    Args:
        device: The device. None, or a device without an index, means the current device.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.
    """

def set_stream(stream: _CudaStream) -> None:
    """Make a stream the current one of its device, and that device the current one; each until the
    innermost open scope that sets it is exited. `with stream:` limits it to a block.

    Args:
        stream: A `Stream`, or an object with `__cuda_stream__`.

    Raises:
        TypeError: `stream` is not a stream.
    """

def synchronize(device: _DeviceLike | None = None, /) -> None:
    """Wait for all work that is queued on a device. Ctrl-C interrupts the wait.

    Args:
        device: The device. None, or a device without an index, means the current device.

    Raises:
        AcceleratorError: Queued work has failed, and the error was not reported yet.
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.
    """

def stream_priority_range(device: _DeviceLike | None = None, /) -> tuple[int, int]:
    """Return the range of stream priorities of a device.

    Args:
        device: The device. None, or a device without an index, means the current device.

    Returns:
        The least priority, which is the largest number, and the greatest priority, which is the smallest number.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.
    """

def device_name(device: _DeviceLike | None = None, /) -> str:
    """Return the name of a device, as its driver reports it.

    Args:
        device: The device. None, or a device without an index, means the current device.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.
    """

def check_device_of_capability(device: _DeviceLike | None = None, /) -> None:
    """Check the device of `get_device_capability`, whose result is the same for every device."""

def properties(device: _DeviceLike | None = None, /) -> dict[str, Any]:
    """Return the properties of a device as a dict."""

def get_memory_info(device_index: _DeviceLike | None = None, /) -> tuple[int, int]:
    """Return the free and the total memory of a device in bytes, as its driver reports them.

    Args:
        device_index: The device. None, or a device without an index, means the current device.

    Returns:
        The free and the total bytes. Memory that the caching allocator has reserved is not free.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.
    """

def get_default_device() -> device:
    """Return the device on which tensors are created unless one is passed: the CPU unless another one was set. For a
    device without an index, the result has the index of the current device.
    """

def set_default_device(device: _DeviceLike | None) -> None:
    """Set the device on which tensors are created unless one is passed, until the innermost open scope that sets
    it is exited.

    Args:
        device: A device, its name, or an index on the accelerator. None means the CPU. The device is not checked to
            exist.

    Raises:
        DeviceError: The text is not the name of a device.
        NoAcceleratorError: An index was passed and no accelerator is available.
    """

def worker_if_needed() -> CallbackWorker | None:
    """Return a worker that the caller starts a thread for, or None if enough of them are idle."""

def park_if_finalizing() -> None:
    """Park this thread if the interpreter, which no longer starts threads, is finalized within a moment."""

def copy_(
    destination: _Bytes,
    source: _Bytes,
    *,
    non_blocking: bool = False,
    stream: _CudaStream | None = None,
) -> None:
    """Copy all bytes of `source` to `destination`. At least one of them is a `Buffer`; the other may be an object with the
    buffer protocol.

    Args:
        destination: The object to write to, with the same size as `source`.
        source: The object to read from.
        non_blocking: Whether to return before the copy is done. The bytes must not be used until the stream has run it.
        stream: The stream of the copy, on the device of a buffer. None means the current stream of the buffer's device;
            between two devices the current stream of the source's device, which is synchronized with that of the
            destination's device.

    Raises:
        ArgumentError: The sizes differ, or no operand is a `Buffer`.
        DeviceError: The stream is on another device.
        TypeError: An operand does not support the buffer protocol, or contains object references.
        BufferError: An operand is not contiguous, or the destination is read-only.
        BufferClosedError: A `Buffer` was closed.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> buffer, result = accelerator.memory.Buffer(4), bytearray(4)
        >>> accelerator.memory.copy_(buffer, b"abcd")
        >>> accelerator.memory.copy_(result, buffer)
        >>> result
        bytearray(b'abcd')
    """

def empty_host_cache() -> None:
    """Release cached pinned memory that neither the program nor queued work uses. Does not wait for queued work. Has no
    effect before an accelerator is used.
    """

def host_memory_stats() -> dict[str, int]:
    """Return the statistics of pinned memory as a dict, sorted by name. All are 0 before an accelerator is used.

    `allocations` counts blocks in use or cached, `active_requests` blocks in use by the program or by queued work;
    `allocated_bytes` and `active_bytes` are their bytes after rounding. Each has `.current`, `.peak`, `.allocated` (the
    sum of increases) and `.freed` (the sum of decreases). `num_host_alloc` and `num_host_free` count the blocks that
    the driver allocated and released. `host_alloc_time` and `host_free_time` are the durations of these calls in
    microseconds: `.total`, `.max`, `.min`, `.count` and `.avg`.
    """

def reset_peak_host_memory_stats() -> None:
    """Set every `.peak` of `host_memory_stats` to the current amount, and every `.max` and `.min` to 0."""

def reset_accumulated_host_memory_stats() -> None:
    """Set every `.allocated`, `.freed`, `.total` and `.count` of `host_memory_stats` to 0, and `num_host_alloc` and
    `num_host_free`.
    """

def snapshot(
    device: _DeviceLike | None,
) -> tuple[list[Segment], list[list[TraceEntry]], list[HostSegment], list[TraceEntry]]:
    """Return the segments and the traces of all devices, or of one device, and the blocks and the trace of pinned memory."""

def snapshot_to_dump(
    device: _DeviceLike | None,
) -> tuple[list[Segment], list[list[TraceEntry]], list[HostSegment], list[TraceEntry]]:
    """Return the lists of `dump_snapshot`, as `snapshot` does."""

def generate_graph_pool_handle() -> tuple[int, int]:
    """Return the id of a new memory pool, which graphs share that get it as their `pool`.

    The name is proposed for PyTorch, whose function for CUDA is `graph_pool_handle`.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> pool = accelerator.generate_graph_pool_handle()
        >>> graphs = [accelerator.Graph(pool=pool) for _ in range(2)]
        >>> pool == accelerator.generate_graph_pool_handle()
        False
    """

def annotate(memory: Buffer | Tensor, annotation: str, /) -> None:
    """Describe memory that is in use, in the history: an event "annotate" with the text and the caller's stack.

    Has no effect while no history is recorded.

    Args:
        memory: A buffer, or a tensor on a device. A part of memory describes all of its block.
        annotation: The text. It is the `user_metadata` of the event, which PyTorch's viewer shows.

    Raises:
        TypeError: `memory` is neither a buffer nor a tensor, or `annotation` is not a str.
        ArgumentError: `memory` is a tensor of the CPU.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> with accelerator.memory.history():
        ...     buffer = accelerator.memory.Buffer(1000)
        ...     accelerator.memory.annotate(buffer, "weights of the encoder")
        >>> entries = accelerator.memory.snapshot()["device_traces"][0]
        >>> entries[-1]["user_metadata"]
        'weights of the encoder'
    """

def _active_recording() -> int | None:
    """Return a number for the recording of the process, which no other one has; None if nothing is recorded."""

def _stop_recording() -> None:
    """Stop the recording of the process, whichever code has begun it."""

def checked_max_events(max_events: object) -> int:
    """Return the argument `max_events` of a trace as an int, or raise."""

def replay(snapshot: Snapshot | Mapping[str, Any], device: _DeviceLike | None) -> dict[str, int]:
    """Repeat on a device the allocations and frees of its trace in a snapshot; return the statistics."""

def fill_(buffer: Buffer, value: int, *, stream: _CudaStream | None = None) -> None:
    """Queue a fill of every byte of a `Buffer` with `value`.

    Args:
        buffer: The buffer.
        value: The byte, from 0 to 255.
        stream: The stream. None means the current stream of the buffer's device.

    Raises:
        ArgumentError: The value is out of range.
        DeviceError: The stream is on another device.
        BufferClosedError: The buffer was closed.
    """

def allocator_keys() -> list[AllocatorKey]:
    """Return a dict for each key, with its default, accepted values, effect and documentation."""

def parse_config(text: str, caller: str) -> dict[str, Any]:
    """Parse a configuration in PyTorch's text format into fields. Errors name the caller."""

def checked_config(given: dict[str, Any]) -> dict[str, Any]:
    """Validate fields and return them with converted values."""

def config_text(given: dict[str, Any]) -> str:
    """Return fields in PyTorch's text format."""

def get_config() -> dict[str, Any]:
    """Return the fields of the active configuration."""

def set_config(given: dict[str, Any]) -> None:
    """Make fields the active configuration."""

def _program_config() -> dict[str, Any] | None:
    """Return the fields of the configuration that the program has set; None if it has set none."""

def _unset_config() -> None:
    """End the configuration that the program has set: the environment is read at the next use."""

def config_report() -> list[
    tuple[str, Any, bool, str, Literal["now", "on new segments", "never"], str | None]
]:
    """Return a tuple for each key: its name, its value, whether that is the default, the source of the value, when it
    applies, and the reason if it never applies.
    """

def empty_cache() -> None:
    """Release the unused cached memory of all devices to the driver, after waiting for the work that is queued now. Ctrl-C
    interrupts the wait. Has no effect while a graph is captured, and before a device is used.
    """

def memory_allocated(device_index: _DeviceLike | None = None, /) -> int:
    """Return the bytes of allocated blocks on a device, after rounding; 0 before a device is used.

    Args:
        device_index: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> buffer = accelerator.memory.Buffer(1000)
        >>> accelerator.memory_allocated(), accelerator.memory_reserved()
        (1024, 2097152)
    """

def max_memory_allocated(device_index: _DeviceLike | None = None, /) -> int:
    """Return the maximum of `memory_allocated` in bytes since `reset_peak_memory_stats`.

    Args:
        device_index: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.
    """

def memory_reserved(device_index: _DeviceLike | None = None, /) -> int:
    """Return the bytes that the caching allocator has reserved on a device, allocated or cached.

    Args:
        device_index: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.
    """

def max_memory_reserved(device_index: _DeviceLike | None = None, /) -> int:
    """Return the maximum of `memory_reserved` in bytes since `reset_peak_memory_stats`.

    Args:
        device_index: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.
    """

def named_statistics(device: _DeviceLike | None) -> list[tuple[str, int]]:
    """Return the statistics of `memory_stats`, sorted by name."""

def nested_statistics(device: _DeviceLike | None) -> list[tuple[str, int]]:
    """Return the statistics of `memory_stats_as_nested_dict`, as `named_statistics` does."""

def reset_peak_memory_stats(device_index: _DeviceLike | None = None, /) -> None:
    """Set every peak of a device's `memory_stats` to the current amount.

    Args:
        device_index: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.
    """

def reset_accumulated_memory_stats(device_index: _DeviceLike | None = None, /) -> None:
    """Set the sums and counts of a device's `memory_stats` to 0.

    Args:
        device_index: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.
    """

def largest_free_block(device: _DeviceLike | None = None) -> int:
    """Return the size in bytes of the largest free block that an allocation for the current stream of a device can use
    without a call of the driver; 0 if there is none. Blocks of other streams and of other memory pools do not count:
    within `use_mem_pool` or a capture only those of its pool count.

    Args:
        device: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.
    """

def fragmentation(device: _DeviceLike | None = None) -> float:
    """Return the fragmentation of the free blocks that an allocation for the current stream of a device can use: 0.0 for at
    most one block, and close to 1.0 if the largest block is a small part of all of them.

    Args:
        device: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.
    """

def set_limit(limit: _Limit, device: _DeviceLike | None = None) -> int | None:
    """Limit the memory that this process may reserve on a device, allocated or cached. Reserved memory beyond the limit
    remains reserved.

    Args:
        limit: Bytes as an int, a fraction of the device's memory as a float from 0.0 to 1.0 or a str such as "90%", or
            None for no limit.
        device: The device. None, or a device without an index, means the current device.

    Returns:
        The previous limit in bytes, or None.

    Raises:
        ArgumentError: The limit is negative, not a fraction from 0.0 to 1.0, or not a percentage.
        TypeError: The limit is not an int, a float, a str or None.
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host", memory=1 << 30)
        >>> accelerator.memory.set_limit("50%") is None
        True
        >>> accelerator.memory.get_limit()
        536870912
    """

def get_limit(device: _DeviceLike | None = None) -> int | None:
    """Return the limit of reserved memory on a device in bytes, or None for no limit.

    Args:
        device: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.
    """

def _limits() -> list[tuple[int | None, int | None]]:
    """Return the limits of reserved and of cached memory of each device; nothing before a driver is in use, and for an
    invalid configuration.
    """

def set_cache_limit(limit: _Limit, device: _DeviceLike | None = None) -> int | None:
    """Limit the memory that is cached on a device. Cached blocks beyond the limit are released to the driver, those that
    were freed first, after the queued work that uses them.

    Args:
        limit: The limit, as for `set_limit`.
        device: The device. None, or a device without an index, means the current device.

    Returns:
        The previous limit in bytes, or None.

    Raises:
        ArgumentError: The limit is negative, not a fraction from 0.0 to 1.0, or not a percentage.
        TypeError: The limit is not an int, a float, a str or None.
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.
    """

def get_cache_limit(device: _DeviceLike | None = None) -> int | None:
    """Return the limit of cached memory on a device in bytes, or None for no limit.

    Args:
        device: The device. None, or a device without an index, means the current device.

    Raises:
        DeviceError: The accelerator does not have the device.
    """

def on_oom(callback: Callable[[OutOfMemoryError], object], /) -> Registration:
    """Register a callback for out-of-memory errors.

    The callback runs on the allocating thread before the error is raised, and is not called for its own allocations. An
    exception of the callback is raised by the allocation, with the `OutOfMemoryError` as its context.

    Args:
        callback: Called with the `OutOfMemoryError`. Return True to retry the allocation; remaining callbacks are
            skipped.

    Returns:
        The registration. The callback is removed by its `remove` method, or at the end of a `with` block.

    Raises:
        TypeError: `callback` is not callable.

    Example:
        >>> from interlock import accelerator, errors
        >>> accelerator.use("host", memory=1 << 20)
        >>> failed = []
        >>> with accelerator.memory.on_oom(lambda error: failed.append(error.requested)):
        ...     try:
        ...         accelerator.memory.Buffer(1 << 30)
        ...     except errors.OutOfMemoryError:
        ...         print(*failed)
        1073741824
    """

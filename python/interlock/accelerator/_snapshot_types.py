"""The types of a memory snapshot, in the format of PyTorch, which its viewer reads."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from interlock._homes import set_home


class Frame(TypedDict):
    """A frame of a Python stack."""

    filename: str
    line: int
    name: str


class Block(TypedDict):
    """A block of a segment."""

    address: int
    size: int
    requested_size: int
    """Bytes that were requested; 0 for an inactive block."""
    state: Literal["active_allocated", "active_awaiting_free", "inactive"]
    """Allocated; freed but still used by queued work; free."""
    frames: list[Frame]
    """The stack of the allocation, the innermost frame first; empty if it was not recorded."""


class Segment(TypedDict):
    """A segment: memory that the allocator reserved from the driver with one call."""

    device: int
    address: int
    total_size: int
    allocated_size: int
    active_size: int
    requested_size: int
    stream: int
    segment_type: Literal["small", "large"]
    segment_pool_id: tuple[int, int]
    """The memory pool of a graph, or (0, 0)."""
    is_expandable: bool
    frames: list[Frame]
    blocks: list[Block]


class TraceEntry(TypedDict):
    """An event of the allocator."""

    action: Literal[
        "alloc",
        "free_requested",
        "free_completed",
        "segment_alloc",
        "segment_free",
        "segment_map",
        "segment_unmap",
        "snapshot",
        "oom",
        "annotate",
    ]
    addr: NotRequired[int]
    """The address; absent for "oom"."""
    device_free: NotRequired[int]
    """Free bytes of the device, as the driver reports them; only for "oom"."""
    size: int
    """Requested bytes; the size of a segment; the active bytes for "snapshot"."""
    stream: int
    time_us: int
    """Microseconds since the Unix epoch."""
    pool_id: tuple[int, int]
    cause: NotRequired[Literal["shortage", "limit", "empty_cache", "stream", "pool"]]
    """Why a segment was released: another request needed the memory, the limit on cached memory was exceeded,
    `empty_cache` was called, its stream was destroyed, or its pool was released. Also set for blocks that the
    release waited for. PyTorch does not have this key."""
    capturing: NotRequired[Literal[True]]
    """Set for "oom" during a capture, which prevents releases of memory. PyTorch does not have this key."""
    user_metadata: NotRequired[str]
    """The text of `annotate`; only for "annotate"."""
    frames: list[Frame]


class HostSegment(TypedDict):
    """A block of pinned memory."""

    address: int
    size: int
    allocated: bool
    """Whether the program uses it."""
    active: bool
    """Whether the program or queued work uses it."""
    segment_pool_id: tuple[int, int]
    """Always (0, 0)."""
    frames: list[Frame]


class Snapshot(TypedDict):
    """The segments and blocks of devices at one moment, and the recorded events."""

    segments: list[Segment]
    device_traces: list[list[TraceEntry]]
    """For each device, the oldest entry first."""
    allocator_settings: dict[str, Any]
    external_annotations: list[Any]
    """Always empty in interlock."""
    host_segments: list[HostSegment]
    """The blocks of pinned memory; empty unless `history` recorded pinned memory."""
    host_traces: list[TraceEntry]
    """The events of pinned memory, the oldest first; empty unless `history` recorded it."""


# The public module of this type.
set_home("interlock.accelerator.memory", Snapshot)

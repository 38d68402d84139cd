"""What a snapshot of memory is made of: PyTorch's format, which its viewer reads."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Frame(TypedDict):
    """A line of the program."""

    filename: str
    line: int
    name: str


class Block(TypedDict):
    """A piece of a segment."""

    address: int
    size: int
    requested_size: int
    """Bytes that were asked for; 0 of an inactive one."""
    state: Literal["active_allocated", "active_awaiting_free", "inactive"]
    """Somebody uses it; only work that is queued does; nobody does."""
    frames: list[Frame]
    """What asked for it, the innermost first; empty where that was not recorded."""


class Segment(TypedDict):
    """Memory that the driver gave at once."""

    device: int
    address: int
    total_size: int
    allocated_size: int
    active_size: int
    requested_size: int
    stream: int
    segment_type: Literal["small", "large"]
    segment_pool_id: tuple[int, int]
    """(0, 0) where it is of no graph."""
    is_expandable: bool
    frames: list[Frame]
    blocks: list[Block]


class TraceEntry(TypedDict):
    """Something that happened."""

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
    ]
    addr: NotRequired[int]
    """Where; all but "oom" have it."""
    device_free: NotRequired[int]
    """Bytes that the driver had left; only "oom" has it."""
    size: int
    """Bytes that were asked for; of a segment all, of a snapshot those that were active."""
    stream: int
    time_us: int
    """Microseconds since 1970."""
    pool_id: tuple[int, int]
    cause: NotRequired[Literal["shortage", "limit", "empty_cache", "stream", "pool"]]
    """Why a segment went back to the driver: a request could not be served otherwise, more was kept than
    may be, `empty_cache` was called, or its stream or its pool has gone. Memory that was waited for then
    has it, too. PyTorch does not tell."""
    frames: list[Frame]


class Snapshot(TypedDict):
    """The memory of devices at one moment, and what happened to it before."""

    segments: list[Segment]
    device_traces: list[list[TraceEntry]]
    """For each device, the oldest entry first."""
    allocator_settings: dict[str, Any]
    external_annotations: list[Any]
    """Always empty here."""


# The type is public there.
Snapshot.__module__ = "interlock.accelerator.memory"

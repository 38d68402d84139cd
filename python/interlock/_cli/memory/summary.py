"""Summarizes the memory of each device of a snapshot, for the terminal and for `--json`."""

from __future__ import annotations

from dataclasses import dataclass

from interlock._cli.memory.segments import SegmentUse, segments_of
from interlock._cli.memory.snapshot_file import MemoryOf, Snapshot
from interlock._cli.memory.timeline import CallSite, compute


@dataclass(frozen=True)
class SegmentFragmentation:
    """A segment with its free memory."""

    address: str
    stream: int | None
    """None for pinned memory."""
    bytes: int
    free: int
    largest_free_block: int
    fragmentation: float
    """The share of the free memory outside the largest free block."""


@dataclass(frozen=True)
class UnknownEvents:
    """The events of an action that is not known."""

    action: str
    events: int


@dataclass(frozen=True)
class DeviceSummary:
    """The memory of one device."""

    device: int | None
    """None for pinned memory."""
    events: int
    out_of_memory_errors: int
    annotations: int
    unknown_events: tuple[UnknownEvents, ...]
    """The events whose action is not known. They are counted, and not interpreted."""
    peak_event: int
    """The number of the event after which the most memory was allocated; 0 means before the first."""
    peak_allocated: int
    peak_reserved: int
    allocated: int
    """Bytes allocated at the end."""
    reserved: int
    """Bytes reserved at the end."""
    call_sites: tuple[CallSite, ...]
    """The call sites of the allocations at the peak, the largest first."""
    segments: tuple[SegmentFragmentation, ...]
    """The segments with the most free memory first."""


@dataclass(frozen=True)
class Summary:
    """The memory of all devices of a snapshot."""

    file: str
    devices: tuple[DeviceSummary, ...]


def summarize(snapshot: Snapshot, path: str) -> Summary:
    """Summarize a snapshot that was read from a file."""
    return Summary(path, tuple(_device(snapshot, device) for device in snapshot.devices()))


def _device(snapshot: Snapshot, device: MemoryOf) -> DeviceSummary:
    timeline = compute(snapshot, device)
    return DeviceSummary(
        device=device,
        events=timeline.events,
        out_of_memory_errors=timeline.errors,
        annotations=timeline.annotations,
        unknown_events=tuple(UnknownEvents(action, count) for action, count in timeline.unknown),
        peak_event=timeline.peak,
        peak_allocated=timeline.peak_allocated,
        peak_reserved=timeline.peak_reserved,
        allocated=timeline.allocated_at_end,
        reserved=timeline.reserved_at_end,
        call_sites=timeline.peak_sites,
        segments=tuple(_segment(use) for use in segments_of(snapshot, device)),
    )


def _segment(use: SegmentUse) -> SegmentFragmentation:
    segment = use.segment
    return SegmentFragmentation(
        address=hex(segment.address),
        stream=segment.stream,
        bytes=segment.size,
        free=use.free,
        largest_free_block=use.largest_free,
        fragmentation=use.fragmentation,
    )

"""Summarizes the memory of each device of a snapshot, for the terminal and for `--json`."""

from __future__ import annotations

from dataclasses import dataclass

from interlock._cli.memory.segments import SegmentUse, segments_of
from interlock._cli.memory.snapshot_file import Snapshot
from interlock._cli.memory.timeline import Timeline, compute, site_name


@dataclass(frozen=True)
class CallSite:
    """A line of a program with its live allocations at the peak."""

    call_site: str
    bytes: int
    blocks: int


@dataclass(frozen=True)
class SegmentFragmentation:
    """A segment with its free memory."""

    address: str
    stream: int
    bytes: int
    free: int
    largest_free_block: int
    fragmentation: float
    """The share of the free memory outside the largest free block."""


@dataclass(frozen=True)
class DeviceSummary:
    """The memory of one device."""

    device: int
    events: int
    out_of_memory_errors: int
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


def _device(snapshot: Snapshot, device: int) -> DeviceSummary:
    timeline = compute(snapshot, device)
    return DeviceSummary(
        device=device,
        events=len(timeline.events),
        out_of_memory_errors=sum(event.action == "oom" for event in timeline.events),
        peak_event=timeline.peak,
        peak_allocated=timeline.allocated[timeline.peak],
        peak_reserved=max(timeline.reserved),
        allocated=timeline.allocated[-1],
        reserved=timeline.reserved[-1],
        call_sites=_call_sites(timeline),
        segments=tuple(_segment(use) for use in segments_of(snapshot, device)),
    )


def _call_sites(timeline: Timeline) -> tuple[CallSite, ...]:
    sites = timeline.call_sites(timeline.peak)
    return tuple(CallSite(site_name(site.stack), site.size, site.count) for site in sites)


def _segment(use: SegmentUse) -> SegmentFragmentation:
    segment = use.segment
    return SegmentFragmentation(
        address=hex(segment.address),
        stream=segment.stream,
        bytes=segment.size,
        free=use.free,
        largest_free_block=use.largest_free,
        fragmentation=round(use.fragmentation, 4),
    )

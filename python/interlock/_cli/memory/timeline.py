"""Computes the memory of a device over its history, with the blocks of the snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from interlock._cli.memory.history import Allocation, Mark, Usage
from interlock._cli.memory.snapshot_file import FREE, MemoryOf, Snapshot


@dataclass(frozen=True)
class CallSite:
    """The allocations that one line of a program made, and that are live at the same time."""

    call_site: str
    bytes: int
    blocks: int


@dataclass(frozen=True)
class Timeline:
    """The memory of one device before the first event, and after each event."""

    device: MemoryOf
    events: int
    interval: int
    """The number of positions that each point stands for: the maximum of them."""
    allocated: tuple[int, ...]
    """Allocated bytes at each point."""
    reserved: tuple[int, ...]
    """Reserved bytes at each point."""
    times: tuple[int, ...] | None
    """Microseconds from the first event to the event at each point; None without times."""
    peak: int
    """The position with the most allocated memory; the first of several."""
    peak_allocated: int
    peak_reserved: int
    allocated_at_end: int
    reserved_at_end: int
    peak_sites: tuple[CallSite, ...]
    """The call sites of the allocations that are live at the peak, the largest first."""
    largest: tuple[Allocation, ...]
    """The largest allocations."""
    allocations: int
    """The number of all allocations."""
    errors: int
    """The number of out-of-memory errors."""
    error_marks: tuple[Mark, ...]
    annotations: int
    """The number of annotations."""
    annotation_marks: tuple[Mark, ...]
    unknown: tuple[tuple[str, int], ...]
    """The actions of events that are not known, and the number of each."""


def compute(snapshot: Snapshot, device: MemoryOf) -> Timeline:
    """Compute the timeline of a device of a snapshot."""
    history = snapshot.history(device)
    segments = [segment for segment in snapshot.segments if segment.device == device]
    largest = history.largest.copy()
    at_peak = Usage()
    for site, (size, count) in history.current.sites.items():
        at_peak.add(site, size, count)
    for site, (size, count) in history.since_peak.sites.items():
        at_peak.add(site, -size, -count)
    before = history.freed_from_before
    for segment in segments:
        for block in segment.blocks:
            if block.state != FREE and block.address not in history.live:
                largest.add(Allocation(block.address, block.requested, segment.stream or 0, block.stack, 0))
                at_peak.add(block.stack.site, block.requested, 1)
                before += block.requested
    reserved_before = max(0, sum(segment.size for segment in segments) - history.reserved)
    points = history.points
    return Timeline(
        device=device,
        events=history.events,
        interval=points.interval,
        allocated=tuple(before + allocated for allocated in points.allocated),
        reserved=tuple(reserved_before + reserved for reserved in points.reserved),
        times=_times(points.times) if history.has_times else None,
        peak=history.peak,
        peak_allocated=before + history.peak_allocated,
        peak_reserved=reserved_before + history.peak_reserved,
        allocated_at_end=before + history.allocated,
        reserved_at_end=reserved_before + history.reserved,
        peak_sites=sites(at_peak),
        largest=tuple(largest.allocations()),
        allocations=largest.added,
        errors=history.errors,
        error_marks=tuple(history.error_marks),
        annotations=history.annotations,
        annotation_marks=tuple(history.annotation_marks),
        unknown=tuple(sorted(history.unknown.items())),
    )


def sites(usage: Usage) -> tuple[CallSite, ...]:
    """Return the call sites that have blocks, the largest first."""
    found = (CallSite(site, size, count) for site, (size, count) in usage.sites.items() if count > 0)
    return tuple(sorted(found, key=lambda site: -site.bytes))


def _times(times: list[int | None]) -> tuple[int, ...] | None:
    known = [time for time in times if time is not None]
    return tuple(time - known[0] for time in known) if known else None


@dataclass(frozen=True)
class Band:
    """The place of a large allocation in the stacked timeline.

    A band keeps its height. It moves down whenever a band below it ends.
    """

    allocation: Allocation
    steps: tuple[tuple[int, int], ...]
    """Positions with the offset of the lower edge, in bytes, from there on."""


def stack_bands(largest: tuple[Allocation, ...]) -> list[Band]:
    """Stack allocations above each other, the oldest at the bottom."""
    steps: dict[int, list[tuple[int, int]]] = {}
    stacked: list[int] = []
    top = 0
    for position, index, begins in _changes(largest):
        size = largest[index].size
        if begins:
            steps[index] = [(position, top)]
            stacked.append(index)
            top += size
            continue
        place = stacked.index(index)
        del stacked[place]
        top -= size
        for above in stacked[place:]:
            steps[above].append((position, steps[above][-1][1] - size))
    return [Band(largest[index], tuple(places)) for index, places in sorted(steps.items())]


def _changes(allocations: tuple[Allocation, ...]) -> Iterator[tuple[int, int, bool]]:
    """Yield position, index and whether the allocation begins; at one position, ends come first."""
    changes = [(allocation.start, True, index) for index, allocation in enumerate(allocations)]
    changes += [
        (allocation.end, False, index)
        for index, allocation in enumerate(allocations)
        if allocation.end is not None
    ]
    for position, begins, index in sorted(changes):
        yield position, index, begins

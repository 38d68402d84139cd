"""Computes the allocated memory of a device over the recorded events.

A history may begin after memory was allocated. A block that the history frees without an allocation, and a
block of the snapshot that no event mentions, was therefore allocated before the first event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from interlock._cli.memory.snapshot_file import FREE, Event, Segment, Snapshot, Stack

_FREE_COMPLETED = ("free_completed", "free")
_RESERVE = ("segment_alloc", "segment_map")
_RELEASE = ("segment_free", "segment_unmap")


@dataclass
class Allocation:
    """A block from its allocation to the completion of its release.

    Positions count events: 0 is before the first event, and `n` is after the n-th.
    """

    address: int
    size: int
    """Requested bytes."""
    stream: int
    stack: Stack
    start: int
    end: int | None = None
    """The position at which the block was freed; None if it is still allocated."""

    def is_live(self, position: int) -> bool:
        """Return whether the block is allocated at a position."""
        return self.start <= position and (self.end is None or position < self.end)


@dataclass(frozen=True)
class CallSite:
    """The allocations that one line of a program made, and that are live at the same time."""

    stack: Stack
    size: int
    count: int


@dataclass(frozen=True)
class Timeline:
    """The memory of one device before the first event, and after each event."""

    device: int
    events: tuple[Event, ...]
    allocations: tuple[Allocation, ...]
    allocated: tuple[int, ...]
    """Allocated bytes at each position."""
    reserved: tuple[int, ...]
    """Reserved bytes at each position."""

    @property
    def peak(self) -> int:
        """The position with the most allocated memory; the first of several."""
        return self.allocated.index(max(self.allocated))

    def live(self, position: int) -> list[Allocation]:
        """Return the allocations that are live at a position."""
        return [allocation for allocation in self.allocations if allocation.is_live(position)]

    def call_sites(self, position: int) -> list[CallSite]:
        """Return the call sites of the allocations that are live at a position, the largest first."""
        by_site: dict[str, list[Allocation]] = {}
        for allocation in self.live(position):
            by_site.setdefault(site_name(allocation.stack), []).append(allocation)
        sites = [
            CallSite(made[0].stack, sum(each.size for each in made), len(made)) for made in by_site.values()
        ]
        return sorted(sites, key=lambda site: -site.size)


def site_name(stack: Stack) -> str:
    """Return the innermost frame of a stack as text: the line that allocated."""
    return str(stack[0]) if stack else "(no stack was recorded)"


def compute(snapshot: Snapshot, device: int) -> Timeline:
    """Compute the timeline of a device of a snapshot."""
    events = snapshot.traces[device] if device < len(snapshot.traces) else ()
    segments = [segment for segment in snapshot.segments if segment.device == device]
    allocations = _allocations(events, segments)
    return Timeline(
        device, events, tuple(allocations), _allocated(allocations, len(events)), _reserved(events, segments)
    )


def _allocations(events: tuple[Event, ...], segments: list[Segment]) -> list[Allocation]:
    allocations: list[Allocation] = []
    live: dict[int, Allocation] = {}
    for position, event in enumerate(events, start=1):
        if event.action == "alloc":
            replaced = live.get(event.address)
            if replaced is not None:
                # Its release is missing in the history.
                replaced.end = position
            made = Allocation(event.address, event.size, event.stream, event.stack, position)
            live[event.address] = made
            allocations.append(made)
        elif event.action in _FREE_COMPLETED:
            freed = live.pop(event.address, None)
            if freed is None:
                # The stack of this event is the stack of the release.
                freed = Allocation(event.address, event.size, event.stream, (), 0)
                allocations.append(freed)
            freed.end = position
    mentioned = live.keys()
    for segment in segments:
        for block in segment.blocks:
            if block.state != FREE and block.address not in mentioned:
                made = Allocation(block.address, block.requested, segment.stream, block.stack, 0)
                allocations.append(made)
    return allocations


def _allocated(allocations: list[Allocation], events: int) -> tuple[int, ...]:
    changes = [0] * (events + 1)
    for allocation in allocations:
        changes[allocation.start] += allocation.size
        if allocation.end is not None:
            changes[allocation.end] -= allocation.size
    return tuple(accumulate(changes))


def _reserved(events: tuple[Event, ...], segments: list[Segment]) -> tuple[int, ...]:
    """Return the reserved bytes at each position: those of the snapshot, with the events taken back."""
    changes = [_reserved_by(event) for event in events]
    before = sum(segment.size for segment in segments) - sum(changes)
    return tuple(accumulate(changes, initial=max(0, before)))


def _reserved_by(event: Event) -> int:
    if event.action in _RESERVE:
        return event.size
    return -event.size if event.action in _RELEASE else 0


@dataclass(frozen=True)
class Band:
    """The place of a large allocation in the stacked timeline.

    A band keeps its height. It moves down whenever a band below it ends.
    """

    allocation: Allocation
    steps: tuple[tuple[int, int], ...]
    """Positions with the offset of the lower edge, in bytes, from there on."""


def stack_bands(timeline: Timeline, count: int) -> list[Band]:
    """Stack the `count` largest allocations above each other, the oldest at the bottom."""
    largest = sorted(timeline.allocations, key=lambda allocation: -allocation.size)[:count]
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


def _changes(allocations: list[Allocation]) -> Iterator[tuple[int, int, bool]]:
    """Yield position, index and whether the allocation begins; at one position, ends come first."""
    changes = [(allocation.start, True, index) for index, allocation in enumerate(allocations)]
    changes += [
        (allocation.end, False, index)
        for index, allocation in enumerate(allocations)
        if allocation.end is not None
    ]
    for position, begins, index in sorted(changes):
        yield position, index, begins

"""The history of a device: what a timeline shows of its events, which are not kept.

A history may begin after memory was allocated. A block that the history frees without an allocation, and a
block of the snapshot that no event mentions, was therefore allocated before the first event. Such blocks are
known at the end only, but until they are freed they add the same number of bytes to every moment. So the
bytes at each moment are counted from 0 here, and `timeline.compute` adds those from before.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

# A browser draws this many quickly.
MAX_POINTS = 20_000
MAX_BANDS = 1_000
MAX_MARKS = 200

_FREE_COMPLETED = ("free_completed", "free")
_RESERVE = ("segment_alloc", "segment_map")
_RELEASE = ("segment_free", "segment_unmap")
_ANNOTATIONS = ("annotate", "user_defined")
_OTHERS = ("free_requested", "snapshot", "oom", *_ANNOTATIONS)
SIZED = frozenset(("alloc", "free_requested", *_FREE_COMPLETED, *_RESERVE, *_RELEASE))
"""The actions of events that say how many bytes are used."""
KNOWN = SIZED.union(_OTHERS)
"""The actions of events that are interpreted."""


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A frame of a recorded stack."""

    filename: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.filename}:{self.line} {self.function}"


class Stack:
    """The frames of a recorded stack, the innermost first; empty if none was recorded."""

    __slots__ = ("frames", "site")

    def __init__(self, frames: tuple[Frame, ...]) -> None:
        self.frames = frames
        self.site = str(frames[0]) if frames else "(no stack was recorded)"
        """The call site: the line that allocated."""


class Event(NamedTuple):
    """An event of the allocator."""

    action: str
    address: int
    """0 if the event has none."""
    size: int
    stream: int
    time_us: int | None
    """Microseconds since the Unix epoch; older versions of PyTorch do not record it."""
    stack: Stack
    text: str | None = None
    """The text of an annotation, or what an out-of-memory error reports."""


@dataclass(slots=True)
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
class Mark:
    """An event that the page marks: an out-of-memory error or an annotation."""

    position: int
    size: int
    text: str | None


class Largest:
    """The largest allocations; of equal ones the first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Allocation]] = []
        self.added = 0
        """The number of all allocations."""

    def add(self, allocation: Allocation) -> None:
        """Keep an allocation if it is among the largest so far."""
        heap, size = self._heap, allocation.size
        self.added += 1
        if len(heap) < MAX_BANDS:
            heapq.heappush(heap, (size, -self.added, allocation))
        elif size > heap[0][0]:
            heapq.heapreplace(heap, (size, -self.added, allocation))

    def allocations(self) -> list[Allocation]:
        """Return the largest allocations, the first at the front."""
        return [allocation for _, _, allocation in sorted(self._heap, reverse=True)]

    def copy(self) -> Largest:
        """Return a copy to which more can be added."""
        copied = Largest()
        copied._heap, copied.added = list(self._heap), self.added
        return copied


class Usage:
    """Bytes and blocks by call site."""

    __slots__ = ("sites",)

    def __init__(self) -> None:
        self.sites: dict[str, list[int]] = {}

    def add(self, site: str, size: int, count: int) -> None:
        """Add to a call site; negative numbers subtract."""
        entry = self.sites.get(site)
        if entry is None:
            self.sites[site] = [size, count]
        else:
            entry[0] += size
            entry[1] += count


class Points:
    """The maximum of the allocated and of the reserved bytes in each of at most `MAX_POINTS` intervals."""

    def __init__(self) -> None:
        self.interval = 1
        self.allocated = [0]
        self.reserved = [0]
        self.times: list[int | None] = [None]
        """The time of the first event of each interval; at position 0, the time of the first event of all."""

    def add(self, position: int, allocated: int, reserved: int, time_us: int | None) -> None:
        """Add the bytes after the event at a position, which is one more than the previous one."""
        index = position // self.interval
        if index < len(self.allocated):
            if allocated > self.allocated[index]:
                self.allocated[index] = allocated
            if reserved > self.reserved[index]:
                self.reserved[index] = reserved
            return
        if index == MAX_POINTS:
            # Half as many intervals, each twice as long.
            self.interval *= 2
            for values in (self.allocated, self.reserved):
                values[:] = map(max, values[::2], values[1::2])
            self.times = self.times[::2]
            self.add(position, allocated, reserved, time_us)
            return
        self.allocated.append(allocated)
        self.reserved.append(reserved)
        self.times.append(time_us)


class History:
    """The events of one device."""

    def __init__(self) -> None:
        self.events = 0
        self.errors = 0
        """The number of out-of-memory errors."""
        self.error_marks: list[Mark] = []
        """The first of the out-of-memory errors."""
        self.annotations = 0
        """The number of annotations."""
        self.annotation_marks: list[Mark] = []
        """The first of the annotations."""
        self.unknown: Counter[str] = Counter()
        """The number of events of each action that is not known."""
        self.has_times = True
        self.points = Points()
        self.live: dict[int, Allocation] = {}
        """The allocations that are not freed, by address."""
        self.largest = Largest()
        self.current = Usage()
        """The allocations that are not freed, by call site."""
        self.since_peak = Usage()
        """How the call sites have changed since the peak."""
        self.peak = 0
        """The position with the most allocated bytes; the first of several."""
        self.peak_allocated = 0
        """The bytes at the peak, without those from before the first event."""
        self.peak_reserved = 0
        self.allocated = 0
        self.reserved = 0
        self.freed_from_before = 0
        """The bytes of blocks from before the first event that were freed."""

    def add(self, event: Event) -> None:
        """Add the next event."""
        action, address, size, stream, time_us, stack, _ = event
        self.events = position = self.events + 1
        if action == "alloc":
            replaced = self.live.get(address)
            if replaced is not None:
                # Its release is missing in the history.
                self._end(replaced, position)
            made = Allocation(address, size, stream, stack, position)
            self.live[address] = made
            self.largest.add(made)
            self._change(stack.site, size, 1)
        elif action in _FREE_COMPLETED:
            freed = self.live.pop(address, None)
            if freed is None:
                # The stack of this event is the stack of the release.
                freed = Allocation(address, size, stream, Stack(()), 0)
                self.largest.add(freed)
                self.freed_from_before += size
                self.current.add(freed.stack.site, size, 1)
            self._end(freed, position)
        elif action in _RESERVE:
            self.reserved += size
            self.peak_reserved = max(self.peak_reserved, self.reserved)
        elif action in _RELEASE:
            self.reserved -= size
        else:
            self._mark(event)
        if self.allocated > self.peak_allocated:
            self.peak, self.peak_allocated = position, self.allocated
            self.since_peak.sites.clear()
        if time_us is None:
            self.has_times = False
        elif position == 1:
            self.points.times[0] = time_us
        self.points.add(position, self.allocated, self.reserved, time_us)

    def add_annotations(self, annotations: Iterable[tuple[int, str]]) -> None:
        """Add the times and texts of annotations that the file has beside the events, after all events.

        Each is marked at the last event before it, or in a long history at the start of the interval of that
        event. Without times of events there is no place for them.
        """
        times = [time for time in self.points.times if time is not None]
        if not self.has_times or not times:
            return
        marks = self.annotation_marks
        for time_us, text in annotations:
            self.annotations += 1
            index = bisect_right(times, time_us) - 1
            marks.append(Mark(max(0, index) * self.points.interval, 0, text))
        marks.sort(key=lambda mark: mark.position)
        del marks[MAX_MARKS:]

    def _end(self, allocation: Allocation, position: int) -> None:
        allocation.end = position
        self._change(allocation.stack.site, -allocation.size, -1)

    def _change(self, site: str, size: int, count: int) -> None:
        self.allocated += size
        self.current.add(site, size, count)
        self.since_peak.add(site, size, count)

    def _mark(self, event: Event) -> None:
        if event.action == "oom":
            self.errors += 1
            if len(self.error_marks) < MAX_MARKS:
                self.error_marks.append(Mark(self.events, event.size, event.text))
        elif event.action in _ANNOTATIONS:
            self.annotations += 1
            if len(self.annotation_marks) < MAX_MARKS:
                self.annotation_marks.append(Mark(self.events, event.size, event.text))
        elif event.action not in KNOWN:
            self.unknown[event.action] += 1

"""Measures the fragmentation of segments."""

from __future__ import annotations

from dataclasses import dataclass

from interlock._cli.memory.snapshot_file import FREE, MemoryOf, Segment, Snapshot


@dataclass(frozen=True)
class SegmentUse:
    """A segment with its free memory."""

    segment: Segment
    free: int
    """Free bytes."""
    largest_free: int
    """Bytes of the largest free block."""

    @property
    def fragmentation(self) -> float:
        """The share of the free memory outside the largest free block: 0 if one block has all of it."""
        return round(1 - self.largest_free / self.free, 4) if self.free else 0.0


def segments_of(snapshot: Snapshot, device: MemoryOf) -> list[SegmentUse]:
    """Return the segments of a device, those with the most free memory first."""
    used = [_measure(segment) for segment in snapshot.segments if segment.device == device]
    return sorted(used, key=lambda use: (-use.free, use.segment.address))


def _measure(segment: Segment) -> SegmentUse:
    free = [block.size for block in segment.blocks if block.state == FREE]
    return SegmentUse(segment, sum(free), max(free, default=0))

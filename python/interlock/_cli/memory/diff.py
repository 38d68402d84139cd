"""Compares two snapshots: which call sites have more memory in the second, and which have less."""

from __future__ import annotations

from dataclasses import dataclass

from interlock._cli.memory.history import Usage
from interlock._cli.memory.snapshot_file import FREE, MemoryOf, Snapshot, in_order
from interlock._cli.memory.timeline import compute


@dataclass(frozen=True)
class CallSiteChange:
    """A line of a program whose allocated blocks differ."""

    call_site: str
    bytes_before: int
    bytes_after: int
    blocks_before: int
    blocks_after: int

    @property
    def growth(self) -> int:
        """The additional bytes; negative if there are fewer."""
        return self.bytes_after - self.bytes_before


@dataclass(frozen=True)
class DeviceChange:
    """The memory of one device in both snapshots; all numbers are 0 for a snapshot without the device."""

    device: int | None
    """None for pinned memory."""
    allocated_before: int
    allocated_after: int
    blocks_before: int
    blocks_after: int
    reserved_before: int
    reserved_after: int
    segments_before: int
    segments_after: int
    call_sites: tuple[CallSiteChange, ...]
    """The call sites whose bytes or blocks differ, the one that grew most first."""


@dataclass(frozen=True)
class Diff:
    """The memory of all devices in both snapshots."""

    before: str
    after: str
    devices: tuple[DeviceChange, ...]


@dataclass(frozen=True)
class _State:
    """The memory of a device at the end of a snapshot."""

    sites: dict[str, list[int]]
    reserved: int
    segments: int

    @property
    def allocated(self) -> int:
        return sum(size for size, _ in self.sites.values())

    @property
    def blocks(self) -> int:
        return sum(count for _, count in self.sites.values())


def compare(before: Snapshot, before_path: str, after: Snapshot, after_path: str) -> Diff:
    """Compare two snapshots that were read from files."""
    devices = in_order({*before.devices(), *after.devices()})
    return Diff(
        before_path,
        after_path,
        tuple(_device(device, _state(before, device), _state(after, device)) for device in devices),
    )


def _state(snapshot: Snapshot, device: MemoryOf) -> _State:
    segments = [segment for segment in snapshot.segments if segment.device == device]
    usage = Usage()
    for segment in segments:
        for block in segment.blocks:
            if block.state != FREE:
                usage.add(block.stack.site, block.requested, 1)
    if not segments:
        # The history alone says what is allocated.
        usage = snapshot.history(device).current
    return _State(usage.sites, compute(snapshot, device).reserved_at_end, len(segments))


def _device(device: MemoryOf, before: _State, after: _State) -> DeviceChange:
    changes = (
        CallSiteChange(site, old[0], new[0], old[1], new[1])
        for site in {**before.sites, **after.sites}
        if (old := before.sites.get(site, [0, 0])) != (new := after.sites.get(site, [0, 0]))
    )
    return DeviceChange(
        device=device,
        allocated_before=before.allocated,
        allocated_after=after.allocated,
        blocks_before=before.blocks,
        blocks_after=after.blocks,
        reserved_before=before.reserved,
        reserved_after=after.reserved,
        segments_before=before.segments,
        segments_after=after.segments,
        call_sites=tuple(sorted(changes, key=lambda change: (-change.growth, change.call_site))),
    )

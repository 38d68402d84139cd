"""Writes the timeline and the segments of a snapshot as one HTML file that needs no network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from interlock._cli.memory.history import Mark, Stack
from interlock._cli.memory.segments import SegmentUse, segments_of
from interlock._cli.memory.snapshot_file import FREE, Block, MemoryOf, Snapshot
from interlock._cli.memory.timeline import Band, compute, stack_bands

MAX_SEGMENTS = 500
MAX_CALL_SITES = 50


def page(snapshot: Snapshot, path: str) -> str:
    """Return the HTML page of a snapshot that was read from a file."""
    stacks = _Stacks()
    devices = [_device(snapshot, device, stacks) for device in snapshot.devices()]
    data = {"file": PurePath(path).name, "devices": devices, "stacks": stacks.texts}
    # `<` would let a file name or a path end the script element.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return _template().replace("@DATA@", text)


def beginning() -> str:
    """Return the text with which each page begins."""
    return _template().partition("<style>")[0]


def _template() -> str:
    return files(__package__).joinpath("page.html").read_text(encoding="utf-8")


class _Stacks:
    """The distinct stacks of a page, which refers to them by index."""

    def __init__(self) -> None:
        self._indices: dict[Stack, int] = {}
        self.texts: list[list[str]] = []

    def index(self, stack: Stack) -> int:
        """Return the index of a stack."""
        if stack not in self._indices:
            self._indices[stack] = len(self.texts)
            # The first line is the call site.
            self.texts.append([stack.site, *map(str, stack.frames[1:])])
        return self._indices[stack]


def _device(snapshot: Snapshot, device: MemoryOf, stacks: _Stacks) -> dict[str, Any]:
    timeline = compute(snapshot, device)
    segments = segments_of(snapshot, device)
    bands = stack_bands(timeline.largest)
    sites = timeline.peak_sites
    return {
        "index": device,
        "events": timeline.events,
        "interval": timeline.interval,
        "allocated": timeline.allocated,
        "reserved": timeline.reserved,
        "times": timeline.times,
        "peak": [timeline.peak, timeline.peak_allocated],
        "peak_reserved": timeline.peak_reserved,
        "end": [timeline.allocated_at_end, timeline.reserved_at_end],
        "errors": [_mark(mark) for mark in timeline.error_marks],
        "errors_omitted": timeline.errors - len(timeline.error_marks),
        "annotations": [_mark(mark) for mark in timeline.annotation_marks],
        "annotations_omitted": timeline.annotations - len(timeline.annotation_marks),
        "unknown": dict(timeline.unknown),
        "bands": [_band(band, stacks) for band in bands],
        "unstacked": timeline.allocations - len(bands),
        "sites": [[site.call_site, site.bytes, site.blocks] for site in sites[:MAX_CALL_SITES]],
        "sites_omitted": max(0, len(sites) - MAX_CALL_SITES),
        "segments": [_segment(use, stacks) for use in segments[:MAX_SEGMENTS]],
        "segments_omitted": max(0, len(segments) - MAX_SEGMENTS),
    }


def _mark(mark: Mark) -> list[Any]:
    return [mark.position, mark.size, mark.text]


def _band(band: Band, stacks: _Stacks) -> list[Any]:
    allocation = band.allocation
    return [
        allocation.size,
        hex(allocation.address),
        allocation.stream,
        stacks.index(allocation.stack),
        allocation.end,
        list(_flat(band.steps)),
    ]


def _flat(pairs: Iterable[tuple[int, int]]) -> Iterable[int]:
    for pair in pairs:
        yield from pair


def _segment(use: SegmentUse, stacks: _Stacks) -> dict[str, Any]:
    segment = use.segment
    return {
        "address": hex(segment.address),
        "size": segment.size,
        "stream": segment.stream,
        "kind": segment.kind,
        "free": use.free,
        "largest": use.largest_free,
        "fragmentation": use.fragmentation,
        "blocks": [_block(block, stacks) for block in segment.blocks],
    }


def _block(block: Block, stacks: _Stacks) -> list[int]:
    return [block.size, block.requested, _state(block), stacks.index(block.stack)]


def _state(block: Block) -> int:
    """Return 0 for a free block, 1 for an allocated block, and 2 for a block that queued work still uses."""
    if block.state == FREE:
        return 0
    return 1 if block.state == "active_allocated" else 2

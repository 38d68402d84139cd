"""Memory of devices: bytes on them, copies and fills in the order of a stream, and what became of memory."""

from __future__ import annotations

from interlock._core.accelerator import Buffer, Recording, copy_, fill_, get_memory_info
from interlock.accelerator._history import _snapshot as _snapshot, dump_snapshot, history, replay, snapshot
from interlock.accelerator._snapshot import Snapshot

__all__ = [
    "Buffer",
    "Recording",
    "Snapshot",
    "copy_",
    "dump_snapshot",
    "fill_",
    "get_memory_info",
    "history",
    "replay",
    "snapshot",
]

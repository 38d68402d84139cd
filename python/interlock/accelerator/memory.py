"""Memory of devices: bytes on them, copies and fills in the order of a stream, and what became of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock._core.accelerator import Buffer, Recording, copy_, fill_, get_memory_info
from interlock.accelerator._history import _snapshot as _snapshot, dump_snapshot, history, replay, snapshot

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """Import the types of snapshots when they are asked for: making them takes time."""
    if name != "Snapshot":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from interlock.accelerator._snapshot import Snapshot

    return globals().setdefault(name, Snapshot)


def __dir__() -> list[str]:
    return __all__

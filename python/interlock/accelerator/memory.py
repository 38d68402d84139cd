"""Memory of devices: bytes on them, copies and fills in the order of a stream, and how memory is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlock._core.accelerator import (
    Buffer,
    Recording,
    copy_,
    empty_host_cache,
    fill_,
    get_memory_info,
    host_memory_stats,
    reset_accumulated_host_memory_stats,
    reset_peak_host_memory_stats,
)
from interlock.accelerator._history import _snapshot as _snapshot, dump_snapshot, history, replay, snapshot
from interlock.accelerator._snapshot import Snapshot

if TYPE_CHECKING:
    from interlock.accelerator._config import (
        AllocatorConfig,
        ConfigEntry,
        ConfigReport,
        config_report,
        get_config,
        set_config,
    )

__all__ = [
    "AllocatorConfig",
    "Buffer",
    "ConfigEntry",
    "ConfigReport",
    "Recording",
    "Snapshot",
    "config_report",
    "copy_",
    "dump_snapshot",
    "empty_host_cache",
    "fill_",
    "get_config",
    "get_memory_info",
    "history",
    "host_memory_stats",
    "replay",
    "reset_accumulated_host_memory_stats",
    "reset_peak_host_memory_stats",
    "set_config",
    "snapshot",
]


def __getattr__(name: str) -> Any:
    """Import how memory is kept when it is asked for: dataclasses need much of the standard library."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from interlock.accelerator import _config

    return globals().setdefault(name, getattr(_config, name))


def __dir__() -> list[str]:
    return __all__

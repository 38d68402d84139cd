"""Memory of devices: bytes on them, copies and fills in the order of a stream, and how it is kept.

What is freed is kept for the next request, as PyTorch's allocator does; docs/memory.md tells how.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from interlock._core.accelerator import (
    Buffer,
    Recording,
    copy_,
    empty_cache,
    empty_host_cache,
    fill_,
    fragmentation,
    get_cache_limit,
    get_limit,
    get_memory_info,
    host_memory_stats,
    largest_free_block,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    on_oom,
    reset_accumulated_host_memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_host_memory_stats,
    reset_peak_memory_stats,
    scope,
    set_cache_limit,
    set_limit,
)
from interlock.accelerator._history import _snapshot as _snapshot, dump_snapshot, history, replay, snapshot
from interlock.accelerator._statistics import memory_stats, memory_stats_as_nested_dict

if TYPE_CHECKING:
    from interlock.accelerator._config import (
        AllocatorConfig,
        ConfigEntry,
        ConfigReport,
        config_report,
        get_config,
        set_config,
    )
    from interlock.accelerator._snapshot import Snapshot

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
    "empty_cache",
    "empty_host_cache",
    "fill_",
    "fragmentation",
    "get_cache_limit",
    "get_config",
    "get_limit",
    "get_memory_info",
    "history",
    "host_memory_stats",
    "largest_free_block",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "on_oom",
    "replay",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "scope",
    "set_cache_limit",
    "set_config",
    "set_limit",
    "snapshot",
]


def __getattr__(name: str) -> Any:
    """Import settings and the types of snapshots when they are asked for: making classes takes time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    defined_in = "_snapshot" if name == "Snapshot" else "_config"
    module = importlib.import_module(f"interlock.accelerator.{defined_in}")
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return __all__

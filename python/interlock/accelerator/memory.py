"""Memory of devices: bytes on them, and copies and fills in the order of a stream."""

from __future__ import annotations

from interlock._core.accelerator import (
    Buffer,
    copy_,
    empty_host_cache,
    fill_,
    get_memory_info,
    host_memory_stats,
    reset_accumulated_host_memory_stats,
    reset_peak_host_memory_stats,
)

__all__ = [
    "Buffer",
    "copy_",
    "empty_host_cache",
    "fill_",
    "get_memory_info",
    "host_memory_stats",
    "reset_accumulated_host_memory_stats",
    "reset_peak_host_memory_stats",
]

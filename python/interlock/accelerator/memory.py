"""Memory of devices: bytes on them, copies and fills in the order of a stream, and how much there is.

What is freed is kept for the next request, as PyTorch's allocator does; docs/memory.md tells how.
"""

from __future__ import annotations

from interlock._core.accelerator import (
    Buffer,
    copy_,
    empty_cache,
    fill_,
    fragmentation,
    get_cache_limit,
    get_limit,
    get_memory_info,
    largest_free_block,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    on_oom,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    scope,
    set_cache_limit,
    set_limit,
)
from interlock.accelerator._statistics import memory_stats, memory_stats_as_nested_dict

__all__ = [
    "Buffer",
    "copy_",
    "empty_cache",
    "fill_",
    "fragmentation",
    "get_cache_limit",
    "get_limit",
    "get_memory_info",
    "largest_free_block",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "on_oom",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "scope",
    "set_cache_limit",
    "set_limit",
]

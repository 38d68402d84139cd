"""The accelerator of this process: its devices, streams, events, graphs and memory.

A process uses one driver. It is selected by `use("host")`, by the environment
(`INTERLOCK_ACCELERATOR=host:2`) or by a Rust program that registers it; otherwise the first available driver
is used. The selection is final once a device has been used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock._core.accelerator import (
    Event,
    MemPool,
    Stream,
    current_accelerator,
    current_device_index,
    current_stream,
    device_count,
    device_index,
    device_name,
    empty_cache,
    empty_host_cache,
    generate_graph_pool_handle,
    get_memory_info,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_device_index,
    set_stream,
    stream_priority_range,
    synchronize,
    unavailable_reason,
    use,
    use_mem_pool,
)
from interlock._features import HAS_TENSORS, remove_missing
from interlock._homes import set_home
from interlock._lazy import list_exports
from interlock.accelerator import memory
from interlock.accelerator._declared_uses import declare_uses
from interlock.accelerator._device import (
    current_device_idx,
    get_device_capability,
    get_device_name,
    launch,
    set_device_idx,
)
from interlock.accelerator._properties import DeviceProperties, device_properties, get_device_properties
from interlock.accelerator._trace import trace
from interlock.accelerator.graphs import Graph
from interlock.accelerator.memory import memory_stats
from interlock.errors import AcceleratorError, NoAcceleratorError

if TYPE_CHECKING or HAS_TENSORS:
    from interlock.accelerator import random

__all__ = [
    "AcceleratorError",
    "DeviceProperties",
    "Event",
    "Graph",
    "MemPool",
    "NoAcceleratorError",
    "Stream",
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "declare_uses",
    "device_count",
    "device_index",
    "device_name",
    "device_properties",
    "empty_cache",
    "empty_host_cache",
    "generate_graph_pool_handle",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_memory_info",
    "is_available",
    "launch",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "random",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "stream_priority_range",
    "synchronize",
    "trace",
    "unavailable_reason",
    "use",
    "use_mem_pool",
]

set_home(__name__, DeviceProperties, declare_uses, trace)
remove_missing(globals())
list_exports(globals())

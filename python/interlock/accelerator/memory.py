"""Memory of devices: bytes on them, copies and fills in the order of a stream, and how it is kept.

What is freed is kept for the next request, as PyTorch's allocator does; docs/memory.md tells how.
"""

from __future__ import annotations

import importlib
import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Literal

from interlock._core import accelerator as _native
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interlock._core.accelerator import _DeviceLike, device as _device
    from interlock.accelerator._allocator_config import (
        AllocatorConfig,
        ConfigEntry,
        ConfigReport,
        config_report,
        get_config,
        set_config,
    )
    from interlock.accelerator._snapshot_types import Snapshot

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


def memory_stats(device_index: _DeviceLike | None = None, /) -> OrderedDict[str, int]:
    """Return all that is counted of a device's memory, by the names that PyTorch has for it, in their order.

    Every name is there, also where no device has been used; then all is 0, and `max_split_size` -1, which is
    no limit. No device, or one without an index, is the current one. Raises `DeviceError` for what is no
    device of the accelerator.

    >>> from interlock import accelerator
    >>> accelerator.memory_stats()["allocation.all.current"]
    0
    """
    return OrderedDict(_native.named_statistics(device_index))


def memory_stats_as_nested_dict(device_index: _DeviceLike | None = None, /) -> dict[str, Any]:
    """Return what `memory_stats` does with a dict for each part of a name.

    >>> from interlock import accelerator
    >>> sorted(accelerator.memory.memory_stats_as_nested_dict()["segment"]["all"])
    ['allocated', 'current', 'freed', 'peak']
    """
    nested: dict[str, Any] = {}
    for name, number in _native.named_statistics(device_index):
        *path, last = name.split(".")
        inner = nested
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = number
    return nested


def history(
    max_entries: int | None = 100_000,
    *,
    stacks: Literal["python", "all"] | None = "python",
    device: _device | str | int | None = None,
) -> Recording:
    """Record what happens to the memory of a device, or of all devices, until the returned object is stopped.

    At most the last `max_entries` entries of each device are kept, all for None; for 0 only what asked
    for the memory in use is known. `stacks` says whether the lines of the Python program are recorded;
    "all" is the same, because lines of Rust are not. There is one history: another call forgets what
    was recorded and begins anew. What was recorded stays when it is stopped, and what was in use then
    still knows what asked for it.

    Starts no driver: it records once there is one. Raises `ArgumentError` for a negative number or
    another word, `DeviceError` for a device that is not there.

    >>> from interlock import accelerator
    >>> accelerator.use("host")
    >>> with accelerator.memory.history(max_entries=1000):
    ...     buffer = accelerator.memory.Buffer(1000)
    >>> [entry["action"] for entry in accelerator.memory.snapshot()["device_traces"][0]]
    ['segment_alloc', 'alloc']
    """
    return _native.Recording(max_entries, stacks, device)


def snapshot(device: _device | str | int | None = None) -> Snapshot:
    """Return what is kept of the memory of a device, or of all, and what `history` recorded, as PyTorch does.

    Nothing is there before memory is used. Starts no driver. Raises `DeviceError` for a device that is
    not there.
    """
    segments, device_traces = _native.snapshot(device)
    return {
        "segments": segments,
        "device_traces": device_traces,
        "allocator_settings": _native.get_config(),
        "external_annotations": [],
    }


def _snapshot(device: _device | str | int | None = None, augment_with_fx_traces: bool = False) -> Snapshot:
    """Return `snapshot(device)`; there are no graphs of FX whose lines could be added."""
    return snapshot(device)


def dump_snapshot(path: str | os.PathLike[str], *, device: _device | str | int | None = None) -> None:
    """Write a snapshot to a file for PyTorch's viewer: `python -m torch.cuda._memory_viz trace_plot path`.

    Raises OSError where the file can't be written, and as `snapshot` does.
    """
    import pickle

    taken = snapshot(device)
    # A number would be taken for an open file, and closed.
    with open(os.fspath(path), "wb") as file:
        # The viewer in the browser reads no later one.
        pickle.dump(taken, file, protocol=4)


def replay(
    snapshot: Snapshot | Mapping[str, Any], device: _device | str | int | None = None
) -> dict[str, int]:
    """Allocate and free on a device what its trace in a snapshot says, and return its statistics at the end.

    They are those of the program that was recorded, if its history began before it used the device, has
    all its entries and this process has not used the device: pieces are laid out as they were. That
    needs the same limits and settings, and threads that did not allocate at the same time. The default
    stream stands for itself, and a stream of its own for each other one. Then all is freed. Other
    programs' traces are taken, too: PyTorch's tell what this allocator would do with them.

    Raises `ArgumentError` for what is no snapshot, or has no trace of the device, `OutOfMemoryError`
    where there is less room than there was, `NoAcceleratorError` without an accelerator.
    """
    if not hasattr(snapshot, "keys"):
        kind = type(snapshot).__name__
        raise TypeError(f"replay takes a dict, as snapshot() returns it, got a value of type {kind}")
    return _native.replay(snapshot, device)


def __getattr__(name: str) -> Any:
    """Import settings and the types of snapshots when they are asked for: making classes takes time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    defined_in = "_snapshot_types" if name == "Snapshot" else "_allocator_config"
    module = importlib.import_module(f"interlock.accelerator.{defined_in}")
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return __all__

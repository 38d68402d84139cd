"""Device memory: buffers, stream-ordered copies and fills, and the caching allocator with its statistics.

Like PyTorch's allocator, it caches freed memory for later requests; see docs/memory.md.
"""

from __future__ import annotations

import importlib
import os
from collections import OrderedDict
from collections.abc import Mapping
from itertools import starmap
from typing import TYPE_CHECKING, Any, Literal

from interlock._core import accelerator as _native
from interlock._core.accelerator import (
    Buffer,
    MemoryTracker,
    Recording,
    annotate,
    copy_,
    device as _device,
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
    set_cache_limit,
    set_limit,
)
from interlock._quote import open_file, shown
from interlock.errors import ArgumentError

if TYPE_CHECKING:
    from interlock.accelerator._allocator_config import (
        AllocatorConfig,
        ConfigEntry,
        ConfigReport,
        config_report,
        get_config,
        set_config,
    )
    from interlock.accelerator._snapshot_types import Snapshot, Snapshot as _Snapshot
else:
    _Snapshot = dict[str, Any]

__all__ = [
    "AllocatorConfig",
    "Buffer",
    "ConfigEntry",
    "ConfigReport",
    "MemoryTracker",
    "Recording",
    "Snapshot",
    "annotate",
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
    "record_memory_history",
    "replay",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_cache_limit",
    "set_config",
    "set_limit",
    "snapshot",
]


def memory_stats(device_index: _device | str | int | None = None, /) -> OrderedDict[str, int]:
    """Return the statistics of the caching allocator of a device, with PyTorch's names in PyTorch's order.

    The dict always has all names. Before a device is used all values are 0, except `max_split_size`, which is
    -1 and means no limit.

    Args:
        device_index: The device; None, or a device without an index, means the current device.

    Raises:
        DeviceError: The argument is not a device of the accelerator.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.memory_stats()["allocation.all.current"]
        0

    """
    return OrderedDict(_native.named_statistics(device_index))


def memory_stats_as_nested_dict(device_index: _device | str | int | None = None, /) -> dict[str, Any]:
    """Return the statistics of `memory_stats` as nested dicts, one level for each part of a name.

    Args:
        device_index: The device; None, or a device without an index, means the current device.

    Raises:
        DeviceError: The argument is not a device of the accelerator.

    Example:
        >>> from interlock import accelerator
        >>> sorted(accelerator.memory.memory_stats_as_nested_dict()["segment"]["all"])
        ['allocated', 'current', 'freed', 'peak']

    """
    nested: dict[str, Any] = {}
    for name, number in _native.nested_statistics(device_index):
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
    pinned: bool = False,
) -> Recording:
    """Record the events of the caching allocator until the returned object is stopped.

    A process has one history: each call discards the recorded events and starts again, so blocks do not nest:
    an inner one ends the recording of the outer one. After the recording is stopped, the events and the
    stacks of live blocks are still available. Does not initialize a driver; the recording starts when one is
    initialized.

    Args:
        max_entries: The number of most recent events to keep for each device; None keeps all. With 0, only
            the stacks of live blocks are recorded.
        stacks: Whether to record Python stacks. "all" is the same as "python": Rust frames are not recorded.
        device: The device; None means all devices.
        pinned: Whether the allocator of pinned memory is recorded as well, whose events and blocks are in
            `host_traces` and `host_segments` of snapshots.

    Returns:
        A context manager with the method `stop`.

    Raises:
        ArgumentError: `max_entries` is negative, or `stacks` has another value.
        DeviceError: The device does not exist.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> with accelerator.memory.history(max_entries=1000):
        ...     buffer = accelerator.memory.Buffer(1000)
        >>> [entry["action"] for entry in accelerator.memory.snapshot()["device_traces"][0]]
        ['segment_alloc', 'alloc']

    """
    # Unpacked from an iterator: after a call, a signal handler could run before the recording is returned.
    [recording] = starmap(_native.Recording, [(max_entries, stacks, device, pinned)])
    return recording


_started_by_name: list[Recording] = []
"""The recording that `record_memory_history` began last."""


def record_memory_history(
    enabled: Literal["all", "state"] | None = "all",
    *,
    stacks: Literal["python", "all"] | None = "all",
    max_entries: int | None = None,
    device: _device | str | int | None = None,
    record_pinned_host_memory: bool = False,
) -> None:
    """Begin or end a `history`, under the name that is proposed for PyTorch, with its keywords.

    Args:
        enabled: "all" records events and the stacks of live blocks, "state" only the stacks; None ends the
            recording that this function began.
        stacks: Whether to record Python stacks, as for `history`.
        max_entries: The number of most recent events to keep for each device; None keeps all.
        device: The device; None means all devices.
        record_pinned_host_memory: Whether the allocator of pinned memory is recorded as well.

    Raises:
        ArgumentError: `enabled` or `stacks` has another value, or `max_entries` is negative.
        DeviceError: The device does not exist.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> accelerator.memory.record_memory_history(max_entries=1000)
        >>> buffer = accelerator.memory.Buffer(1000)
        >>> accelerator.memory.record_memory_history(enabled=None)
        >>> [entry["action"] for entry in accelerator.memory.snapshot()["device_traces"][0]]
        ['segment_alloc', 'alloc']

    """
    if enabled is None:
        while _started_by_name:
            _started_by_name.pop().stop()
        return
    if enabled not in ("all", "state"):
        raise ArgumentError(
            'accelerator.memory.record_memory_history: enabled must be "all", "state" or None,'
            f" got {shown(enabled)}"
        )
    kept = 0 if enabled == "state" else max_entries
    # As in `history`.
    _started_by_name[:] = starmap(_native.Recording, [(kept, stacks, device, record_pinned_host_memory)])


def snapshot(device: _device | str | int | None = None) -> _Snapshot:
    """Return the segments and blocks of devices and the events that `history` recorded, in PyTorch's format.

    It has no segments before memory is used. Does not initialize a driver.

    Args:
        device: The device; None means all devices.

    Raises:
        DeviceError: The device does not exist.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> buffer = accelerator.memory.Buffer(1000)
        >>> (segment,) = accelerator.memory.snapshot()["segments"]
        >>> segment["total_size"], segment["allocated_size"]
        (2097152, 1024)

    """
    return _snapshot_of(_native.snapshot(device))


def _snapshot_of(lists: tuple[Any, Any, Any, Any]) -> _Snapshot:
    segments, device_traces, host_segments, host_traces = lists
    return {
        "segments": segments,
        "device_traces": device_traces,
        "allocator_settings": _native.get_config(),
        "external_annotations": [],
        "host_segments": host_segments,
        "host_traces": host_traces,
    }


def _snapshot(device: _device | str | int | None = None, augment_with_fx_traces: bool = False) -> _Snapshot:
    """Return `snapshot(device)`. The second argument has no effect, because interlock has no FX graphs."""
    return snapshot(device)


def dump_snapshot(path: str | os.PathLike[str], *, device: _device | str | int | None = None) -> None:
    """Write a snapshot to a file for PyTorch's viewer, `python -m torch.cuda._memory_viz trace_plot path`.

    Args:
        path: The file.
        device: The device; None means all devices.

    Raises:
        DeviceError: The device does not exist.
        OSError: The file cannot be written.
        TypeError: `path` is neither a str nor a path.

    """
    import pickle

    taken = _snapshot_of(_native.snapshot_to_dump(device))
    with open_file("accelerator.memory.dump_snapshot", path, "wb") as file:
        # The viewer in the browser cannot read later protocols.
        pickle.dump(taken, file, protocol=4)


def replay(
    snapshot: _Snapshot | Mapping[str, Any], device: _device | str | int | None = None
) -> dict[str, int]:
    """Repeat the allocations and frees of a recorded trace, then free all memory, and return the statistics.

    The result and the layout of the blocks equal those of the recorded program if its history is complete and
    began before it used the device, this process has not used the device, limits and configuration are equal,
    and threads did not allocate concurrently. The default stream is replayed on the default stream, and each
    other stream on a new one. Traces that PyTorch recorded can be replayed, too.

    Args:
        snapshot: A snapshot with a trace, as `snapshot` returns it.
        device: The device; None means the current device.

    Returns:
        The statistics of the device before the memory is freed.

    Raises:
        ArgumentError: `snapshot` is not a valid snapshot, or has no trace of the device.
        NoAcceleratorError: No accelerator is available.
        OutOfMemoryError: The device has less memory than the trace needs.
        TypeError: `snapshot` is not a dict.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host")
        >>> with accelerator.memory.history():
        ...     accelerator.memory.Buffer(1000).close()
        >>> accelerator.memory.replay(accelerator.memory.snapshot())["allocation.all.allocated"]
        2

    """
    if not hasattr(snapshot, "keys"):
        kind = type(snapshot).__name__
        raise TypeError(f"replay: snapshot must be a dict, as snapshot() returns it, got {kind}")
    return _native.replay(snapshot, device)


def __getattr__(name: str) -> Any:
    """Import the classes of configurations and snapshots on first use, which keeps the import fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    defined_in = "_snapshot_types" if name == "Snapshot" else "_allocator_config"
    module = importlib.import_module(f"interlock.accelerator.{defined_in}")
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return __all__

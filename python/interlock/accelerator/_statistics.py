"""The statistics of memory in the forms that PyTorch has."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from interlock._core.accelerator import named_statistics

if TYPE_CHECKING:
    from interlock._core.accelerator import _DeviceLike


def memory_stats(device_index: _DeviceLike | None = None, /) -> OrderedDict[str, int]:
    """Return all that is counted of a device's memory, by the names that PyTorch has for it, in their order.

    Every name is there, also where no device has been used; then all is 0, and `max_split_size` -1, which is
    no limit. No device, or one without an index, is the current one. Raises `DeviceError` for what is no
    device of the accelerator.

    >>> from interlock import accelerator
    >>> accelerator.memory_stats()["allocation.all.current"]
    0
    """
    return OrderedDict(named_statistics(device_index))


def memory_stats_as_nested_dict(device_index: _DeviceLike | None = None, /) -> dict[str, Any]:
    """Return what `memory_stats` does with a dict for each part of a name.

    >>> from interlock import accelerator
    >>> sorted(accelerator.memory.memory_stats_as_nested_dict()["segment"]["all"])
    ['allocated', 'current', 'freed', 'peak']
    """
    nested: dict[str, Any] = {}
    for name, number in named_statistics(device_index):
        *path, last = name.split(".")
        inner = nested
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = number
    return nested

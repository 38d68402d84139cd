"""What devices are, and what they can."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlock._core import accelerator as _native
from interlock._core.accelerator import device as _device
from interlock._tensor import bool as _bool, float32, float64, int64

_DTYPES = frozenset({_bool, float32, float64, int64})


class DeviceProperties(NamedTuple):
    """What a device is."""

    name: str
    """As its maker calls it."""
    total_memory: int
    """Bytes of memory that it has."""
    multi_processor_count: int
    """How many units run work at the same time."""
    more: dict[str, str]
    """What its driver tells besides."""


def device_properties(device: _device | str | int | None = None, /) -> DeviceProperties:
    """Return what a device is; None, or a device without an index, is the current one.

    Raises `NoAcceleratorError` without an accelerator, `DeviceError` for a device that it does not have.
    """
    return DeviceProperties(**_native.properties(device))


def get_device_capability(device: _device | str | int | None = None, /) -> dict[str, Any]:
    """Return what a device can: `supported_dtypes`, the set of element types that its memory can hold.

    None, or a device without an index, is the current one. Raises `NoAcceleratorError` without an
    accelerator, `DeviceError` for a device that it does not have.
    """
    _native.properties(device)
    return {"supported_dtypes": set(_DTYPES)}

"""The properties of a device.

The module does not postpone the evaluation of annotations: a `NamedTuple` with annotations that are strings
would make `import interlock` a millisecond slower.
"""

from typing import NamedTuple

from interlock._core import accelerator as _native
from interlock._core.accelerator import device as _device


class DeviceProperties(NamedTuple):
    """The properties of a device."""

    name: str
    """The name that the driver reports."""
    total_memory: int
    """The memory of the device in bytes."""
    multi_processor_count: int
    """The number of multiprocessors."""
    extra: dict[str, str]
    """Further properties that the driver reports, by name."""


def device_properties(device: _device | str | int | None = None, /) -> DeviceProperties:
    """Return the properties of a device.

    Args:
        device: The device; None, or a device without an index, means the current device.

    Raises:
        NoAcceleratorError: No accelerator is available.
        DeviceError: The accelerator does not have the device.

    Example:
        >>> from interlock import accelerator
        >>> accelerator.use("host", memory=1 << 30)
        >>> accelerator.device_properties().total_memory
        1073741824

    """
    return DeviceProperties(**_native.properties(device))


# The name that is proposed for PyTorch.
get_device_properties = device_properties

"""Names that still work and have a successor."""

from __future__ import annotations

import warnings

from interlock._core.accelerator import current_device_index, device, set_device_index


def current_device_idx() -> int:
    """Return the index of the current device; deprecated (FutureWarning) for `current_device_index`."""
    _warn("current_device_idx", "current_device_index")
    return current_device_index()


def set_device_idx(device: device | str | int, /) -> None:
    """Make a device the current one; deprecated (FutureWarning) for `set_device_index`."""
    _warn("set_device_idx", "set_device_index")
    set_device_index(device)


def _warn(name: str, successor: str) -> None:
    message = f"accelerator.{name} is deprecated; its successor is accelerator.{successor}"
    warnings.warn(message, FutureWarning, stacklevel=3)

"""The accelerator of this process: its devices."""

from __future__ import annotations

from interlock._core.accelerator import (
    current_accelerator,
    device_count,
    is_available,
    why_unavailable,
)
from interlock.errors import NoAcceleratorError

__all__ = [
    "NoAcceleratorError",
    "current_accelerator",
    "device_count",
    "is_available",
    "why_unavailable",
]

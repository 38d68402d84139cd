"""Memory of devices: bytes on them, and copies and fills in the order of a stream."""

from __future__ import annotations

from interlock._core.accelerator import Buffer, copy_, fill_, get_memory_info

__all__ = ["Buffer", "copy_", "fill_", "get_memory_info"]

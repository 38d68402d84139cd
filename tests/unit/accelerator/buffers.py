"""The contents of buffers, and pinned memory to copy from and to."""

from __future__ import annotations

import ctypes
from typing import Any

import interlock
from interlock.accelerator.memory import Buffer


def content(buffer: Buffer) -> bytes:
    """Return the bytes of a buffer, read in the order of the current stream of its device."""
    back = bytearray(buffer.nbytes)
    buffer.copy_to(back)
    return bytes(back)


class Pinned:
    """Pinned memory, which non-blocking copies need on every driver except the host driver."""

    def __init__(self, content: bytes) -> None:
        self._owner = interlock.zeros(-(-len(content) // 4), pin_memory=True)
        self.view: Any = (ctypes.c_ubyte * len(content)).from_address(self._owner.data_ptr())
        self.view[:] = content

    def __bytes__(self) -> bytes:
        return bytes(self.view)

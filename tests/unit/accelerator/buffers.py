"""Bytes that devices reach: what buffers hold, and pinned memory to copy from and to."""

from __future__ import annotations

import ctypes
from typing import Any

import interlock
from interlock.accelerator.memory import Buffer


def content(buffer: Buffer) -> bytes:
    """What a buffer holds, in the order of the current stream of its device."""
    back = bytearray(buffer.nbytes)
    buffer.copy_to(back)
    return bytes(back)


class Pinned:
    """So many bytes of pinned memory, which copies that don't wait need on every driver but the host's."""

    def __init__(self, content: bytes) -> None:
        self._owner = interlock.zeros(-(-len(content) // 4), pin_memory=True)
        self.view: Any = (ctypes.c_ubyte * len(content)).from_address(self._owner.data_ptr())
        self.view[:] = content

    def __bytes__(self) -> bytes:
        return bytes(self.view)

"""Numbers of 32 bits in buffers, as the kernels read and store them."""

from __future__ import annotations

from interlock import Stream
from interlock.accelerator.memory import Buffer, copy_

BYTES = 4


def read(cell: Buffer, stream: Stream | None = None) -> int:
    """Return the number, read in the order of a stream: by default the current one."""
    back = bytearray(BYTES)
    copy_(back, cell, stream=stream)
    return int.from_bytes(back, "little")


def write(cell: Buffer, number: int, stream: Stream | None = None) -> None:
    """Store a number, in the order of a stream."""
    copy_(cell, number.to_bytes(BYTES, "little"), stream=stream)

"""32-bit integers in buffers, read and written by the kernels."""

from __future__ import annotations

from interlock import Stream
from interlock.accelerator.memory import Buffer, copy_

BYTES = 4


def read(cell: Buffer, stream: Stream | None = None) -> int:
    """Return the number, read in stream order; None means the current stream."""
    back = bytearray(BYTES)
    copy_(back, cell, stream=stream)
    return int.from_bytes(back, "little")


def write(cell: Buffer, number: int, stream: Stream | None = None) -> None:
    """Store a number in stream order."""
    copy_(cell, number.to_bytes(BYTES, "little"), stream=stream)

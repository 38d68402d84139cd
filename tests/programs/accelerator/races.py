"""A program with a race."""

import interlock
from interlock import accelerator


def race_once():
    accelerator.use("host")
    one, other = interlock.Stream(), interlock.Stream()
    buffer = accelerator.memory.Buffer(64, stream=one).fill_(1, stream=one)
    buffer.copy_to(bytearray(64), stream=other)

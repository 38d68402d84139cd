"""Record the memory history of a small training loop, and print the statistics of the device."""

import json
import sys

from interlock import accelerator
from interlock.accelerator import memory

SIZES = (100, 5000, 3 << 20, 700, 30 << 20, 64 << 10)


def weights() -> list[memory.Buffer]:
    """Allocate what stays until the end."""
    return [memory.Buffer(size) for size in SIZES]


def activations(step: int) -> list[memory.Buffer]:
    """Allocate what one step needs."""
    return [memory.Buffer(size * (1 + (step + index) % 3)) for index, size in enumerate(SIZES)]


(path,) = map(json.loads, sys.argv[1:])
accelerator.use("host", memory=1 << 30)
with memory.history(max_entries=None):
    kept = weights()
    for step in range(7):
        made = activations(step)
        del made[step % len(made)]
    memory.dump_snapshot(path)
print(json.dumps(memory.memory_stats()))

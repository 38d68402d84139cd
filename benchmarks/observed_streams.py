"""Time work of streams without and with a detection of races and a trace, and print JSON."""

import contextlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import interlock
from interlock import accelerator, testing
from interlock.accelerator import memory

ROUNDS = 7
STEPS = 1000


def pipeline() -> None:
    """Fill a small buffer on one stream and copy it on another, in order."""
    one, other = interlock.Stream(), interlock.Stream()
    source, target = memory.Buffer(4096, stream=one), memory.Buffer(4096, stream=other)
    for _ in range(STEPS):
        source.fill_(1, stream=one)
        other.wait_stream(one)
        memory.copy_(target, source, non_blocking=True, stream=other)
        one.wait_stream(other)
    accelerator.synchronize()


def tensors() -> None:
    """Multiply a small tensor on a device."""
    x = interlock.ones(1000, device="host:0")
    for _ in range(STEPS):
        x = x * 1.5
    accelerator.synchronize()


WORK: dict[str, Callable[[], None]] = {"pipeline of two streams": pipeline, "kernels of one stream": tensors}


def observers(folder: str) -> dict[str, Callable[[], AbstractContextManager[object]]]:
    """Return the ways in which work is timed."""
    return {
        "alone": contextlib.nullcontext,
        "detect_races": testing.detect_races,
        "trace": lambda: accelerator.trace(os.path.join(folder, "trace.json")),
    }


def main() -> None:
    """Print the milliseconds of each work in each way; the ways take turns."""
    accelerator.use("host")
    with tempfile.TemporaryDirectory() as folder:
        ways = observers(folder)
        times: dict[str, dict[str, list[float]]] = {work: {way: [] for way in ways} for work in WORK}
        for _ in range(ROUNDS):
            for name, work in WORK.items():
                for way, observe in ways.items():
                    with observe():
                        start = time.perf_counter()
                        work()
                        times[name][way].append((time.perf_counter() - start) * 1e3)
    print(
        json.dumps(
            {
                f"{work}, {way}": statistics.median(of)
                for work, ways in times.items()
                for way, of in ways.items()
            }
        )
    )


if __name__ == "__main__":
    main()

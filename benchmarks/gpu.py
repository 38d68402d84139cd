"""Measure what a program asks of a GPU's driver again and again, beside PyTorch in the same process.

It runs with the Python of `GPU_PYTHON`, in which interlock's wheel and PyTorch are installed. Where there is
no GPU it says why and ends well.
"""

from __future__ import annotations

import importlib
import platform
import statistics
import sys
import timeit
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.measure import UNROLLED, timer
from benchmarks.report import PyTorch, Row, table

# What is queued between two waits stays below what a device has room for, so that no call waits for it.
LOOPS = 10
ROUNDS = 201
HOT = 4096


class Pair(NamedTuple):
    """The same thing done with interlock and with PyTorch."""

    what: str
    ours: str
    theirs: str


PAIRS = (
    Pair(
        f"cached allocate + free of {HOT} bytes (PyTorch: its allocator alone)",
        "Buffer(hot)",
        "deallocate(allocate(hot))",
    ),
    Pair(f"the same (PyTorch: torch.empty of {HOT} bytes)", "Buffer(hot)", "empty(hot, **of_bytes)"),
    Pair("event.record()", "event.record()", "their_event.record()"),
    Pair("event.record(stream)", "event.record(stream)", "their_event.record(their_stream)"),
    Pair("with stream: pass", "with stream:\n    pass", "with their_scope(their_stream):\n    pass"),
    Pair(
        "with device_index(0): pass",
        "with device_index(0):\n    pass",
        "with their_device_index(0):\n    pass",
    ),
    *(
        Pair(f"accelerator.{question}()", f"accelerator.{question}()", f"their_accelerator.{question}()")
        for question in ("is_available", "device_count", "current_accelerator", "current_device_index")
    ),
)
FLOOR = "bare()"


def names_of(accelerator: Any, torch: Any) -> dict[str, Any]:
    """Return what the statements use."""
    return {
        "accelerator": accelerator,
        "their_accelerator": torch.accelerator,
        "bare": lambda: None,
        "hot": HOT,
        "Buffer": accelerator.memory.Buffer,
        "event": accelerator.Event(),
        "stream": accelerator.Stream(exclusive=True),
        "device_index": accelerator.device_index,
        "allocate": torch.cuda.caching_allocator_alloc,
        "deallocate": torch.cuda.caching_allocator_delete,
        "empty": torch.empty,
        "of_bytes": {"dtype": torch.uint8, "device": torch.device("cuda", 0)},
        "their_event": torch.cuda.Event(),
        "their_stream": torch.cuda.Stream(),
        "their_scope": torch.cuda.stream,
        "their_device_index": torch.cuda.device,
    }


def medians(
    timers: dict[str, timeit.Timer], wait: Callable[[], None], rounds: int = ROUNDS
) -> dict[str, float]:
    """Return the nanoseconds that each takes: the median of rounds in which all take turns."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, clock in timers.items():
            times[name].append(clock.timeit(LOOPS) / (LOOPS * UNROLLED) * 1e9)
            wait()
    return {name: statistics.median(each) for name, each in times.items()}


def rows_of(times: dict[str, float]) -> list[Row]:
    """Return a row for each pair: our time beside a bare call of Python, and how often it fits PyTorch's."""
    floor = times[FLOOR]
    return [
        Row(pair.what, times[pair.ours], floor, pytorch=PyTorch(times[pair.theirs] / times[pair.ours]))
        for pair in PAIRS
    ]


def measured(accelerator: Any, torch: Any) -> dict[str, float]:
    """Return the time of each statement."""
    names = names_of(accelerator, torch)
    statements = dict.fromkeys([FLOOR, *(each for pair in PAIRS for each in (pair.ours, pair.theirs))])
    timers = {statement: timer(statement, names) for statement in statements}
    medians(timers, accelerator.synchronize, rounds=3)  # What is made when it is used first.
    return medians(timers, accelerator.synchronize)


def main() -> int:
    """Measure and print the table, or say why not."""
    try:
        accelerator = importlib.import_module("interlock.accelerator")
    except ImportError as error:
        print(f"{sys.executable} can't import interlock: {error}", file=sys.stderr)
        return 2
    accelerator.use("cuda")
    why = accelerator.why_unavailable()
    if why is not None:
        print(f"nothing to measure: {why}")
        return 0
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        print(f"GPU_PYTHON has to name a Python with PyTorch; {sys.executable}: {error}", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print(f"PyTorch {torch.__version__} finds no GPU, interlock does", file=sys.stderr)
        return 2
    rows = rows_of(measured(accelerator, torch))
    print(f"{accelerator.device_name()}, PyTorch {torch.__version__}, Python {platform.python_version()}")
    print(f"floor: a bare call of Python; medians of {ROUNDS} rounds\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

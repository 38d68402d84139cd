"""Measure frequent operations on a GPU with interlock and with PyTorch, in one process.

It runs with the Python `GPU_PYTHON`, which needs interlock's wheel and PyTorch. Without a GPU it prints the
reason and exits with 0.
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

# The number of operations between two synchronizations is below the capacity of a device's queue, so that no
# operation blocks.
LOOPS = 10
ROUNDS = 201
HOT = 4096


class Pair(NamedTuple):
    """An operation, as a statement with interlock and one with PyTorch."""

    what: str
    ours: str
    theirs: str


PAIRS = (
    Pair(
        f"cached allocate + free of {HOT} bytes (PyTorch: its allocator alone)",
        "Buffer(hot)",
        "deallocate(allocate(hot))",
    ),
    Pair(
        f"cached allocate + free of {HOT} bytes (PyTorch: torch.empty)",
        "Buffer(hot)",
        "empty(hot, **of_bytes)",
    ),
    Pair("event.record()", "event.record()", "their_event.record()"),
    Pair("event.record(stream)", "event.record(stream)", "their_event.record(their_stream)"),
    Pair("with stream: pass", "with stream:\n    pass", "with their_scope(their_stream):\n    pass"),
    Pair(
        "with device_index(0): pass",
        "with device_index(0):\n    pass",
        "with their_device_index(0):\n    pass",
    ),
    *(
        Pair(f"accelerator.{query}()", f"accelerator.{query}()", f"their_accelerator.{query}()")
        for query in ("is_available", "device_count", "current_accelerator", "current_device_index")
    ),
)
BASELINE = "bare()"


def names_of(accelerator: Any, torch: Any) -> dict[str, Any]:
    """Return the names that the statements use."""
    return {
        "accelerator": accelerator,
        "their_accelerator": torch.accelerator,
        "bare": lambda: None,
        "hot": HOT,
        "Buffer": accelerator.memory.Buffer,
        "event": accelerator.Event(),
        "stream": accelerator.Stream(dedicated=True),
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
    """Return the nanoseconds of each statement: the median of rounds in which all statements take turns."""
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, clock in timers.items():
            times[name].append(clock.timeit(LOOPS) / (LOOPS * UNROLLED) * 1e9)
            wait()
    return {name: statistics.median(each) for name, each in times.items()}


def rows_of(times: dict[str, float]) -> list[Row]:
    """Return a row for each pair: the time of interlock, a bare Python call, and the ratio to PyTorch."""
    baseline = times[BASELINE]
    return [
        Row(pair.what, times[pair.ours], baseline, pytorch=PyTorch(times[pair.theirs] / times[pair.ours]))
        for pair in PAIRS
    ]


def measured(accelerator: Any, torch: Any) -> dict[str, float]:
    """Return the time of each statement."""
    names = names_of(accelerator, torch)
    statements = dict.fromkeys([BASELINE, *(each for pair in PAIRS for each in (pair.ours, pair.theirs))])
    timers = {statement: timer(statement, names) for statement in statements}
    medians(timers, accelerator.synchronize, rounds=3)  # Excludes initialization on first use.
    return medians(timers, accelerator.synchronize)


def main() -> int:
    """Measure and print the table, or print why this is not possible."""
    try:
        accelerator = importlib.import_module("interlock.accelerator")
    except ImportError as error:
        print(f"{sys.executable} can't import interlock: {error}", file=sys.stderr)
        return 2
    accelerator.use("cuda")
    reason = accelerator.unavailable_reason()
    if reason is not None:
        print(f"nothing to measure: {reason}")
        return 0
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        print(f"GPU_PYTHON must be a Python with PyTorch; {sys.executable}: {error}", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print(f"PyTorch {torch.__version__} finds no GPU, but interlock does", file=sys.stderr)
        return 2
    rows = rows_of(measured(accelerator, torch))
    print(f"{accelerator.device_name()}, PyTorch {torch.__version__}, Python {platform.python_version()}")
    print(f"baseline: a bare call of Python; medians of {ROUNDS} rounds\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Time four worker processes that multiply matrices with NumPy, with and without the budget, and print JSON.

Without it, each worker's OpenBLAS starts as many threads as there are CPUs. The workers wait for each other
before each measurement, and both kinds take turns. It also times scopes over all pools: that of interlock,
and that of threadpoolctl, which searches for libraries each time.
"""

import importlib
import json
import statistics
import subprocess
import sys
import time
import timeit
from typing import Any

WORKERS = 4
ROUNDS = 7
# Side of the matrices, and products in one measurement.
PRODUCTS = {128: 1500, 512: 40, 1024: 6}
SCOPES = {"scope of interlock": "limits(1)", "scope of threadpoolctl": "threadpool_limits(1)"}
REPEATS = 200


def work(kind: str) -> None:
    """Multiply matrices of the size and as often as each line of standard input says."""
    import numpy

    if kind == "budget":
        from interlock import threads

        threads.set_limits("budget", workers=WORKERS)
    for line in sys.stdin:
        size, count = map(int, line.split())
        matrix = numpy.full((size, size), 0.5, dtype=numpy.float32)
        matrix @ matrix
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(count):
            matrix @ matrix
        print("done", flush=True)


def say(workers: list[subprocess.Popen[str]], line: str) -> None:
    """Write a line to all workers, and wait for the answer of each."""
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(f"{line}\n")
        worker.stdin.flush()
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()


def products() -> dict[str, float]:
    """Return the milliseconds of all workers together, for each size of matrices and each kind."""
    pools = {
        kind: [
            subprocess.Popen(
                [sys.executable, "-I", __file__, kind],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(WORKERS)
        ]
        for kind in ("budget", "default")
    }
    found: dict[str, float] = {}
    for size, count in PRODUCTS.items():
        times: dict[str, list[float]] = {kind: [] for kind in pools}
        for _ in range(ROUNDS):
            for kind, workers in pools.items():
                say(workers, f"{size} {count}")
                start = time.perf_counter()
                say(workers, "start")
                times[kind].append((time.perf_counter() - start) * 1e3)
        found |= {f"{kind}, {size}": statistics.median(each) for kind, each in times.items()}
    for workers in pools.values():
        for worker in workers:
            worker.communicate()
    return found


def scopes() -> dict[str, float]:
    """Return the nanoseconds of entering and exiting a scope over the pools of NumPy."""
    import numpy
    from interlock import threads

    assert numpy.__version__, "the import loads OpenBLAS"
    # A scope that changes nothing: both include the time in which OpenBLAS starts threads.
    threads.set_limits(1)
    threadpoolctl: Any = importlib.import_module("threadpoolctl")
    names = {"limits": threads.limits, "threadpool_limits": threadpoolctl.threadpool_limits}
    return {
        name: min(timeit.repeat(f"with {scope}: pass", globals=names, number=REPEATS, repeat=7))
        / REPEATS
        * 1e9
        for name, scope in SCOPES.items()
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(sys.argv[1])
    else:
        print(json.dumps(products() | scopes()))

"""Time products of matrices of interlock, or of PyTorch, on one and two threads; print nanoseconds as JSON.

run.py runs it with both interpreters, so it uses only the standard library.
"""

import importlib
import json
import sys
import time

SIZE = 1024
ROUNDS = 15


def main() -> None:
    """Measure the library named by the argument. The numbers of threads take turns."""
    library = importlib.import_module(sys.argv[1])
    a, b = library.rand(SIZE, SIZE), library.rand(SIZE, SIZE)
    least: dict[str, float] = {}
    for _ in range(ROUNDS):
        for threads in (1, 2):
            library.set_num_threads(threads)
            begin = time.perf_counter_ns()
            a @ b
            took = float(time.perf_counter_ns() - begin)
            name = f"product, {threads} threads"
            least[name] = min(least.get(name, took), took)
    print(json.dumps(least))


if __name__ == "__main__":
    main()

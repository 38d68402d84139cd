"""Time convolutions of interlock, or of PyTorch, on one thread; print nanoseconds as JSON.

run.py runs it with both interpreters, so it uses only the standard library.
"""

import importlib
import json
import sys
import time

IMAGES, CHANNELS, SIDE, FILTERS = 32, 16, 28, 32
ROUNDS = 30


def main() -> None:
    """Measure the library named by the argument."""
    library = importlib.import_module(sys.argv[1])
    library.set_num_threads(1)
    images = library.rand(IMAGES, CHANNELS, SIDE, SIDE)
    filters = library.rand(FILTERS, CHANNELS, 3, 3)
    least = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        library.conv2d(images, filters, padding=1)
        least = min(least, float(time.perf_counter_ns() - begin))
    print(json.dumps({"convolution": least}))


if __name__ == "__main__":
    main()

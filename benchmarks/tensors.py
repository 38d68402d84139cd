"""Time operations on tensors of interlock, or of PyTorch, in this process and print nanoseconds as JSON.

run.py runs it with both interpreters, so it uses only the standard library, and NumPy where it is installed.
"""

import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from typing import Any

ROUNDS = 15

Statement = Callable[[], object]


def products(library: Any) -> dict[str, Statement]:
    """Return products of matrices of 1024 x 1024 elements on one and on two threads."""
    a, b = library.rand(1024, 1024), library.rand(1024, 1024)

    def on_threads(threads: int) -> object:
        library.set_num_threads(threads)
        return a @ b

    return {"product, 1 thread": lambda: on_threads(1), "product, 2 threads": lambda: on_threads(2)}


def convolution(library: Any) -> dict[str, Statement]:
    """Return a convolution of 32 images on one thread."""
    images, filters = library.rand(32, 16, 28, 28), library.rand(32, 16, 3, 3)

    def on_one_thread() -> object:
        library.set_num_threads(1)
        return library.conv2d(images, filters, padding=1)

    return {"convolution": on_one_thread}


def gradients(library: Any) -> dict[str, Statement]:
    """Return backward passes through a sum of 1,000 leaves, with respect to one leaf and to all of them."""
    leaves = [library.ones(1, requires_grad=True) for _ in range(1000)]
    total = leaves[0]
    for leaf in leaves[1:]:
        total = total + leaf
    grad = library.autograd.grad
    return {
        "grad of 1 input": lambda: grad(total, leaves[:1], retain_graph=True),
        "grad of 1,000 inputs": lambda: grad(total, leaves, retain_graph=True),
    }


def creation(library: Any) -> dict[str, Statement]:
    """Return tensors made from 200 arrays of NumPy and from 200 tensors, of 1,000 elements each."""
    tensors = [library.full((1000,), float(row)) for row in range(200)]
    statements: dict[str, Statement] = {"stack of 200 tensors": lambda: library.stack(tensors)}
    if importlib.util.find_spec("numpy") is not None:
        numpy = importlib.import_module("numpy")
        arrays = [numpy.full(1000, row, dtype="f4") for row in range(200)]
        statements["tensor of 200 arrays"] = lambda: library.tensor(arrays)
        statements["loop over the elements of 200 arrays"] = lambda: [
            float(element) for array in arrays for element in array
        ]
    return statements


def main() -> None:
    """Measure the library named by the argument. The statements take turns."""
    library = importlib.import_module(sys.argv[1])
    statements = products(library) | convolution(library) | gradients(library) | creation(library)
    least = dict.fromkeys(statements, float("inf"))
    for _ in range(ROUNDS):
        for name, statement in statements.items():
            begin = time.perf_counter_ns()
            statement()
            least[name] = min(least[name], float(time.perf_counter_ns() - begin))
    print(json.dumps(least))


if __name__ == "__main__":
    main()

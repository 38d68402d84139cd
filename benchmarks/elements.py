"""Time operations on two million elements, of interlock or of PyTorch, and print nanoseconds as JSON.

run.py runs it with both interpreters, so it uses only the standard library.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

ROUNDS = 15
THREADS = (1, 2)
SHAPE = (1024, 2048)

Statement = Callable[[], object]


def statements(library: Any) -> dict[str, Statement]:
    """Return the operations, by name."""
    rows, columns = SHAPE
    x, y = (library.rand(*SHAPE) * 2 - 1 for _ in range(2))
    positive, target = x.abs() + 0.5, x.clone()
    turned = library.rand(columns, rows).t()
    row, column = library.rand(columns), library.rand(rows, 1)
    double, whole, narrow = (x.to(getattr(library, name)) for name in ("float64", "int64", "int32"))
    half, brain = x.to(library.float16), x.to(library.bfloat16)
    mask = x > 0
    filled, probabilities = half.clone(), x.abs()
    loss = importlib.import_module(f"{library.__name__}.nn.functional").binary_cross_entropy
    tall = x.reshape(-1, 32)
    short, beside = tall[0], tall[:, :1]
    thousand = x.flatten()[:2_000_000].reshape(-1, 1000)
    return {
        "copy": x.clone,
        "copy, transposed": turned.contiguous,
        "add": lambda: x + y,
        "add, in place": lambda: target.add_(y),
        "add, a number": lambda: x + 1.5,
        "add, a row": lambda: x + row,
        "add, a column": lambda: x + column,
        "add, a row of 32": lambda: tall + short,
        "add, a column to rows of 32": lambda: tall + beside,
        "add, transposed": lambda: x + turned,
        "add, float64": lambda: double + double,
        "add, float16": lambda: half + half,
        "add, int64": lambda: whole + whole,
        "add, int32": lambda: narrow + narrow,
        "multiply, bfloat16": lambda: brain * brain,
        "divide": lambda: x / positive,
        "maximum": lambda: library.maximum(x, y),
        "clamp": lambda: x.clamp(-0.5, 0.5),
        "equal": lambda: x == y,
        "less than a number": lambda: x < 0.5,
        "where": lambda: library.where(mask, x, y),
        "masked_fill": lambda: x.masked_fill(mask, 0.5),
        "to float16": lambda: x.to(library.float16),
        "to float64": lambda: x.to(library.float64),
        "to int32": lambda: x.to(library.int32),
        "int64 to float16": lambda: whole.to(library.float16),
        "fill, float16": lambda: filled.fill_(0.5),
        "abs": x.abs,
        "sqrt": positive.sqrt,
        "floor": x.floor,
        "exp": x.exp,
        "exp, float16": half.exp,
        "log": positive.log,
        "tanh": x.tanh,
        "sigmoid": x.sigmoid,
        "sin": x.sin,
        "erf": x.erf,
        "sum": x.sum,
        "sum of columns": lambda: x.sum(0),
        "sum of rows": lambda: x.sum(1),
        "sum of 32 columns": lambda: tall.sum(0),
        "sum of rows of 32": lambda: tall.sum(1),
        "mean of rows": lambda: x.mean(1),
        "amax of rows": lambda: x.amax(1),
        "amax of rows of 1000": lambda: thousand.amax(1),
        "argmax of rows": lambda: x.argmax(1),
        "sum, int64": whole.sum,
        "softmax": lambda: x.softmax(1),
        "log_softmax": lambda: x.log_softmax(1),
        "cumsum": lambda: x.cumsum(1),
        "logical_and": lambda: library.logical_and(mask, mask),
        "any": mask.logical_and(~mask).any,
        "nonzero": mask.nonzero,
        "binary_cross_entropy": lambda: loss(probabilities, probabilities),
    }


def main() -> None:
    """Measure the library named by the argument. The operations take turns."""
    library = importlib.import_module(sys.argv[1])
    measured: dict[str, float] = {}
    with library.no_grad():
        operations = statements(library)
        for threads in THREADS:
            library.set_num_threads(threads)
            least = dict.fromkeys(operations, float("inf"))
            for _ in range(ROUNDS):
                for name, operation in operations.items():
                    begin = time.perf_counter_ns()
                    operation()
                    least[name] = min(least[name], float(time.perf_counter_ns() - begin))
            unit = "thread" if threads == 1 else "threads"
            measured |= {f"{name}, {threads} {unit}": value for name, value in least.items()}
    print(json.dumps(measured))


if __name__ == "__main__":
    main()

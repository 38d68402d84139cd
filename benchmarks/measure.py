"""Time the Python interface of interlock, or of PyTorch, in this process and print nanoseconds as JSON.

run.py runs it with both interpreters, so it uses only the standard library. Operations of one library take
turns, so that other load on the machine affects all of them alike. They are measured twice: alone, and with
scopes open in another thread. Operations with an initialized driver are measured last, because the driver
cannot be released.
"""

import contextlib
import importlib
import json
import sys
import threading
import timeit
from collections.abc import Iterator
from typing import Any

# The number of repetitions of a statement in the body of the loop, which makes the loop overhead negligible.
UNROLLED = 20
ROUNDS = 15
SECONDS = 0.006

STATEMENTS = {
    "flag": "cudnn.enabled",
    "view": "matmul.allow_tf32",
    "mode": "with no_grad():\n    pass",
    "flag scope": "with flags(enabled=False):\n    pass",
    "decorated call": "decorated()",
    "bare call": "bare()",
    "flag write": "cudnn.benchmark = True",
    "inference mode": "with inference_mode():\n    pass",
    "is_available": "accelerator.is_available()",
    "device_count": "accelerator.device_count()",
    "current_accelerator": "accelerator.current_accelerator()",
    "available accelerator": "accelerator.current_accelerator(check_available=True)",
    "product": "x @ y",
}
# Operations without an equivalent in PyTorch.
OURS = {
    "registered flag": "registered.value",
    "registered flag scope": "with registered.override(True):\n    pass",
    "explain": 'explain("cudnn.benchmark")',
}
# Operations with an initialized driver.
IN_USE = {
    "is_available in use": "accelerator.is_available()",
    "device_count in use": "accelerator.device_count()",
    "current_accelerator in use": "accelerator.current_accelerator()",
    "current_device_index in use": "accelerator.current_device_index()",
}
# The suffix of the names of measurements with scopes open in another thread.
ELSEWHERE = "with scopes elsewhere"
BASELINES = {
    "C getset": "baseline_flags.enabled",
    "C context manager": "with baseline_mode():\n    pass",
}


def names_of(library: Any) -> dict[str, Any]:
    """Return the local names of the statements, so that only the operation itself is measured."""
    cudnn = library.backends.cudnn
    return {
        "cudnn": cudnn,
        "matmul": library.backends.cuda.matmul,
        "flags": cudnn.flags,
        "accelerator": library.accelerator,
        "no_grad": library.no_grad,
        "inference_mode": library.inference_mode,
        "bare": lambda: None,
        "decorated": library.no_grad()(lambda: None),
        "x": library.ones(8, 8),
        "y": library.ones(8, 8),
    }


def names_of_ours(library: Any) -> dict[str, Any]:
    """Return the names of the statements without an equivalent in PyTorch."""
    registered = library.backends.register("benchmarks.flag", False, doc="A flag to measure.")
    return {"registered": registered, "explain": library.backends.explain}


def has_driver_in_use(accelerator: Any) -> bool:
    """Initialize interlock's host driver or PyTorch's accelerator. Return whether there is one."""
    if hasattr(accelerator, "use"):
        accelerator.use("host")
    if not accelerator.is_available():
        return False
    accelerator.current_device_index()
    return True


def baseline_names(folder: str) -> dict[str, Any]:
    """Return the names that the baseline statements use."""
    sys.path.append(folder)
    baseline = importlib.import_module("interlock_baseline")
    return {"baseline_flags": baseline.Flags("flags"), "baseline_mode": baseline.Mode}


@contextlib.contextmanager
def scopes_elsewhere(names: dict[str, Any]) -> Iterator[None]:
    """Keep a scope of the measured flag and a mode open in another thread."""
    opened, measured = threading.Event(), threading.Event()

    def keep_open() -> None:
        with names["flags"](enabled=False), names["no_grad"]():
            opened.set()
            measured.wait()

    thread = threading.Thread(target=keep_open)
    thread.start()
    opened.wait()
    try:
        yield
    finally:
        measured.set()
        thread.join()


def timer(statement: str, names: dict[str, Any]) -> timeit.Timer:
    """Return a timer of a statement, which is repeated in the body of the loop."""
    setup = "\n".join(f"{name} = names[{name!r}]" for name in names)
    return timeit.Timer("\n".join([statement] * UNROLLED), setup, globals={"names": names})


def best(timers: dict[str, timeit.Timer]) -> dict[str, float]:
    """Return the nanoseconds of each statement: the minimum of rounds in which all take turns."""
    loops: dict[str, int] = {}
    for name, clock in timers.items():
        clock.timeit(200)
        loops[name] = max(1, int(SECONDS / (clock.timeit(200) / 200)))
    least = dict.fromkeys(timers, float("inf"))
    for _ in range(ROUNDS):
        for name, clock in timers.items():
            seconds = clock.timeit(loops[name]) / (loops[name] * UNROLLED)
            least[name] = min(least[name], seconds * 1e9)
    return least


def main() -> None:
    """Measure the library named by the first argument; the second is the folder of the baselines."""
    name, baselines = sys.argv[1], sys.argv[2:]
    library = importlib.import_module(name)
    names = names_of(library)
    timers = {key: timer(statement, names) for key, statement in STATEMENTS.items()}
    if name == "interlock":
        ours = names_of_ours(library)
        timers |= {key: timer(statement, ours) for key, statement in OURS.items()}
    if baselines:
        beside = baseline_names(baselines[0])
        timers |= {key: timer(statement, beside) for key, statement in BASELINES.items()}
    with contextlib.redirect_stdout(sys.stderr):
        measured = best(timers)
        with scopes_elsewhere(names):
            beside_scopes = best(timers)
        if has_driver_in_use(library.accelerator):
            measured |= best({key: timer(statement, names) for key, statement in IN_USE.items()})
    print(json.dumps(measured | {f"{key} {ELSEWHERE}": time for key, time in beside_scopes.items()}))


if __name__ == "__main__":
    main()

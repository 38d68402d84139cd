"""Time scopes in contexts with 1 and 16 variables, and print nanoseconds as JSON.

The arguments are the library and folders to import from: that of the baselines, or that of the packages if
the interpreter is another one than that of the library. Beside the library it measures what else follows
contexts: a `ContextVar`, `decimal.localcontext` and, if installed, `numpy.errstate`. run.py also runs it with
PyTorch.
"""

import contextlib
import contextvars
import decimal
import importlib
import json
import sys
import timeit
from typing import Any

VARIABLES = (1, 16)
UNROLLED = 20
ROUNDS = 15
SECONDS = 0.006

STATEMENTS = {
    "no_grad": "with no_grad():\n    pass",
    "read": "is_grad_enabled()",
    "ContextVar": "variable.reset(variable.set(1))",
    "localcontext": "with localcontext():\n    pass",
}
WITH_NUMPY = {"errstate": "with errstate(over='ignore'):\n    pass"}
WITH_BASELINES = {
    "C set and reset": "baseline_variable.set_and_reset()",
    "C scope": "with baseline_scope():\n    pass",
    "C getset": "baseline_flags.enabled",
}
# How the variable gets a value that stays. `no_grad` and `localcontext` leave theirs set after the first
# scope, and it is cheaper to set and reset a variable that a context lacks.
FIRST = {
    "ContextVar": "variable.set(0)",
    "C set and reset": "baseline_variable.set()",
    "C scope": "baseline_scope().__enter__()",
}
# Two switches: into a context and back.
SWITCH = "run(nothing)"


def context_with(count: int, first: timeit.Timer) -> contextvars.Context:
    """Return a context with this many variables, one of which `first` sets."""
    context = contextvars.Context()
    context.run(first.timeit, 1)
    for index in range(count - 1):
        variable = contextvars.ContextVar[int](f"other{index}")
        context.run(variable.set, index)
    return context


def names_of(library: Any) -> dict[str, Any]:
    """Return the local names of the statements."""
    return {
        "no_grad": library.no_grad,
        "is_grad_enabled": library.is_grad_enabled,
        "variable": contextvars.ContextVar("measured"),
        "localcontext": decimal.localcontext,
    }


def timer(statement: str, names: dict[str, Any]) -> timeit.Timer:
    """Return a timer of a statement, which is repeated in the body of the loop."""
    setup = "\n".join(f"{name} = names[{name!r}]" for name in names)
    return timeit.Timer("\n".join([statement] * UNROLLED), setup, globals={"names": names})


def best(timers: dict[str, tuple[contextvars.Context, timeit.Timer]]) -> dict[str, float]:
    """Return the nanoseconds of each statement: the minimum of rounds in which all take turns."""
    loops: dict[str, int] = {}
    for name, (context, clock) in timers.items():
        context.run(clock.timeit, 200)
        loops[name] = max(1, int(SECONDS / (context.run(clock.timeit, 200) / 200)))
    least = dict.fromkeys(timers, float("inf"))
    for _ in range(ROUNDS):
        for name, (context, clock) in timers.items():
            seconds = context.run(clock.timeit, loops[name]) / (loops[name] * UNROLLED)
            least[name] = min(least[name], seconds * 1e9)
    return least


def switches(library: Any) -> dict[str, tuple[contextvars.Context, timeit.Timer]]:
    """Return timers of switches between two contexts, with a scope in each and without state."""
    found = {}
    states = {"with state": library.enable_grad(), "without state": contextlib.nullcontext()}
    for name, scope in states.items():
        here, there = contextvars.Context(), contextvars.Context()
        if name == "with state":
            here.run(library.no_grad().__enter__)
        there.run(scope.__enter__)
        found[f"switch {name}"] = (here, timer(SWITCH, {"run": there.run, "nothing": int}))
    return found


def main() -> None:
    """Measure the library named by the first argument."""
    name, *folders = sys.argv[1:]
    sys.path += folders
    library = importlib.import_module(name)
    names, statements = names_of(library), dict(STATEMENTS)
    with contextlib.suppress(ImportError):
        names["errstate"] = importlib.import_module("numpy").errstate
        statements |= WITH_NUMPY
    with contextlib.suppress(ImportError):
        baseline = importlib.import_module("interlock_baseline")
        names |= {
            "baseline_variable": baseline.Variable(),
            "baseline_scope": baseline.Scope,
            "baseline_flags": baseline.Flags("flags"),
        }
        statements |= WITH_BASELINES
    timers = {
        f"{key}, {count} variables": (
            context_with(count, timer(FIRST.get(key, statement), names)),
            timer(statement, names),
        )
        for count in VARIABLES
        for key, statement in statements.items()
    }
    print(json.dumps(best(timers | (switches(library) if name == "interlock" else {}))))


if __name__ == "__main__":
    main()

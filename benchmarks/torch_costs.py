"""Measure what settings, carried modes and `follow` cost beside PyTorch, and print nanoseconds as JSON.

The argument is the folder of the installed interlock. The program runs with an interpreter that has PyTorch.
"""

import asyncio
import json
import sys
import time
import timeit
from collections.abc import Callable
from importlib import import_module

sys.path.insert(0, sys.argv[1])

import interlock
from interlock import aio, settings
from interlock.integrations.torch import carry, follow

# The environment of the tests lacks it.
torch = import_module("torch")
ROUNDS = 7
CALLS = 2_000
STEPS = 2_000


async def nanoseconds_per_step() -> float:
    """Return the duration of an iteration of the event loop, in a task with a mode of its own."""
    with torch.no_grad():
        started = time.perf_counter()
        for _ in range(STEPS):
            await asyncio.sleep(0)
        return (time.perf_counter() - started) / STEPS * 1e9


def best(function: Callable[[], object]) -> float:
    """Return the shortest duration of a call."""
    return min(timeit.repeat(function, number=CALLS, repeat=ROUNDS)) / CALLS * 1e9


def write() -> None:
    """Write a flag of PyTorch."""
    torch.backends.cudnn.benchmark = True


def scope_of_torch() -> None:
    """Set flags in PyTorch's own scope."""
    with torch.backends.cudnn.flags(enabled=False):
        pass


def scope() -> None:
    """Hold a flag of PyTorch."""
    with settings.override({"torch.backends.cudnn.enabled": False}):
        pass


def mode_of_torch() -> None:
    """Set a mode of PyTorch."""
    with torch.no_grad():
        pass


def mode() -> None:
    """Set a mode of interlock."""
    with interlock.no_grad():
        pass


def main() -> None:
    """Measure each cost with and without what it adds."""
    times = {
        "write": best(write),
        "scope of torch": best(scope_of_torch),
        "mode of torch": best(mode_of_torch),
        "step": min(aio.run(nanoseconds_per_step()) for _ in range(ROUNDS)),
    }
    state = interlock.capture()
    times["call"] = best(lambda: state.run(int))
    with settings.enable("torch"):
        times |= {"recorded write": best(write), "override": best(scope)}
    with carry():
        times["carried step"] = min(aio.run(nanoseconds_per_step()) for _ in range(ROUNDS))
        carried = interlock.capture()
        times["carried call"] = best(lambda: carried.run(int))
    with follow():
        times["followed mode"] = best(mode)
    print(json.dumps(times))


if __name__ == "__main__":
    main()

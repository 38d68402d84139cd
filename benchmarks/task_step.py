"""Measure a step of an asyncio task with and without task-local state, and print nanoseconds as JSON."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from typing import Any

from interlock import aio, no_grad

ROUNDS = 15
STEPS = 5_000


async def nanoseconds_per_step() -> float:
    """Return the duration of an iteration of the event loop."""
    # Open a scope, so that the state that each step swaps is not empty.
    with no_grad():
        started = time.perf_counter()
        for _ in range(STEPS):
            await asyncio.sleep(0)
        return (time.perf_counter() - started) / STEPS * 1e9


RUN: dict[str, Callable[[Coroutine[Any, Any, float]], float]] = {
    "asyncio": asyncio.run,
    "aio": aio.run,
}


def main() -> None:
    """Print the minimum of each; the two take turns."""
    rounds = [{name: run(nanoseconds_per_step()) for name, run in RUN.items()} for _ in range(ROUNDS)]
    print(json.dumps({name: min(times[name] for times in rounds) for name in RUN}))


if __name__ == "__main__":
    main()

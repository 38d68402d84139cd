"""A hundred tasks enter, exit and write at random, and check their own state at every step."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import interlock
import pytest
from interlock import aio, backends
from interlock.backends import cudnn

TASKS = 100
STEPS = 1000
DEEPEST = 6
FLAGS = ("cudnn.benchmark", "cudnn.deterministic")
Slots = dict[str, bool]
DEFAULT: Slots = {"grad": True, "inference": False} | dict.fromkeys(FLAGS, False)


def seen() -> Slots:
    """Return the value of every slot."""
    return {
        "grad": interlock.is_grad_enabled(),
        "inference": interlock.is_inference_mode_enabled(),
        "cudnn.benchmark": cudnn.benchmark,
        "cudnn.deterministic": cudnn.deterministic,
    }


class Scope(NamedTuple):
    """A scope and the slots that it sets."""

    manager: Any
    decides: Slots


def any_scope(chance: random.Random) -> Scope:
    """Return a scope of a random kind."""
    on = chance.random() < 0.5
    flags = {name: chance.random() < 0.5 for name in chance.sample(FLAGS, chance.randint(1, 2))}
    return chance.choice(
        [
            lambda: Scope(interlock.no_grad(), {"grad": False}),
            lambda: Scope(interlock.enable_grad(), {"grad": True}),
            lambda: Scope(interlock.set_grad_enabled(on), {"grad": on}),
            lambda: Scope(interlock.inference_mode(on), {"grad": not on, "inference": on}),
            lambda: Scope(backends.override(dict(flags)), flags),
        ]
    )()


class Walk:
    """A random sequence of scopes, and the expected state."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.steps = STEPS
        self.layers = [dict(DEFAULT)]

    def expected(self) -> Slots:
        together: Slots = {}
        for layer in self.layers:
            together |= layer
        return together

    def write(self) -> None:
        slot, on = (
            self.chance.choice([name for name in DEFAULT if name != "inference"]),
            self.chance.random() < 0.5,
        )
        deciding = next(layer for layer in reversed(self.layers) if slot in layer)
        if slot == "grad":
            interlock.set_grad_enabled(on)
        elif deciding is self.layers[0]:
            return  # that would be an assignment for the process
        else:
            setattr(cudnn, slot.removeprefix("cudnn."), on)
        deciding[slot] = on

    async def step(self) -> None:
        self.steps -= 1
        await asyncio.sleep(0)
        assert seen() == self.expected()

    async def go(self) -> None:
        while self.steps > 0:
            await self.step()
            action = self.chance.random()
            if action < 0.4 and len(self.layers) <= DEEPEST:
                scope = any_scope(self.chance)
                with scope.manager:
                    self.layers.append(dict(scope.decides))
                    await self.go()
                    self.layers.pop()
            elif action < 0.75 and len(self.layers) > 1:
                return
            else:
                self.write()


async def walk_together() -> None:
    """Run all tasks."""

    async def walk_alone(seed: int) -> None:
        walk = Walk(seed)
        await walk.go()
        assert len(walk.layers) == 1

    await asyncio.gather(*map(walk_alone, range(TASKS)))


@pytest.mark.slow
@pytest.mark.parametrize("run", [asyncio.run, aio.run], ids=["asyncio", "aio"])
def test_every_task_sees_its_own_state_at_every_step(run: Callable[..., None]) -> None:
    run(walk_together())
    assert seen() == DEFAULT
    assert repr(interlock.capture()).endswith("anomaly_check_nan=True)")

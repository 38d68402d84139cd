"""A hundred tasks enter, exit and write at random, and check their own state at every step."""

from __future__ import annotations

import asyncio
import random
from typing import Any, NamedTuple

import interlock
import pytest
from interlock import aio, backends
from interlock.backends import cudnn

from tests.helpers.overlapping_tasks import overlaps_tasks

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

    def __init__(self, seed: int, *, alone: bool) -> None:
        self.chance = random.Random(seed)
        self.steps = STEPS
        self.layers = [dict(DEFAULT)]
        #: Whether the task has its own state, so that the expected state is known.
        self.alone = alone

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
        if self.alone:
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
            elif self.alone:
                self.write()


async def walk_together(*, alone: bool) -> None:
    """Run all tasks, and another one that each of them creates during its own steps."""

    async def with_a_child(seed: int) -> None:
        walk = Walk(seed, alone=alone)
        await walk.go()
        assert not alone or len(walk.layers) == 1

    await asyncio.gather(*map(with_a_child, range(TASKS)))


def test_every_task_sees_its_own_state_at_every_step() -> None:
    aio.run(walk_together(alone=True))
    assert seen() == DEFAULT


@overlaps_tasks
def test_without_the_runner_the_state_is_right_once_all_scopes_have_ended() -> None:
    asyncio.run(walk_together(alone=False))
    assert seen() == DEFAULT
    assert repr(interlock.capture()).endswith("anomaly_check_nan=True)")


@overlaps_tasks
def test_walk_detects_tasks_that_share_a_state() -> None:
    with pytest.raises(AssertionError):
        asyncio.run(walk_together(alone=True))

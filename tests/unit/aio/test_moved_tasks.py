"""Tasks that continue on another thread, on which their loop is run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import interlock
import pytest
from interlock import aio, inference_mode, is_grad_enabled, no_grad

from tests.helpers.thread_worker import Worker


async def enter_after_a_step() -> tuple[bool, bool]:
    """Create a setter, which writes; enter it after a step, which reverts the write."""
    scope = interlock.set_grad_enabled(False)
    await asyncio.sleep(0)
    with scope:
        inside = is_grad_enabled()
    return inside, is_grad_enabled()


async def enter_after_a_step_in_a_scope() -> tuple[bool, bool]:
    """Call `enter_after_a_step` inside a scope that sets the mode."""
    with interlock.enable_grad():
        return await enter_after_a_step()


async def exit_after_a_step() -> tuple[bool, bool]:
    """Read the state inside a scope and after it."""
    with no_grad():
        await asyncio.sleep(0)
        inside = is_grad_enabled()
    return inside, is_grad_enabled()


@pytest.mark.parametrize(
    "main",
    [enter_after_a_step, enter_after_a_step_in_a_scope, exit_after_a_step],
    ids=lambda main: main.__name__,
)
def test_moved_task_removes_its_writes_and_layers(
    main: Callable[[], Coroutine[Any, Any, tuple[bool, bool]]], workers: tuple[Worker, Worker]
) -> None:
    loop = asyncio.new_event_loop()
    loop.set_task_factory(aio.task_factory())

    def one_step() -> asyncio.Task[tuple[bool, bool]]:
        task = loop.create_task(main())
        loop.call_soon(loop.stop)
        loop.run_forever()
        return task

    def the_rest(task: asyncio.Task[tuple[bool, bool]]) -> tuple[tuple[bool, bool], bool]:
        with inference_mode():
            return loop.run_until_complete(task), is_grad_enabled()

    task = workers[0].do(one_step)
    assert workers[1].do(lambda: the_rest(task)) == ((False, True), False)
    assert [worker.do(is_grad_enabled) for worker in workers] == [True, True]
    loop.close()

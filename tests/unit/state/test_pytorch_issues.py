"""Issues of PyTorch about the state of threads, and interlock's behaviour (docs/pytorch_issues.md)."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import interlock
from interlock import aio, inference_mode, is_grad_enabled, no_grad

from tests.helpers.subprocess import marked_lines, run_program


def test_overlapping_scopes_of_tasks_are_restored_and_isolated() -> None:
    async def block(scope: object, steps: int) -> list[bool]:
        seen = []
        with scope:  # type: ignore[attr-defined]
            for _ in range(steps):
                seen.append(is_grad_enabled())
                await asyncio.sleep(0)
        return seen

    async def overlapping() -> list[list[bool]]:
        blocks = [block(no_grad(), 3), block(interlock.enable_grad(), 5), block(inference_mode(), 7)]
        seen = await asyncio.gather(*blocks)
        assert is_grad_enabled()
        assert not interlock.is_inference_mode_enabled()
        return seen

    asyncio.run(overlapping())
    assert is_grad_enabled()
    assert not interlock.is_inference_mode_enabled()
    assert aio.run(overlapping()) == [[False] * 3, [True] * 5, [False] * 7]


def test_worker_threads_have_the_captured_state() -> None:
    with no_grad():
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(is_grad_enabled).result()
        with ThreadPoolExecutor(1, initializer=interlock.capture().install) as pool:
            assert not pool.submit(is_grad_enabled).result()


def test_scope_open_in_a_suspended_generator_warns_with_both_lines() -> None:
    program = "state.generators.read_a_mode_beside_a_suspended_generator"
    done = run_program(program, env={"INTERLOCK_DEBUG": "1"})
    assert done.code == 0
    lines = marked_lines(program)
    expected = f"ScopeWarning: the scope of no_grad entered at {lines['entered']} is open here, "
    assert f"{lines['seen']}: {expected}" in done.stderr

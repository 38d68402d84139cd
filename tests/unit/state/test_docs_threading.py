"""docs/threads.md: each of its lines has the test of the same number here."""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import interlock
from interlock import (
    backends,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    state,
)
from interlock.backends import cudnn

from tests.helpers.contexts import in_a_new_context
from tests.helpers.subprocess import run_program
from tests.helpers.thread_worker import Worker

PAGE = Path(__file__).resolve().parents[3] / "docs" / "threads.md"
Workers = tuple[Worker, Worker]


def seen() -> tuple[bool, bool, bool]:
    """Return the modes and a flag."""
    return is_grad_enabled(), is_inference_mode_enabled(), cudnn.enabled


DEFAULTS = (True, False, True)


def test_every_line_of_the_page_has_a_test() -> None:
    lines = [int(number) for number in re.findall(r"^(\d+)\. ", PAGE.read_text(), re.MULTILINE)]
    tests = [int(name[10:12]) for name in globals() if name.startswith("test_line_")]
    assert lines == tests == list(range(1, 11))


def test_line_01_a_new_thread_starts_from_the_defaults() -> None:
    with inference_mode(), no_grad(), cudnn.flags(enabled=False), ThreadPoolExecutor(1) as pool:
        assert pool.submit(seen).result() == DEFAULTS


def test_line_02_scopes_are_per_context_and_assignments_global(workers: Workers, restored: None) -> None:
    with no_grad(), backends.override({"cudnn.enabled": False}):
        assert workers[0].do(seen) == DEFAULTS
        copy = contextvars.copy_context()
        cudnn.deterministic = True
        assert workers[0].do(lambda: cudnn.deterministic)
    assert (seen(), copy.run(seen)) == (DEFAULTS, (False, False, False))


def test_line_03_scope_objects_are_shared_and_exited_in_any_order(workers: Workers) -> None:
    scope, other = no_grad(), inference_mode()
    for enter in (scope.__enter__, other.__enter__, scope.__enter__):
        enter()
        workers[0].do(enter)
    for leave in (scope.__exit__, other.__exit__, scope.__exit__):
        leave(None, None, None)
        workers[0].do(lambda leave=leave: leave(None, None, None))  # type: ignore[misc]
    assert seen() == DEFAULTS
    assert workers[0].do(seen) == DEFAULTS


def test_line_04_a_captured_state_is_applied_on_another_thread(workers: Workers) -> None:
    with no_grad(), backends.override({"cudnn.enabled": False}):
        captured = interlock.capture()
    worker, scope = workers[0], inference_mode()
    worker.do(scope.__enter__)

    def applied() -> tuple[bool, bool, bool]:
        with captured.apply():
            return seen()

    for put_in_force in (lambda: captured.run(seen), captured.wrap(seen), applied):
        assert worker.do(put_in_force) == (False, False, False)
    assert worker.do(seen) == (False, True, True)


def test_line_05_an_executor_starts_its_threads_from_a_captured_state() -> None:
    with no_grad():
        captured = interlock.capture()
    with ThreadPoolExecutor(2, initializer=captured.install) as pool:
        assert list(pool.map(lambda _: is_grad_enabled(), range(4))) == [False] * 4
    with interlock.Executor(1) as pool:
        with no_grad():
            inside = pool.submit(is_grad_enabled)
        assert (inside.result(), pool.submit(is_grad_enabled).result()) == (False, True)


def test_line_06_a_decorated_generator_has_its_scope_only_while_it_runs() -> None:
    @no_grad()
    def generator() -> Iterator[bool]:
        yield is_grad_enabled()

    @no_grad()
    async def coroutine() -> bool:
        await asyncio.sleep(0)
        return is_grad_enabled()

    @no_grad()
    async def async_generator() -> AsyncIterator[bool]:
        yield is_grad_enabled()

    async def consume() -> None:
        task = asyncio.ensure_future(coroutine())
        await asyncio.sleep(0)
        assert is_grad_enabled()
        assert not await task
        async for inside in async_generator():
            assert (inside, is_grad_enabled()) == (False, True)

    @no_grad()
    def with_an_inner_scope() -> Iterator[bool]:
        with interlock.enable_grad():
            yield is_grad_enabled()
            yield is_grad_enabled()

    for inside in generator():
        assert (inside, is_grad_enabled()) == (False, True)
    assert list(with_an_inner_scope()) == [True, True]
    asyncio.run(consume())


def test_line_07_an_exit_elsewhere_ends_the_scope_wherever_it_is_open(
    workers: Workers,
) -> None:
    def numbers() -> Iterator[int]:
        with no_grad():
            yield 1

    generator = numbers()
    workers[0].do(lambda: next(generator))
    assert not workers[0].do(is_grad_enabled)
    workers[1].do(generator.close)  # type: ignore[attr-defined]
    assert workers[1].do(is_grad_enabled)
    assert workers[0].do(is_grad_enabled)


def test_line_08_a_copy_keeps_a_scope_that_its_context_exits() -> None:
    async def child() -> bool:
        await asyncio.sleep(0)
        return is_grad_enabled()

    async def main() -> tuple[bool, bool]:
        with no_grad():
            task = asyncio.create_task(child())
        return is_grad_enabled(), await task

    assert asyncio.run(main()) == (True, False)


@in_a_new_context
def test_line_09_a_write_lasts_for_its_context_and_a_default_for_all(workers: Workers) -> None:
    async def child() -> bool:
        interlock.set_grad_enabled(False)
        await asyncio.sleep(0)
        return is_grad_enabled()

    async def main() -> tuple[bool, bool]:
        return await asyncio.create_task(child()), is_grad_enabled()

    assert asyncio.run(main()) == (False, True)
    state.set_process_defaults(grad_enabled=False)
    try:
        assert workers[0].do(is_grad_enabled) == asyncio.run(child()) == is_grad_enabled() is False
    finally:
        state.set_process_defaults(grad_enabled=None)
    assert is_grad_enabled()


def test_line_10_forked_children_inherit_and_others_install_the_flags() -> None:
    done = run_program("processes.start_methods.processes_of_the_documentation")
    assert done.code == 0, done.stderr
    assert done.stdout.strip() == "[(False, False, True), (True, True, True)]"

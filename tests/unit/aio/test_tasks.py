"""Tasks of `interlock.aio`, which have the state of their context."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import gc
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from typing import Any

import interlock
import pytest
from interlock import aio, backends, inference_mode, is_grad_enabled, no_grad
from interlock.backends import cudnn

from tests.helpers.subprocess import run_program

Main = Callable[[], Coroutine[Any, Any, Any]]


async def seen_after_a_step() -> tuple[bool, bool]:
    """Let other tasks run, then return a mode and a flag."""
    await asyncio.sleep(0)
    return is_grad_enabled(), cudnn.enabled


def test_first_task_copies_the_thread_state_and_does_not_write_it_back() -> None:
    async def main() -> tuple[bool, bool]:
        interlock.set_grad_enabled(True)
        return await seen_after_a_step()

    with no_grad(), backends.override({"cudnn.enabled": False}):
        assert aio.run(main()) == (True, False)
        assert not is_grad_enabled()
    assert is_grad_enabled()
    assert cudnn.enabled


def test_task_begins_with_a_copy_of_the_state_of_its_creator() -> None:
    async def main() -> None:
        with no_grad(), backends.override({"cudnn.enabled": False}):
            task = asyncio.create_task(seen_after_a_step())
        assert await seen_after_a_step() == (True, True)
        assert await task == (False, False)

    aio.run(main())


def test_overlapping_scopes_of_two_tasks_are_isolated() -> None:
    async def first(entered: asyncio.Event, leave: asyncio.Event) -> None:
        with no_grad():
            entered.set()
            await leave.wait()
            assert not is_grad_enabled()
        assert is_grad_enabled()

    async def main() -> None:
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(first(entered, leave))
        await entered.wait()
        assert is_grad_enabled()
        with inference_mode():
            leave.set()
            await task
            assert interlock.is_inference_mode_enabled()
        assert is_grad_enabled()

    aio.run(main())


def test_write_without_a_scope_ends_with_the_task() -> None:
    async def write() -> bool:
        interlock.set_grad_enabled(False)
        await asyncio.sleep(0)
        return is_grad_enabled()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(write()), group.create_task(seen_after_a_step())]
        assert [task.result() for task in tasks] == [False, (True, True)]
        assert is_grad_enabled()

    aio.run(main())


def test_flag_scoped_by_the_creator_is_assigned_for_the_task_only(restored: None) -> None:
    async def assign() -> bool:
        cudnn.enabled = True
        cudnn.deterministic = True
        await asyncio.sleep(0)
        return cudnn.enabled

    async def main() -> None:
        with backends.override({"cudnn.enabled": False}):
            assert await asyncio.create_task(assign())
            assert not cudnn.enabled
        assert cudnn.deterministic

    aio.run(main())
    assert cudnn.deterministic


def test_cancelled_task_cleans_up_in_its_own_state() -> None:
    cleaned = []

    async def wait() -> None:
        with no_grad():
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append(is_grad_enabled())

    async def main() -> None:
        started, not_started = asyncio.create_task(wait()), asyncio.create_task(wait())
        not_started.cancel()
        await asyncio.sleep(0)
        started.cancel()
        assert await asyncio.gather(started, not_started, return_exceptions=True) != [None, None]
        assert is_grad_enabled()

    aio.run(main())
    assert cleaned == [False]


def test_collected_unfinished_task_does_not_affect_the_thread() -> None:
    cleaned = []

    async def wait() -> None:
        with no_grad(), backends.override({"cudnn.enabled": False}):
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                cleaned.append(1)

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)  # otherwise it prints that the task was pending
    task = aio.task_factory()(loop, wait())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    with inference_mode():
        del task
        gc.collect()
        assert interlock.is_inference_mode_enabled()
    assert cleaned == [1]
    assert is_grad_enabled()
    assert cudnn.enabled


def test_asyncgen_closed_by_the_loop_removes_the_layer_of_its_task() -> None:
    async def numbers() -> AsyncIterator[int]:
        with no_grad():
            yield 1
            yield 2

    async def main() -> None:
        generator = numbers()
        async for _ in generator:
            break
        assert not is_grad_enabled()
        await asyncio.create_task(generator.aclose())  # type: ignore[attr-defined]
        assert is_grad_enabled()

    aio.run(main())


def test_to_thread_has_the_state_of_its_caller_and_executors_the_defaults() -> None:
    async def main() -> None:
        with no_grad():
            assert not await asyncio.to_thread(is_grad_enabled)
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, is_grad_enabled)
            with interlock.Executor(1) as pool:
                assert not await loop.run_in_executor(pool, is_grad_enabled)

    aio.run(main())


def test_callbacks_of_the_loop_run_in_the_state_that_scheduled_them() -> None:
    async def main() -> None:
        called: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        with no_grad():
            asyncio.get_running_loop().call_soon(lambda: called.set_result(is_grad_enabled()))
        assert not await called

    aio.run(main())


def test_runner_runs_in_one_context_as_that_of_asyncio() -> None:
    with aio.Runner() as runner:
        assert runner.run(seen_after_a_step()) == (True, True)
        with no_grad():
            assert runner.run(seen_after_a_step()) == (True, True)
            context = contextvars.copy_context()
            assert runner.run(seen_after_a_step(), context=context) == (False, True)
        factory = runner.get_loop().get_task_factory()
        assert runner.run(seen_after_a_step()) == (True, True)
        assert runner.get_loop().get_task_factory() is factory


def test_existing_task_factory_of_the_loop_is_used() -> None:
    made = []

    class Task(asyncio.Task[Any]):
        pass

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(Task(coroutine, loop=loop, **options))
        return made[-1]

    def new_loop() -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_task_factory(factory)
        return loop

    async def main() -> tuple[bool, bool]:
        with no_grad():
            return await asyncio.create_task(seen_after_a_step())

    assert aio.run(main(), loop_factory=new_loop) == (False, True)
    # asyncio created the last one, to shut the loop down.
    assert [type(task) for task in made[:2]] == [Task, Task]


@pytest.mark.parametrize("make", [aio.task_factory, lambda: aio.task_factory(aio.task_factory)])
def test_task_factory_is_a_task_factory_itself(make: Any) -> None:
    factory = make if make is aio.task_factory else make()

    def new_loop() -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_task_factory(factory)
        return loop

    async def main() -> tuple[bool, bool]:
        task = asyncio.get_running_loop().create_task(seen_after_a_step(), name="named")
        assert task.get_name() == "named"
        with no_grad():
            return await asyncio.create_task(seen_after_a_step())

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(main()) == (False, True)
    with aio.Runner(loop_factory=new_loop) as own:
        assert own.get_loop().get_task_factory() is factory
        assert own.run(main()) == (False, True)


def test_inner_factory_may_wrap_the_coroutine() -> None:
    async def wrapper(coroutine: Any) -> Any:
        return await coroutine

    def inner(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(wrapper(coroutine), loop=loop, **options)

    async def child() -> bool:
        with no_grad():
            await asyncio.sleep(0)
            return is_grad_enabled()

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(aio.task_factory(inner))
        task = asyncio.create_task(child())
        await asyncio.sleep(0)
        assert is_grad_enabled()
        assert not await task

    aio.run(main())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager task factories came with Python 3.12")
def test_eager_task_runs_its_first_step_in_its_own_state() -> None:
    async def child() -> bool:
        interlock.set_grad_enabled(False)
        await asyncio.sleep(0)
        return is_grad_enabled()

    async def main() -> None:
        eager = getattr(asyncio, "eager_task_factory")  # noqa: B009 - unknown to Python 3.11
        asyncio.get_running_loop().set_task_factory(aio.task_factory(eager))
        with inference_mode():
            task = asyncio.create_task(child())
            assert interlock.is_inference_mode_enabled()
        assert is_grad_enabled()
        assert not await task

    aio.run(main())


def test_tasks_have_the_names_contexts_and_frames_of_asyncio() -> None:
    variable = contextvars.ContextVar("variable", default=0)

    async def child() -> int:
        await asyncio.sleep(0)
        return variable.get()

    async def main() -> None:
        context = contextvars.copy_context()
        context.run(variable.set, 7)
        task = asyncio.get_running_loop().create_task(child(), name="named", context=context)
        await asyncio.sleep(0)
        assert task.get_name() == "named"
        assert "child() running at" in repr(task)
        assert [frame.f_code.co_name for frame in task.get_stack()] == ["child"]
        assert await task == 7

    aio.run(main())


def test_never_awaited_coroutine_warns_as_in_asyncio() -> None:
    loop = asyncio.new_event_loop()
    factory = aio.task_factory(lambda _loop, coroutine: coroutine)
    with pytest.warns(RuntimeWarning, match="never awaited"):
        factory(loop, seen_after_a_step())
    loop.close()


def test_errors_of_wrong_calls_name_the_argument() -> None:
    loop = asyncio.new_event_loop()
    loop.set_task_factory(aio.task_factory())
    with pytest.raises(TypeError, match="coroutine, got int"):
        loop.create_task(3)  # type: ignore[arg-type]  # noqa: RUF006 - it creates none
    loop.close()
    with pytest.raises(TypeError, match="None, got int"):
        aio.task_factory(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"aio\.run: main must be a coroutine .*, got int"):
        aio.run(3)  # type: ignore[arg-type]


def test_run_accepts_any_awaitable() -> None:
    class Twice:
        def __await__(self) -> Generator[Any, Any, bool]:
            yield from asyncio.sleep(0).__await__()
            with no_grad():
                yield from asyncio.sleep(0).__await__()
                return is_grad_enabled()

    assert aio.run(Twice()) is False
    assert is_grad_enabled()


def test_run_of_a_runner_inside_a_running_loop_is_refused() -> None:
    async def main() -> None:
        runner = aio.Runner()
        inner = seen_after_a_step()
        with pytest.raises(RuntimeError, match=r"Runner\.run: .* while an event loop runs"):
            runner.run(inner)
        inner.close()
        runner.close()

    aio.run(main())


def test_runner_inside_a_running_loop_is_refused() -> None:
    async def main() -> None:
        inner = seen_after_a_step()
        with pytest.raises(RuntimeError, match="while an event loop runs"):
            aio.run(inner)
        inner.close()

    aio.run(main())


def test_factory_coroutine_cannot_be_copied() -> None:
    inner = seen_after_a_step()
    steps = aio.task_factory(lambda _loop, steps: steps)(None, inner)
    with pytest.raises(TypeError, match="neither copied nor pickled"):
        copy.copy(steps)
    steps.close()


def test_steps_without_a_coroutine_are_refused_and_finalized_silently() -> None:
    done = run_program("aio.steps_without_a_coroutine_are_refused_and_finalized_silently")
    assert (done.code, done.stderr) == (0, "")
    assert "coroutine" in done.stdout

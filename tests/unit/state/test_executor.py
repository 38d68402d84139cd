"""`interlock.Executor`: each call runs in the state of the code that submitted it."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import interlock
import pytest
from interlock import Executor, backends
from interlock.backends import cudnn


class Coroutine:
    async def work(self, number: int = 0) -> int:
        return number


class Generator:
    def work(self, number: int = 0) -> Iterator[int]:
        yield number


class AsyncGenerator:
    async def work(self, number: int = 0) -> AsyncIterator[int]:
        yield number


RESUMABLE: dict[str, Callable[..., Any]] = {
    "coroutine": Coroutine().work,
    "generator": Generator().work,
    "async generator": AsyncGenerator().work,
}


def seen(*numbers: int, grad: bool | None = None) -> tuple[bool, bool, int]:
    """Return a mode, a flag and the sum of the numbers, with a mode of its own if asked to."""
    with interlock.set_grad_enabled(interlock.is_grad_enabled() if grad is None else grad):
        return interlock.is_grad_enabled(), cudnn.enabled, sum(numbers)


def test_calls_of_one_thread_run_in_the_states_of_their_submits() -> None:
    with Executor(1) as pool:
        plain = pool.submit(seen)
        with interlock.no_grad():
            without_gradients = pool.submit(seen, 1, 2)
            with backends.override({"cudnn.enabled": False}):
                mapped = pool.map(seen, [3, 4])
                keyword = pool.submit(seen, 5, grad=True)
        later = pool.submit(seen)
        results = [plain.result(), without_gradients.result(), *mapped, keyword.result(), later.result()]
    expected = [(True, True, 0), (False, True, 3), (False, False, 3), (False, False, 4), (True, False, 5)]
    assert results == [*expected, (True, True, 0)]


def test_initializer_runs_with_the_defaults_of_a_new_thread() -> None:
    found = []
    with interlock.no_grad(), Executor(1, initializer=lambda: found.append(seen())) as pool:
        assert pool.submit(seen).result() == (False, True, 0)
    assert found == [(True, True, 0)]


def test_exception_and_scopes_of_a_call_do_not_reach_the_next_one() -> None:
    def leave_open() -> None:
        interlock.no_grad().__enter__()
        interlock.set_grad_enabled(False)
        raise ValueError("left open")

    with Executor(1) as pool:
        assert str(pool.submit(leave_open).exception()) == "left open"
        assert pool.submit(seen).result() == (True, True, 0)


def test_state_is_released_after_the_call() -> None:
    class Hook:
        def __call__(self, tensor: object) -> object:
            return tensor

    hook = Hook()
    gone = weakref.ref(hook)
    with Executor(1) as pool:
        with interlock.autograd.graph.saved_tensors_hooks(hook, hook):
            assert pool.submit(seen).result() == (True, True, 0)
        del hook
        pool.submit(seen).result()
        gc.collect()
        assert gone() is None


def test_submit_of_something_that_cannot_be_called_and_after_shutdown() -> None:
    with Executor(1) as pool, pytest.raises(TypeError, match=r"^submit: fn must be callable, got int$"):
        pool.submit(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        pool.submit(seen)


@pytest.mark.parametrize("kind", RESUMABLE)
def test_submit_and_map_refuse_functions_whose_body_would_not_run(kind: str) -> None:
    expected = (
        rf"^submit: fn must be a plain function, got the {kind} function '.*work'; its body would not run on "
        "the pool; submit a function that runs it to its end$"
    )
    with Executor(1) as pool:
        with pytest.raises(TypeError, match=expected):
            pool.submit(RESUMABLE[kind])
        with pytest.raises(TypeError, match=expected):
            pool.map(RESUMABLE[kind], [1])
        assert pool.submit(seen).result() == (True, True, 0)


def test_submitted_function_can_run_a_coroutine() -> None:
    async def work() -> tuple[bool, bool, int]:
        await asyncio.sleep(0)
        return seen()

    with Executor(1) as pool, interlock.no_grad():
        assert pool.submit(lambda: asyncio.run(work())).result() == (False, True, 0)


async def not_run() -> None:
    raise AssertionError("an initializer that no thread runs")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_workers": "4"}, TypeError, "max_workers must be an int or None, got str"),
        ({"max_workers": True}, TypeError, "max_workers must be an int or None, got bool"),
        ({"max_workers": 2.0}, TypeError, "max_workers must be an int or None, got float"),
        ({"max_workers": 0}, ValueError, "max_workers must be at least 1, got 0"),
        ({"max_workers": -(10**200)}, ValueError, r"max_workers must be at least 1, got -10{98}\.\.\."),
        ({"thread_name_prefix": None}, TypeError, "thread_name_prefix must be a str, got NoneType"),
        ({"initializer": 3}, TypeError, "initializer must be callable or None, got int"),
        (
            {"initializer": not_run},
            TypeError,
            "initializer must be a plain function, got the coroutine function 'not_run'; no thread would run "
            "its body",
        ),
        ({"initargs": "ab"}, TypeError, "initargs must be a tuple or a list, got str"),
    ],
)
def test_constructor_names_a_wrong_argument(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^Executor: {message}$"):
        Executor(**arguments)


def test_constructor_accepts_what_a_thread_pool_accepts() -> None:
    given: list[int] = []
    with Executor(2, "worker", given.append, (1,)) as pool:
        assert pool.submit(lambda: threading.current_thread().name).result() == "worker_0"
    with Executor(initializer=given.append, initargs=[2]) as pool:
        pool.submit(seen).result()
    assert given == [1, 2]

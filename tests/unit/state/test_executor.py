"""`interlock.Executor`: each call runs in the state of the code that submitted it."""

from __future__ import annotations

import gc
import weakref

import interlock
import pytest
from interlock import Executor, backends
from interlock.backends import cudnn


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


def test_submit_of_something_that_cannot_be_called_and_after_the_end() -> None:
    with Executor(1) as pool, pytest.raises(TypeError, match=r"^submit: fn must be callable, got int$"):
        pool.submit(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
        pool.submit(seen)

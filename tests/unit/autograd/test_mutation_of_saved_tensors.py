"""`autograd.graph.allow_mutation_on_saved_tensors`, with the outcomes of PyTorch 2.15, and memory budgets."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from math import nan
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    region_activation_memory_budget,
    saved_tensors_hooks,
)
from interlock.errors import ArgumentError, SavedTensorError

from tests.helpers.subprocess import eval_program


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float64, requires_grad=True)


def gradient(tensor: Tensor) -> list[Any]:
    assert tensor.grad is not None
    return list(tensor.grad.tolist())


def sizes(saved: Any) -> tuple[int, int]:
    return len(saved.original), len(saved.cloned)


@pytest.mark.usefixtures("host_accessible_memory")
@pytest.mark.parametrize("on_device", [False, True])
def test_a_saved_tensor_is_copied_before_it_is_changed(devices: tuple[str, ...], on_device: bool) -> None:
    x = leaf(1, 2)
    if on_device:
        x = x.detach().to(devices[0]).requires_grad_()
    with allow_mutation_on_saved_tensors() as saved:
        y = x * 1
        z = (y**2).sum()
        assert sizes(saved) == (1, 0)
        # It saves the old elements, too.
        y.sin_()
        assert sizes(saved) == (1, 1)
        z.backward()
    assert gradient(x) == [2.0, 4.0]
    assert sizes(saved) == (0, 0)
    assert (len(saved.tid_to_weakhandle), len(saved.sid_to_tid)) == (0, 0)


def test_changes_of_views_of_leaves_and_by_out_copy() -> None:
    x, other = leaf(1, 2), interlock.tensor([3.0, 4.0], dtype=interlock.float64)
    with allow_mutation_on_saved_tensors():
        y = x * 1
        z = (y**2).sum() + (x * other).sum() + (x**3).sum()
        # The part does not begin where the storage does.
        y[1:].sin_()
        interlock.sin(interlock.zeros(2, dtype=interlock.float64), out=other)
        with interlock.no_grad():
            x.zero_()
        z.backward()
    assert gradient(x) == [2 + 3 + 3, 4 + 4 + 12]


def test_each_version_of_a_tensor_is_copied_once() -> None:
    x = leaf(3)
    with allow_mutation_on_saved_tensors() as saved:
        y = x * 1
        first = y * y
        assert sizes(saved)[0] == len(saved.tid_to_weakhandle)
        y.mul_(2)
        second = y * y
        y.mul_(2)
        assert len(saved.cloned) == 2
        y.mul_(2)
        assert len(saved.cloned) == 2
        (first + second).backward()
    assert gradient(x) == [30.0]


def test_a_tensor_that_no_node_needs_any_more_is_not_copied() -> None:
    x = leaf(1)
    with allow_mutation_on_saved_tensors() as saved:
        y = x * 1
        z = y.exp().log()
        z.backward()
        del z
        y.zero_()
        assert len(saved.cloned) == 0
        for _ in range(200):
            (x * 1).exp()
        assert len(saved.sid_to_tid) < 50


def test_a_graph_can_be_differentiated_again_after_a_change() -> None:
    x = leaf(2)
    with allow_mutation_on_saved_tensors():
        y = x * 1
        z = y * y * y
        y.zero_()
        z.backward(retain_graph=True)
        z.backward()
        assert gradient(x) == [24.0]
        (first,) = interlock.autograd.grad((v := x * x * x), x, create_graph=True)
        del v
        with interlock.no_grad():
            x.zero_()
        (second,) = interlock.autograd.grad(first, x)
    assert second.tolist() == [12.0]


def test_tensors_that_were_saved_elsewhere_are_not_copied() -> None:
    x = leaf(1)
    y = x * 1
    z = y * y
    with allow_mutation_on_saved_tensors():
        y.sin_()
        with pytest.raises(RuntimeError, match=r"^MulBackward0: .* was changed in place"):
            z.backward()
        y = x * 1
        with saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
            z = (y * y).sum()
        y.zero_()
        z.backward()
    assert gradient(x) == [0.0]


@pytest.mark.parametrize("other_scope", [False, True])
def test_a_backward_pass_after_the_scope_raises(other_scope: bool) -> None:
    with allow_mutation_on_saved_tensors():
        z = leaf(1).exp().sum()
    scope: Any = allow_mutation_on_saved_tensors() if other_scope else interlock.enable_grad()
    with scope, pytest.raises(SavedTensorError, match="must run in the scope that has saved") as raised:
        z.backward()
    assert isinstance(raised.value, AssertionError)
    assert isinstance(raised.value, RuntimeError)


def test_clear_forgets_the_tensors() -> None:
    with allow_mutation_on_saved_tensors() as saved:
        z = leaf(1).exp().sum()
        saved.clear()
        assert sizes(saved) == (0, 0)
        with pytest.raises(SavedTensorError):
            z.backward()


def test_scopes_are_not_nested_and_the_outer_one_stays() -> None:
    x = leaf(1)
    with allow_mutation_on_saved_tensors():
        y = x * 3
        z = y * y
        with (
            pytest.raises(
                RuntimeError, match=r"^allow_mutation_on_saved_tensors: must not be entered inside"
            ),
            allow_mutation_on_saved_tensors(),
        ):
            pass
        y.zero_()
        z.backward()
    assert gradient(x) == [18.0]
    with (
        disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        allow_mutation_on_saved_tensors(),
    ):
        pass
    with allow_mutation_on_saved_tensors():
        pass


def test_it_decorates_functions_and_exceptions_end_it() -> None:
    @allow_mutation_on_saved_tensors()
    def changed(x: Tensor, *, fails: bool = False) -> None:
        y = x * 3
        z = y * y
        y.zero_()
        if fails:
            raise LookupError
        z.backward()

    x = leaf(1)
    with pytest.raises(LookupError):
        changed(x, fails=True)
    for _ in range(2):
        changed(x)
    assert gradient(x) == [36.0]


def test_threads_and_tasks_have_own_scopes_and_any_thread_copies() -> None:
    def run(pool: ThreadPoolExecutor | None) -> list[Any]:
        x = leaf(1)
        with allow_mutation_on_saved_tensors():
            y = x * 3
            z = y * y
            y.zero_() if pool is None else pool.submit(y.zero_).result()
            z.backward()
        return gradient(x)

    async def task() -> list[Any]:
        x = leaf(1)
        with allow_mutation_on_saved_tensors():
            z = (y := x * 3) * y
            await asyncio.sleep(0)
            y.zero_()
            z.backward()
        return gradient(x)

    async def main() -> list[Any]:
        return await asyncio.gather(task(), task())

    with ThreadPoolExecutor(4) as pool:
        assert run(pool) == [18.0]
        assert list(pool.map(run, [None] * 4)) == [[18.0]] * 4
    assert asyncio.run(main()) == [[18.0]] * 2


def test_memory_that_is_missing_for_a_copy_leaves_the_tensor_unchanged() -> None:
    x = leaf(1)
    with allow_mutation_on_saved_tensors() as saved:
        y = x * 3
        z = y * y

        class Failing(dict[Any, Any]):
            def __setitem__(self, key: Any, value: Any) -> None:
                raise MemoryError

        cloned, saved.cloned = saved.cloned, Failing()
        with pytest.raises(MemoryError):
            y.zero_()
        saved.cloned = cloned
        assert y.tolist() == [3.0]
        y.zero_()
        z.backward()
    assert gradient(x) == [18.0]


@pytest.mark.parametrize(
    ("budget", "error", "message"),
    [
        (0.5, RuntimeError, "must be called inside of torch.compile"),
        (1, RuntimeError, "must be called inside of torch.compile"),
        (-0.1, ArgumentError, "budget must be from 0 to 1, got -0.1"),
        (nan, ArgumentError, "budget must be from 0 to 1, got nan"),
        (True, TypeError, "budget must be a number, got bool"),
        (None, TypeError, "budget must be a number, got NoneType"),
    ],
)
def test_a_memory_budget_needs_a_compiler(budget: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^region_activation_memory_budget: {message}"):
        region_activation_memory_budget(budget)


def test_forked_child_does_not_wait_for_a_thread_of_the_parent() -> None:
    assert eval_program("autograd.fork_while_a_thread_copies_saved_tensors") == 0

"""Objects that a graph owns are released with it, on the thread that drops it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.autograd import Function, graph
from interlock.utils.checkpoint import checkpoint

from tests.helpers.subprocess import run_program


class Held:
    """An object whose end can be observed."""

    def __init__(self, at_end: Callable[[], object] = lambda: None) -> None:
        self.at_end = at_end

    def __del__(self) -> None:
        self.at_end()


class Carry(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, held: Held) -> Tensor:
        ctx.held = held
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, None


def leaf() -> Tensor:
    return interlock.ones(2, requires_grad=True)


def by_ctx(held: Held) -> object:
    return Carry.apply(leaf(), held)


def by_leaf_hook(held: Held) -> object:
    x = leaf()
    x.register_hook(lambda grad, held=held: None)  # type: ignore[misc]
    return x


def by_hook(held: Held) -> object:
    y = leaf() * 2
    y.register_hook(lambda grad, held=held: None)  # type: ignore[misc]
    return y


def by_post_accumulate_hook(held: Held) -> object:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda x, held=held: None)  # type: ignore[misc]
    return x * 2


def by_node_hook(held: Held) -> object:
    y = leaf() * 2
    assert y.grad_fn is not None
    y.grad_fn.register_hook(lambda inputs, results, held=held: None)  # type: ignore[misc]
    return y


def by_node_prehook(held: Held) -> object:
    y = leaf() * 2
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(lambda results, held=held: None)  # type: ignore[misc]
    return y


def by_multi_grad_hook(held: Held) -> object:
    tensors = leaf(), leaf() * 2
    graph.register_multi_grad_hook(tensors, lambda grads, held=held: None)  # type: ignore[misc]
    return tensors


def by_metadata(held: Held) -> object:
    y = leaf() * 2
    assert y.grad_fn is not None
    y.grad_fn.metadata["held"] = held
    return y


def by_pack_hook(held: Held) -> object:
    x = leaf()
    with graph.saved_tensors_hooks(lambda t, held=held: (t, held), lambda packed: packed[0]):  # type: ignore[misc]
        return x * x


def by_packed_object(held: Held) -> object:
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: held, lambda packed: leaf()):
        return x.exp()


def by_checkpoint(held: Held) -> object:
    return checkpoint(lambda x, held=held: x.exp(), leaf())


OWNERS = [
    by_ctx, by_leaf_hook, by_hook, by_post_accumulate_hook, by_node_hook, by_node_prehook, by_multi_grad_hook,
    by_metadata, by_pack_hook, by_packed_object, by_checkpoint,
]  # fmt: skip


def observed(owner: Callable[[Held], object], at_end: Callable[[], object]) -> tuple[list[object], Any]:
    """Return a list with the object that owns a `Held`, and a weak reference to that."""
    held = Held(at_end)
    reference = weakref.ref(held)
    return [owner(held)], reference


@pytest.mark.parametrize("owner", OWNERS)
def test_objects_are_released_with_the_graph_at_once(owner: Callable[[Held], object]) -> None:
    ends: list[tuple[int, bool]] = []
    owned, reference = observed(
        owner, lambda: ends.append((threading.get_ident(), interlock.is_grad_enabled()))
    )
    assert reference() is not None
    with interlock.no_grad():
        owned.clear()
    assert reference() is None
    # On the thread and under the modes of the one who dropped it.
    assert ends == [(threading.get_ident(), False)]


@pytest.mark.parametrize("owner", OWNERS)
def test_a_destructor_may_use_tensors(owner: Callable[[Held], object]) -> None:
    results: list[float] = []

    def use() -> None:
        x = interlock.ones(2, requires_grad=True)
        (x * 3).sum().backward()
        results.append(x.grad.sum().item())  # type: ignore[union-attr]

    owned, _ = observed(owner, use)
    owned.clear()
    assert results == [6.0]


def test_exception_of_a_destructor_is_unraisable(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    raised: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: raised.append(info.exc_value))

    def fail() -> None:
        raise ValueError("in a destructor")

    owned, _ = observed(by_hook, fail)
    owned.clear()
    assert [str(error) for error in raised] == ["in a destructor"]


def test_removed_hooks_are_released_at_once() -> None:
    x = leaf()
    held = Held()
    reference = weakref.ref(held)
    handle = x.register_hook(lambda grad, held=held: None)  # type: ignore[misc]
    del held
    assert reference() is not None
    handle.remove()
    assert reference() is None


def test_replaced_history_is_released_at_once() -> None:
    held = Held()
    reference = weakref.ref(held)
    y = Carry.apply(leaf(), held)
    del held
    y.detach_()
    assert reference() is None


@pytest.mark.slow
def test_a_long_chain_of_hooks_is_released_without_recursion() -> None:
    count = 100_000
    ends: list[int] = []
    tensor = leaf()
    for number in range(count):
        held = Held(lambda number=number: ends.append(number))  # type: ignore[misc]
        outer = leaf()
        outer.register_hook(lambda grad, tensor=tensor, held=held: None)  # type: ignore[misc]
        tensor = outer
    del outer, held, tensor
    assert len(ends) == count


def test_collection_releases_what_a_detached_thread_has_dropped() -> None:
    done = run_program("autograd.objects_dropped_while_detached")
    assert (done.code, done.stdout, done.stderr) == (0, "ok\n", "")


def test_memory_of_a_dropped_hook_is_free_for_a_buffer() -> None:
    done = run_program("autograd.memory_of_a_dropped_hook")
    assert (done.code, done.stdout, done.stderr) == (0, "ok\n", "")

"""`autograd.graph.node_creation_hook` and `queue_callback`, with the outcomes of PyTorch 2.15."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import interlock
import pytest
from interlock import Tensor, autograd
from interlock.autograd import Function
from interlock.autograd.graph import Node, get_gradient_edge, node_creation_hook, queue_callback
from interlock.utils.checkpoint import checkpoint


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float64, requires_grad=True)


class Names(list[str]):
    """A hook that appends the names of nodes."""

    def __call__(self, node: Node) -> None:
        self.append(node.name())


class Double(Function):
    """A function that saves its input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 2


# --- hooks of new nodes


def test_the_hook_is_called_with_each_new_node_in_the_scope() -> None:
    names, x = Names(), leaf(1, 2)
    with node_creation_hook(names):
        y = (x * 2).sum()
    y.exp()
    assert names == ["AccumulateGrad", "MulBackward0", "SumBackward0"]


def test_inner_and_outer_hooks_are_called_from_the_outermost() -> None:
    calls: list[tuple[str, str]] = []
    x = leaf(1)
    with node_creation_hook(lambda node: calls.append(("outer", node.name()))):
        with node_creation_hook(lambda node: calls.append(("inner", node.name()))):
            x.exp()
        x.exp()
    assert calls[2:4] == [("outer", "ExpBackward0"), ("inner", "ExpBackward0")]
    assert calls[:2] == [("outer", "AccumulateGrad"), ("inner", "AccumulateGrad")]
    assert calls[4:] == [("outer", "AccumulateGrad"), ("outer", "ExpBackward0")]


def test_the_node_of_a_leaf_is_new_if_no_graph_uses_the_leaf() -> None:
    names, x = Names(), leaf(1)
    before = x * 2
    with node_creation_hook(names):
        y, z = x * 3, x * 4
        del before, y, z
        w = x * 5
        w.backward()
        node = w.grad_fn.next_functions[0][0]
        del w
        x.exp()
    assert node.variable is x
    assert names == ["MulBackward0", "MulBackward0", "AccumulateGrad", "MulBackward0", "ExpBackward0"]


def test_only_a_graph_that_uses_the_leaf_creates_its_node() -> None:
    names, x, unused = Names(), leaf(1), leaf(1)
    y = x * 2
    with node_creation_hook(names):
        assert autograd.grad(y, (x, unused), retain_graph=True, allow_unused=True)[1] is None
        y.backward()
        x.register_hook(lambda grad: None)
        edge = get_gradient_edge(unused)
        unused.exp()
    assert names == ["AccumulateGrad", "ExpBackward0"]
    assert edge.node.name() == "AccumulateGrad"


def test_the_node_is_complete_and_is_the_object_of_the_result() -> None:
    nodes: list[Any] = []
    x = leaf(3)
    with node_creation_hook(nodes.append):
        y = Double.apply(x * 1)
        parts = leaf(1, 2).split(1)
    accumulate, multiply, double = nodes[:3]
    assert double is y.grad_fn
    assert double.next_functions == ((multiply, 0),)
    assert multiply.next_functions[0][0] is accumulate
    assert double.saved_tensors[0].tolist() == [3.0]
    assert nodes[-1] is parts[0].grad_fn
    assert len(nodes) == 5


def test_a_hook_of_a_function_sees_its_node_when_it_is_created() -> None:
    seen: list[Any] = []

    def note(node: Any) -> None:
        seen.append((node.name(), [next_node.name() for next_node, _ in node.next_functions]))

    with node_creation_hook(note):
        Double.apply(leaf(1))
    assert seen == [("AccumulateGrad", []), ("DoubleBackward", ["AccumulateGrad"])]


def test_changes_in_place_of_a_view_create_the_node_of_its_base() -> None:
    names, x = Names(), leaf(1, 2)
    with node_creation_hook(names):
        y = x.clone()
        view = y[0:1]
        view.mul_(2)
        y.sum().backward()
        assert view.grad_fn is not None
    assert names[:3] == ["AccumulateGrad", "CloneBackward0", "SliceBackward0"]
    assert names[3:] == ["CopySlices", "SumBackward0", "AsStridedBackward0"]


def test_nodes_of_recorded_backward_passes_and_recomputations_are_new() -> None:
    names, x = Names(), leaf(2)
    y = (x * x).sum()
    with node_creation_hook(names):
        autograd.grad(y, x, create_graph=True)
        assert names.count("MulBackward0") == 2
        names.clear()
        z = checkpoint(lambda x: (x * x).exp(), leaf(2)).sum()
        first = list(names)
        z.backward()
    assert first == ["AccumulateGrad", "MulBackward0", "ExpBackward0", "SumBackward0"]
    assert names[4:5] == ["MulBackward0"]


def test_an_exception_of_a_hook_is_that_of_the_operation() -> None:
    names, x = Names(), leaf(1)

    def refuse(node: Node) -> None:
        raise LookupError(node.name())

    with node_creation_hook(refuse), node_creation_hook(names):
        with pytest.raises(LookupError, match="AccumulateGrad"):
            x * 2
        with pytest.raises(LookupError, match="AccumulateGrad"):
            Double.apply(x)
    y = x.clone()
    with node_creation_hook(refuse), pytest.raises(LookupError, match="MulBackward0"):
        y.mul_(3)
    assert names == []
    assert (x * 2).tolist() == [2.0]


def test_a_hook_must_return_none_and_must_not_create_nodes() -> None:
    x = leaf(1)
    created: list[Any] = []

    def create(node: Node) -> None:
        created.append((x.detach() * 2).tolist())
        x.exp()

    with (
        node_creation_hook(lambda node: 3),
        pytest.raises(  # type: ignore[arg-type, return-value]
            RuntimeError, match=r"^node_creation_hook: hook must return None, got int$"
        ),
    ):
        x.exp()
    with (
        node_creation_hook(create),
        pytest.raises(
            RuntimeError,
            match=r"^node_creation_hook: a hook must not create nodes, got (AccumulateGrad|ExpBackward0);",
        ),
    ):
        x.exp()
    assert created == [[2.0]]
    with node_creation_hook(lambda node: None):
        x.exp()
    with pytest.raises(TypeError, match=r"^node_creation_hook: hook must be callable, got int"):
        node_creation_hook(3)  # type: ignore[arg-type]


def test_hooks_of_nodes_can_be_registered() -> None:
    log: list[Any] = []

    def watch(node: Node) -> None:
        node.register_prehook(lambda grads: log.append(node.name()))

    x = leaf(1)
    with node_creation_hook(watch):
        y = x.exp().log()
    y.backward()
    assert log == ["LogBackward0", "ExpBackward0", "AccumulateGrad"]


def test_the_scope_follows_contexts_and_captured_states() -> None:
    names, x = Names(), leaf(1)
    hook = node_creation_hook(names)
    assert hook.hook is names

    async def main() -> None:
        with hook:
            await asyncio.create_task(asyncio.to_thread(x.exp))

    asyncio.run(main())
    assert names == ["AccumulateGrad", "ExpBackward0"]
    names.clear()
    with ThreadPoolExecutor(1) as pool:
        with hook, node_creation_hook(lambda node: names.append("inner")):
            state = interlock.capture()
            pool.submit(x.exp).result()
        assert names == []
        pool.submit(state.run, x.exp).result()
    assert names == ["AccumulateGrad", "inner", "ExpBackward0", "inner"]
    with hook, hook:
        pass
    x.exp()
    assert len(names) == 4


@pytest.mark.parametrize("keeps", ["scope", "state"])
def test_a_hook_in_a_cycle_is_collected(keeps: str) -> None:
    class Owner:
        def hook(self, node: Node) -> None:
            self.node = node

    owner: Any = Owner()
    scope = node_creation_hook(owner.hook)
    with scope:
        owner.result = leaf(1).exp()
        state = interlock.capture()
    setattr(owner, keeps, scope if keeps == "scope" else state)
    del scope, state
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


# --- callbacks


def on_backward(function: Callable[[], object]) -> tuple[Tensor, Tensor]:
    """Return a leaf and a result whose backward pass calls a function."""
    x = leaf(1)
    y = x * 2
    y.register_hook(lambda grad: (function(), None)[1])
    return x, y


def test_a_callback_runs_at_the_end_of_the_pass() -> None:
    log: list[Any] = []
    x, y = on_backward(lambda: queue_callback(lambda: log.append((x.grad, interlock.is_grad_enabled()))))
    y.backward(retain_graph=True)
    ((grad, mode),) = log
    assert (grad.tolist(), mode) == ([2.0], False)
    assert autograd.grad(y, x, create_graph=True)[0].tolist() == [2.0]
    assert log[1][1] is True


def test_callbacks_run_in_order_also_those_that_callbacks_queue() -> None:
    log: list[int] = []

    def again() -> None:
        log.append(log.count(0) and 1)
        if len(log) == 1:
            queue_callback(again)

    x, y = on_backward(lambda: (queue_callback(again), queue_callback(lambda: log.append(10))))
    x.register_post_accumulate_grad_hook(lambda leaf: queue_callback(lambda: log.append(20)))
    y.backward()
    assert log == [0, 10, 20, 1]


def test_the_first_error_of_a_callback_is_that_of_the_pass() -> None:
    log: list[str] = []

    def fail() -> None:
        raise LookupError("of the callback")

    x, y = on_backward(
        lambda: [
            queue_callback(each) for each in (lambda: log.append("first"), fail, lambda: log.append("last"))
        ]
    )
    with pytest.raises(LookupError, match="of the callback"):
        y.backward()
    assert log == ["first"]
    assert x.grad is not None
    x, y = on_backward(lambda: None)
    y.backward()
    assert log == ["first"]


def test_a_pass_that_fails_calls_no_callback() -> None:
    log: list[str] = []
    x, y = on_backward(lambda: queue_callback(lambda: log.append("called")))
    x.register_hook(lambda grad: grad.no_such_attribute)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no_such_attribute"):
        y.backward()
    (leaf(1) * 2).backward()
    assert log == []


def test_a_callback_belongs_to_the_innermost_pass() -> None:
    log: list[str] = []

    def run_inner() -> None:
        queue_callback(lambda: log.append("outer"))
        with interlock.enable_grad():
            _, inner = on_backward(lambda: queue_callback(lambda: log.append("inner")))
        inner.backward()
        log.append("after the inner pass")

    on_backward(run_inner)[1].backward()
    assert log == ["inner", "after the inner pass", "outer"]


def test_a_callback_needs_a_pass_and_must_be_callable() -> None:
    with pytest.raises(RuntimeError, match=r"^queue_callback: must be called during a backward pass"):
        queue_callback(lambda: None)
    _, y = on_backward(lambda: queue_callback(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^queue_callback: callback must be callable, got int"):
        y.backward()

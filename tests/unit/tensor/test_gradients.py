"""Backward passes: results, freed graphs and errors."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from contextlib import nullcontext

import interlock
import pytest
from interlock import Tensor
from interlock.errors import ArgumentError, GraphFreedError, ShapeError

pytestmark = pytest.mark.usefixtures("everywhere")


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float32, requires_grad=True)


def gradient(tensor: Tensor) -> list[float] | None:
    return None if tensor.grad is None else list(tensor.grad.tolist())


def test_backward_accumulates_gradients() -> None:
    x = leaf(1, 2)
    for times in (1, 2):
        (x * x).sum().backward()
        assert gradient(x) == [2.0 * times, 4.0 * times]
    assert x.grad is not None
    assert not x.grad.requires_grad
    x.grad = None
    assert gradient(x) is None


def test_tensor_is_not_its_own_gradient() -> None:
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="must be another tensor"):
        x.grad = x
    assert x.grad is None
    x.grad = x.detach()
    assert gradient(x) == [1.0, 2.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_backward_copies_the_gradient_argument(create_graph: bool) -> None:
    x, y, given = leaf(1, 2), leaf(1, 2), interlock.ones(2)
    with pytest.warns(UserWarning, match="create_graph") if create_graph else nullcontext():
        x.backward(x, create_graph=create_graph)
        y.backward(given, create_graph=create_graph)
    assert gradient(x) == [1.0, 2.0]
    assert y.grad is not None
    y.grad.zero_()
    assert given.tolist() == [1.0, 1.0]
    # With create_graph a gradient and its tensor are a cycle, which is never collected.
    x.grad = y.grad = None


def test_nodes_have_names_and_edges() -> None:
    x = leaf(1)
    y = (x * 2).exp()
    assert x.grad_fn is None
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "ExpBackward0"
    inner, index = y.grad_fn.next_functions[0]
    assert inner is not None
    assert (inner.name(), index) == ("MulBackward0", 0)
    assert repr(y.grad_fn).startswith("<ExpBackward0 object at 0x")
    assert (x.is_leaf, y.is_leaf, y.detach().is_leaf) == (True, False, True)


def test_next_functions_of_a_leaf_is_accumulate_grad() -> None:
    x = leaf(1, 2)
    y = x * x
    assert y.grad_fn is not None
    (first, index), (second, _) = y.grad_fn.next_functions
    assert first is not None
    assert (first.name(), index, first.next_functions) == ("AccumulateGrad", 0, ())
    assert (first == second, hash(first) == hash(second), first == y.grad_fn) == (True, True, False)
    assert first.variable.data_ptr() == x.data_ptr()
    assert repr(first).startswith("<AccumulateGrad object at 0x")
    assert not hasattr(y.grad_fn, "variable")
    scaled = (x * 2).grad_fn
    assert scaled is not None
    assert scaled.next_functions[1] == (None, 0)


def test_backward_with_create_graph_warns_of_the_cycle() -> None:
    x = leaf(3)
    with pytest.warns(UserWarning, match=r"create_graph.*autograd\.grad"):
        (x * x).backward(create_graph=True)
    with pytest.warns(UserWarning, match="create_graph"):
        interlock.autograd.backward(x * x, create_graph=True, inputs=[x])
    assert gradient(x) == [12.0]
    x.grad = None
    with pytest.raises(UserWarning, match="create_graph"):
        (x * x).backward(create_graph=True)
    assert gradient(x) is None


def test_grad_of_a_result_warns_unless_it_is_retained() -> None:
    x = leaf(3)
    y = x * 2
    with pytest.warns(UserWarning, match="retain_grad"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None
    (y * 2).backward()
    assert gradient(y) == [2.0]
    given = x * 2
    given.grad = interlock.ones(1)
    assert gradient(given) == [1.0]
    with interlock.no_grad():
        assert (x * 2).grad is None
        assert x[:1].grad is None


def test_deleting_a_gradient_sets_none() -> None:
    x = leaf(1)
    x.sum().backward()
    del x.grad
    assert x.grad is None
    del x.grad
    assert x.grad is None


def test_grad_refuses_no_inputs() -> None:
    x = leaf(1)
    none: list[tuple[Tensor, ...] | list[Tensor]] = [[], ()]
    for inputs in none:
        with pytest.raises(RuntimeError, match="grad: inputs must contain at least one tensor"):
            interlock.autograd.grad(x.sum(), inputs)


def test_materialized_gradients_require_grad_with_create_graph() -> None:
    x, unused = leaf(1), leaf(2, 3)
    for create_graph in (False, True):
        found = interlock.autograd.grad(
            x.sum(), [x, unused], materialize_grads=True, create_graph=create_graph
        )
        assert [each.tolist() for each in found] == [[1.0], [0.0, 0.0]]
        assert (found[1].requires_grad, found[1].is_leaf) == (create_graph, True)


def test_backward_frees_the_graph_of_indexing() -> None:
    b, c = leaf(1, 2, 3), interlock.zeros(3)
    c[[1, 2]] = b[[1, 1]]
    for total in (c.sum(), b[interlock.tensor([1, 1])].sum(), b[b > 1].sum()):
        total.backward(retain_graph=True)
        total.backward()
        with pytest.raises(GraphFreedError, match="retain_graph"):
            total.backward()
    assert gradient(b) == [0.0, 10.0, 2.0]


def test_backward_frees_the_graph_unless_retained() -> None:
    x = leaf(3)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(GraphFreedError, match=r"MulBackward0.*retain_graph"):
        y.backward()
    assert gradient(x) == [12.0]
    # A sum saves nothing: its graph can be run again.
    z = x + 1
    z.backward()
    z.backward()
    assert gradient(x) == [14.0]


def test_backward_of_several_elements_requires_a_gradient() -> None:
    y = leaf(1, 2) * 2
    with pytest.raises(RuntimeError, match=r"output of shape \(2,\)"):
        y.backward()
    with pytest.raises(ShapeError, match=r"\(2,\).*\(3,\)"):
        y.backward(interlock.ones(3))
    with pytest.raises(RuntimeError, match="require grad"):
        interlock.ones(1).backward()


def test_grad_returns_gradients_without_writing_grad() -> None:
    x, w, unused = leaf(2), leaf(5), leaf(1)
    y = x * w
    z = y * y
    assert [g.tolist() for g in interlock.autograd.grad(z, [x, y])] == [[100.0], [20.0]]
    assert gradient(x) is None
    with pytest.raises(RuntimeError, match="input 1"):
        interlock.autograd.grad(x * w, [x, unused])
    with pytest.raises(RuntimeError, match="require grad"):
        interlock.autograd.grad(x * w, interlock.ones(1))
    assert interlock.autograd.grad(x * w, [x, unused], allow_unused=True)[1] is None
    assert interlock.autograd.grad(x * w, unused, materialize_grads=True)[0].tolist() == [0.0]
    (weighted,) = interlock.autograd.grad([x * 2, x * 3], x, [interlock.tensor([1.0]), None])
    assert weighted.tolist() == [5.0]
    interlock.autograd.backward([x * w, x.sum()], inputs=[x])
    assert gradient(x) == [6.0]
    assert gradient(w) is None


def test_recorded_backward_pass_can_be_differentiated() -> None:
    x = leaf(2)
    (first,) = interlock.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = interlock.autograd.grad(first.sum(), x)
    assert (first.tolist(), second.tolist()) == ([12.0], [12.0])


@pytest.mark.parametrize("operation", ["amin", "amax"])
def test_amin_and_amax_spread_a_gradient_of_nan(operation: str) -> None:
    x = interlock.tensor([-2.0, -3.0], requires_grad=True)
    getattr(x, operation)().sqrt().backward()
    assert x.grad is not None
    assert all(math.isnan(each) for each in x.grad.tolist())


def test_view_made_without_grad_mode_accumulates_nothing() -> None:
    for base in (interlock.ones(3, requires_grad=True), interlock.ones(3, requires_grad=True) * 2):
        with interlock.no_grad():
            view = base[1:]
        result = (view * 3).sum()
        assert (view.requires_grad, result.requires_grad) == (True, True)
        with pytest.raises(RuntimeError, match="do not depend on input 0"):
            interlock.autograd.grad(result, [view], retain_graph=True)
        assert interlock.autograd.grad(result, [view], allow_unused=True, retain_graph=True) == (None,)
        result.backward()
        with pytest.raises(RuntimeError, match="there is nothing to differentiate"):
            view.backward(interlock.ones(2))
        assert view.grad is None
        with interlock.no_grad():
            view.zero_()
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            view * 2
        view.retain_grad()


@pytest.mark.parametrize("base", [-1.0, 0.0, 2.0])
def test_backward_of_a_power_refuses_an_exponent_that_changed(base: float) -> None:
    exponent = interlock.tensor(2.0, requires_grad=True)
    power = base**exponent
    with interlock.no_grad():
        exponent.sub_(1)
    with pytest.raises(RuntimeError, match=r"PowBackward2.*version 0.*version 1"):
        power.backward()


def test_saved_tensors_that_changed_are_named_with_both_versions() -> None:
    y = leaf(1) * 1
    z = y.exp()
    z += 1
    with pytest.raises(RuntimeError, match=r"ExpBackward0.*version 0.*version 1"):
        z.backward()
    y = leaf(1) * 2
    z = y + 1
    y += 1
    z.backward()


def test_leaf_is_changed_in_place_only_in_no_grad_mode() -> None:
    x = leaf(1, 2)
    changes: list[Callable[[], object]] = [
        lambda: x.add_(1),
        lambda: x[0].zero_(),
        lambda: x.__setitem__(0, 1.0),
    ]
    for change in changes:
        with pytest.raises(RuntimeError, match="no_grad"):
            change()
    with interlock.no_grad():
        x[0] = 5
    assert (x.tolist(), x._version, x.requires_grad) == ([5.0, 2.0], 1, True)


@pytest.mark.slow
def test_backward_and_drop_of_a_long_chain_do_not_recurse() -> None:
    x = leaf(1)
    y = x * 1
    for _ in range(100_000):
        y = y + 1
    y.backward()
    assert gradient(x) == [1.0]
    unused = x * 1
    for _ in range(100_000):
        unused = unused * 1
    del unused


def test_requires_grad_is_for_floating_point_leaves() -> None:
    x = interlock.ones(1)
    assert x.requires_grad_() is x
    x.requires_grad = False
    with pytest.raises(RuntimeError, match="int64"):
        interlock.tensor([1]).requires_grad = True
    with pytest.raises(RuntimeError, match="leaf"):
        (leaf(1) * 2).requires_grad_(False)


def test_grad_setter_checks_shape_and_type() -> None:
    x = leaf(1)
    x.grad = interlock.tensor([3.0])
    with pytest.raises(RuntimeError, match="shape"):
        x.grad = interlock.ones(2)
    with pytest.raises(RuntimeError, match="dtype"):
        x.grad = interlock.ones(1, dtype=interlock.float64)
    with pytest.raises(TypeError):
        x.grad = 1  # type: ignore[assignment]
    assert gradient(x) == [3.0]


def test_retain_grad_keeps_the_gradient_of_a_result() -> None:
    x = leaf(3)
    y = x * 2
    y.retain_grad()
    y *= x
    (y * 10).backward()
    assert y.retains_grad
    assert (gradient(y), gradient(x)) == ([10.0], [120.0])
    with pytest.raises(RuntimeError, match="require grad"):
        interlock.ones(1).retain_grad()


def test_backward_runs_on_several_threads() -> None:
    x = interlock.ones(64, 64, requires_grad=True)
    results = []

    def work() -> None:
        for _ in range(5):
            (g,) = interlock.autograd.grad((x @ x).sum(), x)
            results.append(g.sum().item())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [2.0 * 64**3] * 20


def test_small_network_learns() -> None:
    interlock.manual_seed(1)
    inputs = interlock.rand(256, 2)
    classes = (inputs[:, 0] > inputs[:, 1]).long()
    weights = [(interlock.randn(2, 16) * 0.5).requires_grad_(), interlock.randn(16, 2).requires_grad_()]
    for _ in range(60):
        loss = interlock.cross_entropy(interlock.relu(inputs @ weights[0]) @ weights[1], classes)
        loss.backward()
        with interlock.no_grad():
            for weight in weights:
                assert weight.grad is not None
                weight.sub_(weight.grad, alpha=0.5)
                weight.grad = None
    with interlock.no_grad():
        found = (interlock.relu(inputs @ weights[0]) @ weights[1]).argmax(1)
    assert (found == classes).float().mean().item() > 0.95


def test_batches_of_gradients_are_refused() -> None:
    x = interlock.ones(1, requires_grad=True)
    (gradient,) = interlock.autograd.grad(x * 2, x, is_grads_batched=False)
    assert gradient.item() == 2.0
    message = "^grad: is_grads_batched must be False, because True is not supported, got True$"
    with pytest.raises(ArgumentError, match=message):
        interlock.autograd.grad(x * 2, x, is_grads_batched=True)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["add", "sub"])
def test_sum_with_a_factor_is_one_node(name: str) -> None:
    for inplace in (False, True):
        x, y = (interlock.ones(2, requires_grad=True) for _ in range(2))
        first = x * 1 if inplace else x
        result = getattr(first, f"{name}_" if inplace else name)(y, alpha=3)
        (_, (second, _)) = result.grad_fn.next_functions
        assert (result.grad_fn.name(), second.name()) == (f"{name.title()}Backward0", "AccumulateGrad")
        (of_x, of_y) = interlock.autograd.grad(result.sum(), (x, y), create_graph=True)
        assert (of_x.tolist(), of_y.tolist()) == ([1.0, 1.0], [3.0, 3.0] if name == "add" else [-3.0, -3.0])

"""`autograd.graph`: edges, hooks of several tensors, versions, and disabled hooks of saved tensors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import interlock
import pytest
from interlock import Tensor, autograd
from interlock.autograd import graph
from interlock.autograd.graph import (
    GradientEdge,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)
from interlock.errors import ArgumentError, ShapeError


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float64, requires_grad=True)


def values(gradients: tuple[Tensor, ...]) -> list[Any]:
    return [None if gradient is None else gradient.tolist() for gradient in gradients]


class Double(autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * 2


class DropSecond(autograd.Function):
    """Returns no gradient of the second input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x * 1, y * 1

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0], None


# --- edges


def test_an_edge_has_the_node_and_the_position_of_the_result() -> None:
    x = leaf(1, 2, 3)
    first, second = (x * 1).split([1, 2])
    edge = get_gradient_edge(second)
    assert edge == GradientEdge(first.grad_fn, 1)  # type: ignore[arg-type]
    node, output_nr, token = edge
    assert (node, output_nr, token) == (second.grad_fn, 1, None)


def test_an_edge_of_a_leaf_has_its_accumulation() -> None:
    x = leaf(1)
    edge = get_gradient_edge(x)
    assert (edge.node.name(), edge.output_nr) == ("AccumulateGrad", 0)
    assert edge.node.variable is x
    with interlock.no_grad():
        assert get_gradient_edge(x) == edge


@pytest.mark.parametrize("tensor", [interlock.ones(1), 3])
def test_an_edge_needs_a_tensor_that_requires_grad(tensor: Any) -> None:
    with pytest.raises(TypeError if tensor == 3 else RuntimeError, match=r"^get_gradient_edge: "):
        get_gradient_edge(tensor)


def test_grad_accepts_edges_as_outputs_and_inputs() -> None:
    x = leaf(1, 2)
    y = x * 2
    z = (y * y).sum()
    expected = values(autograd.grad(z, (y, x), retain_graph=True))
    inputs = (get_gradient_edge(y), x)
    assert values(autograd.grad(get_gradient_edge(z), inputs, retain_graph=True)) == expected
    mixed = autograd.grad([z, get_gradient_edge(z)], inputs, retain_graph=True)
    assert values(mixed) == [[2 * each for each in gradient] for gradient in expected]
    (only,) = autograd.grad(z, get_gradient_edge(x))
    assert only.tolist() == expected[1]


def test_an_edge_keeps_the_graph_and_not_the_tensor() -> None:
    x = leaf(3)
    y = Double.apply(x)
    edge, alive = get_gradient_edge(y), weakref.ref(y)
    z = y * y
    del y
    assert alive() is None
    assert values(autograd.grad(z.sum(), edge)) == [[12.0]]
    assert values(autograd.grad(edge, x, interlock.ones(1, dtype=interlock.float64))) == [[2.0]]


def test_an_edge_of_a_leaf_keeps_it() -> None:
    x = leaf(3)
    edge = get_gradient_edge(x)
    y = (x * x).sum()
    del x
    assert values(autograd.grad(y, edge)) == [[6.0]]


def test_an_edge_from_before_a_change_in_place_is_the_old_one() -> None:
    x = leaf(1, 2)
    y = x * 2
    view = y[:1]
    old = get_gradient_edge(view)
    y.mul_(2)
    assert get_gradient_edge(view) != old
    assert autograd.grad(y.sum(), old, allow_unused=True) == (None,)


def test_backward_accumulates_in_edges_of_leaves_only() -> None:
    x, other = leaf(1, 2), leaf(3)
    y = x * 2
    z = (y * y * other).sum()
    autograd.backward(z, inputs=get_gradient_edge(y), retain_graph=True)
    assert not y.retains_grad
    assert x.grad is None
    z.backward(inputs=[get_gradient_edge(x)], retain_graph=True)
    assert x.grad is not None
    assert x.grad.tolist() == [24.0, 48.0]
    assert other.grad is None
    autograd.backward(get_gradient_edge(z))
    assert x.grad.tolist() == [48.0, 96.0]


def test_gradients_of_edges_have_the_shape_of_the_result() -> None:
    x = leaf(1, 2)
    y = x * 2
    with pytest.raises(RuntimeError, match="a gradient must be passed for an output of shape"):
        autograd.grad(get_gradient_edge(y), x)
    with pytest.raises(ShapeError, match="the gradient must be of shape"):
        autograd.grad(get_gradient_edge(y), x, interlock.ones(3))
    ones = interlock.ones(2, dtype=interlock.float64)
    assert values(autograd.grad(get_gradient_edge(y), get_gradient_edge(y), ones)) == [[1.0, 1.0]]
    assert values(autograd.grad(get_gradient_edge(x), x, ones)) == [[1.0, 1.0]]


def test_an_unused_edge_cannot_be_materialized() -> None:
    x, other = leaf(1), leaf(2)
    edges = [get_gradient_edge(other), get_gradient_edge(other * 2)]
    for edge in edges:
        y = (x * 2).sum()
        with pytest.raises(RuntimeError, match="grad: the outputs do not depend on input 0"):
            autograd.grad(y, edge, retain_graph=True)
        assert autograd.grad(y, edge, retain_graph=True, allow_unused=True) == (None,)
        with pytest.raises(RuntimeError, match="grad: materialize_grads must be False"):
            autograd.grad(y, edge, materialize_grads=True)


@pytest.mark.parametrize(
    ("replaced", "error", "message"),
    [
        ({"node": None}, TypeError, "GradientEdge: node must be an autograd.graph.Node, got None"),
        ({"output_nr": "a"}, TypeError, "GradientEdge: output_nr must be an int, got str"),
        ({"output_nr": True}, TypeError, "GradientEdge: output_nr must be an int, got bool"),
        ({"output_nr": -1}, ArgumentError, "GradientEdge: output_nr must not be negative, got -1"),
        ({"output_nr": 1}, ArgumentError, "GradientEdge: output_nr must be less than 1"),
    ],
)
def test_an_edge_with_other_members_raises(
    replaced: dict[str, Any], error: type[Exception], message: str
) -> None:
    y = (leaf(1) * 2).sum()
    edge = get_gradient_edge(y)._replace(**replaced)
    with pytest.raises(error, match=message):
        autograd.grad(edge, y)
    with pytest.raises(error, match=message):
        autograd.backward(y, inputs=edge)


def test_an_edge_of_a_function_whose_graph_was_freed_raises() -> None:
    y = Double.apply(leaf(1))
    edge = GradientEdge(get_gradient_edge(y).node, 0)
    del y
    gc.collect()
    with pytest.raises(RuntimeError, match="no tensor refers to it any more"):
        autograd.grad(edge, leaf(1))


# --- hooks of several tensors

Log = list[list[bool]]


def logging(log: Log) -> Callable[[list[Tensor | None]], None]:
    def hook(gradients: list[Tensor | None]) -> None:
        assert type(gradients) is list
        assert not interlock.is_grad_enabled()
        log.append([gradient is not None for gradient in gradients])

    return hook


def test_multi_hook_waits_for_the_gradients_that_the_pass_computes() -> None:
    log: Log = []
    a, b = leaf(1, 2), leaf(3, 4)
    c, d = a * b, a * b
    handle = register_multi_grad_hook((a, b, c, d), logging(log))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    autograd.grad(c.sum(), c, retain_graph=True)
    autograd.grad(c.sum(), b, retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    assert log == [
        [True, True, True, False],
        [True, False, True, False],
        [False, False, True, False],
        [False, True, True, False],
        [True, True, True, True],
    ]
    handle.remove()
    handle.remove()
    c.sum().backward(retain_graph=True)
    assert len(log) == 5


def test_multi_hook_receives_the_gradients_in_the_order_of_the_tensors() -> None:
    got: list[Any] = []
    a, b = leaf(1), leaf(3)
    with register_multi_grad_hook([b, a, b], lambda gradients: got.extend(gradients)):
        (a * b).sum().backward()
    assert [gradient.tolist() for gradient in got] == [[1.0], [3.0], [1.0]]


def test_multi_hook_of_any_receives_the_first_gradient_of_each_pass() -> None:
    got: list[Tensor] = []
    a, b = leaf(1), leaf(3)
    c = a * b
    with register_multi_grad_hook((a, c, interlock.ones(1)), got.append, mode="any"):
        (c * 5).sum().backward(retain_graph=True)
        assert [gradient.tolist() for gradient in got] == [[5.0]]
        autograd.grad(c.sum(), b)
    (a * 2).sum().backward()
    assert [gradient.tolist() for gradient in got] == [[5.0], [1.0]]


def test_multi_hook_is_called_between_the_other_hooks_of_its_tensor() -> None:
    got: list[Any] = []
    a = leaf(1)
    a.register_hook(lambda gradient: gradient * 10)
    register_multi_grad_hook([a], lambda gradients: got.append(gradients[0].tolist()))  # type: ignore[union-attr]
    register_multi_grad_hook([a], lambda gradient: gradient * 1000, mode="any")
    a.register_hook(lambda gradient: gradient * 2)
    a.sum().backward()
    assert a.grad is not None
    assert (got, a.grad.tolist()) == ([[10.0]], [20.0])


def test_multi_hook_does_not_wait_for_gradients_that_are_none() -> None:
    log: Log = []
    a, b = leaf(1), leaf(2)
    u, v = DropSecond.apply(a, b)
    with register_multi_grad_hook((a, b), logging(log)):
        (u + v).sum().backward()
        assert log == [[True, False]]
        a.sum().backward()
    assert log == [[True, False], [True, False]]


def test_multi_hook_of_any_ignores_gradients_that_are_none() -> None:
    got: list[Tensor] = []
    a, b = leaf(1), leaf(2)
    m = b * 1
    u, v = DropSecond.apply(a, m)
    with register_multi_grad_hook((b, m, a), got.append, mode="any"):
        (u + v).sum().backward()
    assert [gradient.tolist() for gradient in got] == [[1.0]]


def test_multi_hook_of_a_tensor_follows_the_value_before_a_change_in_place() -> None:
    log: Log = []
    a = leaf(1)
    b = a * 2
    register_multi_grad_hook((a, b), logging(log))
    b.mul_(2)
    b.sum().backward()
    assert log == [[True, True]]


def test_multi_hook_may_start_another_pass() -> None:
    log: Log = []
    a, b = leaf(1), leaf(2)

    def hook(gradients: list[Tensor | None]) -> None:
        log.append([gradient is not None for gradient in gradients])
        if len(log) == 1:
            with interlock.enable_grad():
                (a * 2).sum().backward()

    register_multi_grad_hook((a, b), hook)
    (a * b).sum().backward()
    assert log == [[True, True], [True, False]]


def test_exception_of_a_multi_hook_ends_the_pass() -> None:
    a, b = leaf(1), leaf(2)
    calls: list[int] = []

    def failing(gradients: object) -> None:
        calls.append(1)
        raise LookupError("of a hook")

    register_multi_grad_hook((a, b), failing)
    for count in (1, 2):
        with pytest.raises(LookupError, match="of a hook"):
            (a * b).sum().backward()
        assert len(calls) == count


def test_multi_hook_that_is_registered_or_removed_in_a_pass() -> None:
    log: Log = []
    a, b = leaf(1), leaf(2)
    late: list[Any] = []
    node = a * 1
    first = node.register_hook(lambda _: late.append(register_multi_grad_hook((a, b), logging(log))))
    (node * b).sum().backward()
    first.remove()
    assert log == []
    handle = late.pop()
    remover = a.register_hook(lambda _: handle.remove())
    (a * 2).sum().backward()
    (a * 2).sum().backward()
    assert log == [[True, False]]
    remover.remove()


def test_multi_hooks_of_passes_on_threads_are_separate() -> None:
    log: Log = []
    a, b = leaf(1), leaf(2)
    register_multi_grad_hook((a, b), logging(log))

    def work(index: int) -> None:
        for _ in range(50):
            ((a * b) if index % 2 else a * 3).sum().backward()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert sorted(log) == [[True, False]] * 100 + [[True, True]] * 100


def test_multi_hook_of_a_tensor_that_lives_on_is_not_cleared() -> None:
    log: Log = []
    a = leaf(1)
    b = a * 2
    register_multi_grad_hook((a, b), logging(log))
    del b
    gc.collect()
    a.sum().backward()
    assert log == [[True, False]]


@pytest.mark.parametrize("mode", ["none", None, 1])
def test_multi_hook_refuses_other_modes(mode: Any) -> None:
    with pytest.raises(ValueError, match='mode must be "all" or "any", got'):
        register_multi_grad_hook([leaf(1)], print, mode=mode)


def test_multi_hook_refuses_other_arguments() -> None:
    x, plain = leaf(1), interlock.ones(1)
    with pytest.raises(TypeError, match="register_multi_grad_hook: fn must be callable, got int"):
        register_multi_grad_hook([x], 3)  # type: ignore[call-overload]
    for tensors in (x, 3, None, [3], [get_gradient_edge(x)]):
        with pytest.raises(TypeError, match="tensors must be a sequence of Tensors, got"):
            register_multi_grad_hook(tensors, print)  # type: ignore[arg-type]
    calls: list[Any] = []
    with pytest.raises(RuntimeError, match="register_multi_grad_hook: the tensor does not require grad"):
        register_multi_grad_hook([x, plain], calls.append)
    x.sum().backward()
    assert calls == []
    register_multi_grad_hook([], calls.append)
    register_multi_grad_hook([plain], calls.append, mode="any")


def test_handles_of_multi_hooks_have_their_own_numbers() -> None:
    x = leaf(1)
    first = register_multi_grad_hook([x], print)
    second = register_multi_grad_hook([x], print, mode="any")
    third = x.register_hook(lambda _: None)
    assert first.id < second.id < third.id


# --- versions


def test_increment_version_counts_for_all_views() -> None:
    x = interlock.ones(2)
    increment_version(x)
    increment_version([x, x.view(2)])
    increment_version(tensor for tensor in [x[:1]])
    increment_version([])
    assert (x._version, x[:1]._version) == (4, 4)


def test_increment_version_makes_a_backward_pass_fail() -> None:
    x = leaf(2)
    y = x * 1
    z = y * y
    increment_version(y)
    with pytest.raises(RuntimeError, match="was changed in place"):
        z.sum().backward()


def test_increment_version_ignores_inference_tensors() -> None:
    with interlock.inference_mode():
        inference = interlock.ones(1)
    x = interlock.ones(1)
    increment_version([inference, x])
    assert x._version == 1


@pytest.mark.parametrize("tensor", [3, None, "ab", [3]])
def test_increment_version_refuses_other_objects(tensor: Any) -> None:
    with pytest.raises(TypeError, match="increment_version: tensor must be a Tensor or an iterable"):
        increment_version(tensor)
    x = interlock.ones(1)
    with pytest.raises(TypeError, match="got int"):
        increment_version([x, 3])  # type: ignore[list-item]
    assert x._version == 0


# --- disabled hooks of saved tensors


def identity_hooks() -> saved_tensors_hooks:
    return saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)


def enter(hooks: saved_tensors_hooks) -> None:
    with hooks:
        leaf(1).exp().sum().backward()


def test_disabled_hooks_raise_with_the_innermost_message() -> None:
    hooks = identity_hooks()
    with disable_saved_tensors_hooks("outer message"):
        with disable_saved_tensors_hooks("inner message"), pytest.raises(RuntimeError, match="inner message"):
            enter(hooks)
        with pytest.raises(RuntimeError, match=r"^outer message$"):
            enter(save_on_cpu())
        leaf(1).exp().sum().backward()
    enter(hooks)


def test_hooks_cannot_be_disabled_while_they_are_active() -> None:
    log: list[Tensor] = []
    x = leaf(2)
    with saved_tensors_hooks(lambda tensor: (log.append(tensor), tensor)[1], lambda tensor: tensor):
        with pytest.raises(RuntimeError, match=r"^not here$"), disable_saved_tensors_hooks("not here"):
            pass
        x.exp()
    assert len(log) == 1


def test_disabling_decorates_functions_and_is_entered_again() -> None:
    @disable_saved_tensors_hooks("in the function")
    def function() -> None:
        enter(identity_hooks())

    for _ in range(2):
        with pytest.raises(RuntimeError, match="in the function"):
            function()
    scope = disable_saved_tensors_hooks("entered twice")
    with scope, scope:
        pass
    enter(identity_hooks())


def test_disabling_is_part_of_the_state_of_a_thread() -> None:
    with disable_saved_tensors_hooks("captured"):
        state = interlock.capture()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(enter, identity_hooks()).result()
    enter(identity_hooks())
    with pytest.raises(RuntimeError, match="captured"):
        state.run(enter, identity_hooks())


@pytest.mark.parametrize("message", [3, None])
def test_disabling_needs_a_message(message: Any) -> None:
    with pytest.raises(TypeError, match="disable_saved_tensors_hooks: error_message must be a str, got"):
        disable_saved_tensors_hooks(message)


def test_names_of_the_module() -> None:
    assert all(getattr(graph, name) is not None for name in graph.__all__)

"""`autograd.Function`: operations with a backward function of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import pytest
from interlock import Tensor
from interlock.autograd import Function
from interlock.autograd.function import once_differentiable
from interlock.errors import ArgumentError, GraphFreedError, ShapeError


class Square(Function):
    """The square, with a saved tensor."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float64, requires_grad=True)


def function(
    forward: Callable[..., Any] = lambda ctx, x: x * 1, backward: Callable[..., Any] = lambda ctx, grad: grad
) -> Any:
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (Function,), members)


def gradient(tensor: Tensor) -> Any:
    return None if tensor.grad is None else tensor.grad.tolist()


def test_apply_records_a_node_that_is_the_context() -> None:
    contexts: list[Any] = []

    def forward(ctx: Any, x: Tensor, factor: int) -> Tensor:
        contexts.append(ctx)
        ctx.factor = factor
        assert not interlock.is_grad_enabled()
        return x * factor

    x = leaf(1, 2)
    y = function(forward, lambda ctx, grad: (grad * ctx.factor, None)).apply(x, 3)
    assert y.grad_fn is contexts[0]
    assert y.grad_fn.needs_input_grad == (True, False)
    assert y.grad_fn.name() == "MadeBackward"
    assert "grad_fn=<MadeBackward>" in repr(y)
    assert [node.name() for node, _ in y.grad_fn.next_functions] == ["AccumulateGrad"]
    y.sum().backward()
    assert gradient(x) == [3.0, 3.0]


def test_saved_tensors_of_a_leaf_are_the_leaf() -> None:
    x = leaf(1)
    y = Square.apply(x)
    assert y.grad_fn.saved_tensors[0] is x
    y.backward()
    with pytest.raises(GraphFreedError):
        _ = y.grad_fn.saved_tensors
    with pytest.raises(GraphFreedError):
        y.backward()


def test_saved_tensor_that_was_changed_in_place_is_an_error() -> None:
    x = leaf(1) * 1
    y = Square.apply(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"SquareBackward: a saved tensor .* was changed in place"):
        y.backward()


def test_double_backward_differentiates_the_operations_of_backward() -> None:
    x = leaf(3)
    (first,) = interlock.autograd.grad(Square.apply(x), x, create_graph=True)
    (second,) = interlock.autograd.grad(first, x)
    assert (first.tolist(), second.tolist()) == ([6.0], [2.0])
    assert interlock.autograd.gradcheck(Square.apply, leaf(1, 2))
    assert interlock.autograd.gradgradcheck(Square.apply, leaf(1, 2))


def test_saved_result_has_the_node_as_history() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    exp = function(forward, lambda ctx, grad: grad * ctx.saved_tensors[0])
    assert interlock.autograd.gradcheck(exp.apply, leaf(0.5, 1))
    assert interlock.autograd.gradgradcheck(exp.apply, leaf(0.5, 1))


def test_several_results_have_one_node() -> None:
    seen: list[Any] = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append([None if grad is None else grad.tolist() for grad in grads])
        return grads[0], grads[2]

    a, b = leaf(1), leaf(2)
    total, text, product = function(lambda ctx, a, b: (a + b, "text", a * b), backward).apply(a, b)
    assert text == "text"
    assert total.grad_fn is product.grad_fn
    # As in PyTorch the text has a number, too.
    assert (total.output_nr, product.output_nr) == (0, 2)
    (total * 10).backward()
    # The other tensor has a gradient of zeros, and the text has none.
    assert seen == [[[10.0], None, [0.0]]]
    assert (gradient(a), gradient(b)) == ([10.0], [0.0])


def test_results_of_one_function_are_differentiated_together() -> None:
    calls: list[int] = []

    def backward(ctx: Any, first: Tensor, second: Tensor) -> Any:
        calls.append(1)
        return first * 2 + second * 3

    both = function(lambda ctx, x: (x * 2, x * 3), backward)
    x = leaf(1)
    double, triple = both.apply(x)
    (double.exp() * 0 + double + triple * 10).backward()
    assert calls == [1]
    assert gradient(x) == [32.0]


def test_set_materialize_grads_false_passes_none() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append((first, second))
        return second

    x = leaf(1)
    _, triple = function(forward, backward).apply(x)
    triple.backward()
    assert seen[0][0] is None
    assert gradient(x) == [1.0]
    with pytest.raises(TypeError, match="set_materialize_grads: value must be a bool, got int"):
        triple.grad_fn.set_materialize_grads(1)


def test_setup_context_separates_forward_from_the_context() -> None:
    class Scale(Function):
        @staticmethod
        def forward(x: Tensor, factor: float) -> Tensor:  # type: ignore[override]
            return x * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.factor = inputs[1]
            assert output.tolist() == [3.0]

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return grad * ctx.factor, None

    x = leaf(1)
    Scale.apply(x, 3.0).backward()
    assert gradient(x) == [3.0]


def test_mark_dirty_returns_the_changed_tensor_with_a_new_history() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)

    double = function(forward, lambda ctx, grad: grad * 2)
    x = leaf(1, 2)
    changed = x * 1
    result = double.apply(changed)
    assert result is changed
    assert (changed.tolist(), changed.grad_fn.name()) == ([2.0, 4.0], "MadeBackward")
    result.sum().backward()
    assert gradient(x) == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="mark_dirty: a leaf tensor that requires grad"):
        double.apply(leaf(1))
    with pytest.raises(ArgumentError, match="must not be views"):
        double.apply((x * 1)[:1])


def test_changed_argument_without_a_gradient_may_be_a_leaf_or_a_view() -> None:
    def forward(ctx: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        ctx.mark_dirty(x)
        ctx.mark_non_differentiable(x)
        return x.add_(1), y * 2

    change = function(forward, lambda ctx, of_x, of_y: (of_x, of_y * 2))
    whole = leaf(1, 1)
    for x in (whole, (leaf(1, 1, 1) * 1)[:2], whole * 1):
        y = leaf(1, 1)
        changed, doubled = change.apply(x, y)
        assert (changed.tolist(), changed.requires_grad, changed.grad_fn) == ([2.0, 2.0], False, None)
        assert (x.tolist(), x.requires_grad, changed is x) == ([2.0, 2.0], True, False)
        (changed * doubled).sum().backward()
        assert gradient(y) == [4.0, 4.0]
    assert gradient(whole) == [0.0, 0.0]


def test_mark_dirty_refuses_tensors_that_are_not_argument_and_result() -> None:
    def not_returned(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x.add_(1))
        return x * 1

    def not_given(ctx: Any, x: Tensor) -> Tensor:
        y = x * 1
        ctx.mark_dirty(y)
        return y

    with pytest.raises(ArgumentError, match=r"must be results of forward\(\)"):
        function(not_returned).apply(leaf(1) * 1)
    with pytest.raises(ArgumentError, match=r"must be arguments of forward\(\)"):
        function(not_given).apply(leaf(1) * 1)


def test_unchanged_input_as_result_is_another_tensor() -> None:
    x = leaf(1)
    y = function(lambda ctx, x: x, lambda ctx, grad: grad * 5).apply(x)
    assert y is not x
    assert x.is_leaf
    assert y.data_ptr() == x.data_ptr()
    y.backward()
    assert gradient(x) == [5.0]


BYPASSED = r"returned by the forward\(\) of a Function, whose backward\(\) .* would bypass"


def test_unchanged_input_as_result_is_a_view_that_refuses_changes_in_place() -> None:
    identity = function(lambda ctx, x: x, lambda ctx, grad: -grad)
    x = leaf(1, 1)
    for given in (x, x * 1, (x * 1).view(2)):
        y = identity.apply(given)
        assert y._is_view()
        assert y._base is (given._base if given._is_view() else given)
        for target in (y, y[:1], y.view(-1)):
            with pytest.raises(RuntimeError, match=BYPASSED):
                target.mul_(3)
        assert y.tolist() == [1.0, 1.0]
        assert y.detach().mul_(1) is not None
    identity.apply(x).clone().mul_(3).sum().backward()
    assert gradient(x) == [-3.0, -3.0]


@pytest.mark.parametrize("records", [True, False])
def test_history_of_a_returned_input_is_unknown_after_its_change(records: bool) -> None:
    x = leaf(1, 1) * 1
    y = function(lambda ctx, x: x).apply(x)
    with interlock.set_grad_enabled(records):
        x.mul_(3)
    assert y.requires_grad
    with pytest.raises(RuntimeError, match=BYPASSED):
        y.sum()
    with pytest.raises(RuntimeError, match=BYPASSED):
        _ = y.grad_fn


def test_each_returned_input_is_a_view() -> None:
    plain, x = interlock.ones(1, dtype=interlock.float64), leaf(1)
    p, q, r = function(lambda ctx, a, b: (a, b, b), lambda ctx, *grads: (None, grads[1] + grads[2])).apply(
        plain, x
    )
    assert q is not r
    for result, given in ((p, plain), (q, x), (r, x)):
        assert result._base is given
        assert result.grad_fn.name() == "MadeBackward"
        with pytest.raises(RuntimeError, match=BYPASSED):
            result.add_(1)
    (p + q * 2 + r * 3).sum().backward()
    assert gradient(x) == [5.0]
    # `p` has the history of the function, which a change of `plain`, a tensor without history, makes unknown.
    plain.mul_(2)
    with pytest.raises(RuntimeError, match=BYPASSED):
        _ = p.grad_fn


def test_returned_input_without_gradient_is_a_view() -> None:
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Any:
        ctx.mark_non_differentiable(a)
        return a, b

    x, order = leaf(1), interlock.tensor([1])
    for given in (interlock.ones(1), order):
        p, _ = function(forward, lambda ctx, a, b: (None, b)).apply(given, x)
        assert (p is given, p._base is given, p.requires_grad) == (False, True, False)
        p.add_(1)
        assert given.tolist() == [2]
    p, _ = function(forward, lambda ctx, a, b: (a, b)).apply(x, x * 1)
    assert (p._is_view(), p.requires_grad, p.data_ptr() == x.data_ptr()) == (False, False, True)


def test_returned_input_of_an_unrecorded_call_is_another_tensor() -> None:
    identity = function(lambda ctx, x: x)
    x = interlock.ones(2)
    y = identity.apply(x)
    assert (y is x, y._base is x) == (False, True)
    y.mul_(2)
    assert x.tolist() == [2.0, 2.0]
    factor = interlock.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=BYPASSED):
        y.mul_(factor)
    y.requires_grad_()
    assert not x.requires_grad
    with interlock.no_grad():
        detached = identity.apply(factor)
    assert (detached.requires_grad, detached._is_view()) == (False, False)
    with interlock.inference_mode():
        created = interlock.ones(2)
    returned = identity.apply(created)
    assert (returned is created, returned.is_inference()) == (False, True)


def test_views_that_forward_returns_refuse_changes_in_place() -> None:
    x = leaf(1, 1) * 1
    (part,) = function(lambda ctx, x: (x[:1],)).apply(x)
    copy, view = function(lambda ctx, x: (y := x * 1, y.view(-1))).apply(x)
    for result in (part, view):
        with pytest.raises(RuntimeError, match=BYPASSED):
            result.mul_(2)
    copy.mul_(2)
    with pytest.raises(RuntimeError, match=BYPASSED):
        view.sum()


@pytest.mark.parametrize("requires_grad", [True, False])
def test_results_of_an_unrecorded_call_have_no_history(requires_grad: bool) -> None:
    factor = leaf(2)

    def product(ctx: Any, x: Tensor) -> Tensor:
        with interlock.enable_grad():
            return x * factor

    x = interlock.ones(1, dtype=interlock.float64, requires_grad=requires_grad)
    with interlock.set_grad_enabled(not requires_grad):
        for forward in (product, lambda ctx, x: factor, lambda ctx, x: factor * 1):
            y = function(forward).apply(x)
            assert (y.requires_grad, y.grad_fn) == (False, None)
    # The parameter is not changed.
    assert factor.requires_grad


def test_result_that_is_marked_as_not_differentiable_has_no_history() -> None:
    def forward(ctx: Any, x: Tensor) -> Any:
        with interlock.enable_grad():
            y = x * 2
        ctx.mark_non_differentiable(y)
        return y, x * 3

    y, z = function(forward, lambda ctx, a, b: b).apply(leaf(1))
    assert (y.requires_grad, z.requires_grad) == (False, True)


def test_view_of_an_input_that_was_changed_has_the_history_of_the_function() -> None:
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Any:
        ctx.mark_dirty(x)
        return x.add_(1), x.view(-1)

    x, w = interlock.ones(2), leaf(1, 1)
    a, b = function(forward, lambda ctx, a, b: (None, a + b)).apply(x, w)
    assert (a is x, b._base is x) == (True, True)
    (a.sum() + b.sum()).backward()
    assert gradient(w) == [2.0, 2.0]
    with pytest.raises(RuntimeError, match=BYPASSED):
        b.mul_(2)


def test_changed_input_of_an_unrecorded_call_is_returned_without_history() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.add_(1)

    x = leaf(1)
    with interlock.no_grad():
        y = function(forward).apply(x)
    assert (y is x, y.requires_grad, x.requires_grad, x.tolist()) == (False, False, True, [2.0])


def test_results_that_are_no_tensors_have_numbers() -> None:
    received: list[Any] = []
    x = leaf(1)
    _, y = function(lambda ctx, x: (None, x * 2), lambda ctx, a, b: (received.append(a), b)[1]).apply(x)
    edge = interlock.autograd.graph.get_gradient_edge(y)
    assert (y.output_nr, edge.output_nr) == (1, 1)
    y.grad_fn.register_prehook(lambda gradients: received.append(len(gradients)))
    y.backward()
    assert (received, gradient(x)) == ([2, None], [1.0])
    with pytest.raises(
        ArgumentError, match="output_nr must be the number of a result that is a tensor, got 0"
    ):
        interlock.autograd.backward(interlock.autograd.graph.GradientEdge(y.grad_fn, 0), interlock.ones(1))


def test_view_as_result_has_the_history_of_the_function() -> None:
    x = leaf(1, 2)
    y = function(lambda ctx, x: x[:1], lambda ctx, grad: interlock.cat([grad * 5, grad * 0])).apply(x * 1)
    assert y.grad_fn.name() == "MadeBackward"
    y.backward()
    assert gradient(x) == [5.0, 0.0]


def test_mark_non_differentiable_results_have_no_history() -> None:
    def forward(ctx: Any, x: Tensor) -> Any:
        order = x * 0
        ctx.mark_non_differentiable(order)
        return x * 2, order

    seen: list[Any] = []
    x = leaf(1)
    double, order = function(forward, lambda ctx, a, b: (seen.append(b.tolist()), a * 2)[1]).apply(x)
    assert not order.requires_grad
    double.backward()
    assert (gradient(x), seen) == ([2.0], [[0.0]])


def test_nothing_is_recorded_without_gradients() -> None:
    with interlock.no_grad():
        assert not Square.apply(leaf(1)).requires_grad
    plain = Square.apply(interlock.ones(1))
    assert plain.grad_fn is None


def test_none_of_backward_is_no_gradient() -> None:
    x = leaf(1)
    function(backward=lambda ctx, grad: None).apply(x).backward()
    assert x.grad is None


@pytest.mark.parametrize(
    ("backward", "error", "text"),
    [
        (lambda ctx, grad: (grad, grad), RuntimeError, "one gradient for each argument of forward, 1, got 2"),
        (lambda ctx, grad: (), RuntimeError, "one gradient for each argument of forward, 1, got 0"),
        (lambda ctx, grad: 3, RuntimeError, "must be a Tensor or None, got int"),
        (lambda ctx, grad: grad[:1], ShapeError, r"gradient 0 must be of shape \(3,\)"),
        (lambda ctx, grad: {}[0], KeyError, "0"),
    ],
)
def test_wrong_result_of_backward_is_an_error(backward: Any, error: type[Exception], text: str) -> None:
    x = leaf(1, 2, 3)
    y = function(backward=backward).apply(x)
    with pytest.raises(error, match=text):
        y.sum().backward()
    assert x.grad is None


def test_gradient_of_an_argument_that_is_no_tensor_is_an_error() -> None:
    y = function(lambda ctx, x, k: x * k, lambda ctx, grad: (grad, grad)).apply(leaf(1), 2)
    with pytest.raises(RuntimeError, match="must return None for argument 1 of forward"):
        y.backward()


def test_surplus_none_of_backward_is_ignored() -> None:
    x = leaf(1)
    function(backward=lambda ctx, grad: (grad, None)).apply(x).backward()
    assert gradient(x) == [1.0]


def test_gradient_is_reduced_to_the_shape_and_dtype_of_the_argument() -> None:
    x = interlock.ones(1, requires_grad=True)
    expand = function(lambda ctx, x: x.expand(3).clone(), lambda ctx, grad: grad.double())
    expand.apply(x).sum().backward()
    assert x.grad is not None
    assert (x.grad.tolist(), x.grad.dtype) == ([3.0], interlock.float32)


def test_function_without_forward_or_backward_is_an_error() -> None:
    class NoBackward(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 1

    y = NoBackward.apply(leaf(1))
    with pytest.raises(NotImplementedError, match="backward: a subclass"):
        y.backward()
    with pytest.raises(NotImplementedError, match="forward: a subclass"):
        Function.apply(leaf(1))
    with pytest.raises(RuntimeError, match=r"call Square.apply\(...\)"):
        Square()(leaf(1))


def test_save_for_backward_accepts_tensors_and_none() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(None, x)
        return x * 2

    x = leaf(1)
    y = function(forward, lambda ctx, grad: grad * 2 if ctx.saved_tensors[0] is None else None).apply(x)
    y.backward()
    assert gradient(x) == [2.0]
    # The types of PyTorch's exceptions.
    methods = {
        "save_for_backward": TypeError,
        "mark_dirty": RuntimeError,
        "mark_non_differentiable": RuntimeError,
    }
    for method, error in methods.items():
        with pytest.raises(error, match=f"{method}: each argument must be a Tensor"):
            getattr(y.grad_fn, method)(3)


def test_once_differentiable_refuses_a_second_derivative() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: Tensor) -> Any:
            assert not interlock.is_grad_enabled()
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    x = leaf(2)
    (plain,) = interlock.autograd.grad(Cube.apply(x), x)
    assert (plain.tolist(), plain.requires_grad) == ([12.0], False)
    (first,) = interlock.autograd.grad(Cube.apply(x), x, create_graph=True)
    assert first.requires_grad
    with pytest.raises(RuntimeError, match="can be differentiated only once"):
        first.backward()


def test_unrecorded_context_has_no_node() -> None:
    contexts: list[Any] = []
    function(lambda ctx, x: (contexts.append(ctx), x * 1)[1]).apply(interlock.ones(1))
    assert contexts[0].saved_tensors == ()
    assert contexts[0].name() == "MadeBackward"
    with pytest.raises(RuntimeError, match="was not recorded"):
        _ = contexts[0].next_functions


def test_context_of_a_freed_graph_has_no_saved_tensors() -> None:
    contexts: list[Any] = []

    def forward(ctx: Any, x: Tensor) -> Tensor:
        contexts.append(ctx)
        ctx.save_for_backward(x)
        return x * 1

    y = function(forward).apply(leaf(2))
    assert contexts[0].saved_tensors[0].tolist() == [2.0]
    del y
    with pytest.raises(RuntimeError, match="no tensor refers to it any more"):
        _ = contexts[0].saved_tensors


def test_function_runs_on_devices_and_among_operations() -> None:
    x = leaf(1, 2)
    (Square.apply(x * 2) * 3).sum().backward()
    assert gradient(x) == [24.0, 48.0]


@pytest.mark.usefixtures("driver")
def test_gradient_on_another_device_is_refused_but_for_numbers() -> None:
    x = interlock.ones(2, device="host:0", requires_grad=True)
    moved = function(backward=lambda ctx, grad: grad.cpu())
    with pytest.raises(RuntimeError, match=r"MadeBackward: gradient 0 must be on host:0, got one on cpu"):
        moved.apply(x).sum().backward()
    assert x.grad is None
    # As in PyTorch.
    number = interlock.ones((), device="host:0", requires_grad=True)
    moved.apply(number).backward()
    assert number.grad is not None
    assert (number.grad.item(), str(number.grad.device)) == (1.0, "host:0")


class Scale(Function):
    """A product whose arguments have defaults, with `setup_context`."""

    @staticmethod
    def forward(x: Tensor, y: Tensor | None = None, factor: float = 2.0, *, offset: float = 0.0) -> Tensor:
        return (x if y is None else x * y) * factor + offset

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.inputs = inputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, y, factor = ctx.inputs
        if y is None:
            return grad * factor, None, None
        return grad * factor * y, grad * factor * x, None


def test_setup_context_receives_keywords_and_defaults_by_position() -> None:
    x, y = leaf(3.0), leaf(5.0)
    out = Scale.apply(y=y, x=x)
    assert out.tolist() == [30.0]
    assert (len(out.grad_fn.inputs), out.grad_fn.needs_input_grad) == (3, (True, True, False))
    out.sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert (x.grad.tolist(), y.grad.tolist()) == ([10.0], [6.0])
    assert Scale.apply(x, factor=4.0, offset=1.0).tolist() == [13.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Scale.apply(x, z=1)


def test_tensors_passed_by_keyword_to_forward_with_ctx_have_gradients() -> None:
    needed = []

    def forward(ctx: Any, x: Tensor, y: Tensor | None = None, factor: float = 2.0) -> Tensor:
        needed.append(ctx.needs_input_grad)
        return (x if y is None else x * y) * factor

    def backward(ctx: Any, grad: Tensor) -> Any:
        return (grad, grad * 7, None)[: len(ctx.needs_input_grad)]

    x, y = leaf(3.0), leaf(5.0)
    made = function(forward, backward)
    made.apply(x, y=y).sum().backward()
    assert y.grad is not None
    assert y.grad.tolist() == [7.0]
    made.apply(x=x).sum().backward()
    made.apply(x, factor=1.0)
    # Positions after the last argument that was passed have no gradient, as in PyTorch.
    assert needed == [(True, True), (True,), (True, False, False)]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        made.apply(x, z=1)


# --- dtypes of gradients


def grad_dtypes(forward: Callable[..., Any], use: Callable[[Any], Tensor] = lambda out: out.sum()) -> Any:
    """Return the dtypes of the gradients that `backward` receives."""
    received: list[Any] = []

    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        received.append(tuple(grad if grad is None else grad.dtype for grad in grads))
        return grads[0]

    x = interlock.ones(2, requires_grad=True)
    use(function(forward, backward).apply(x)).backward()
    assert x.grad is not None
    assert x.grad.dtype == interlock.float32
    return received


def declared(*dtypes: Any, results: Callable[[Tensor], Any] = lambda x: x * 2) -> Callable[..., Any]:
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.set_output_grad_dtype(*dtypes)
        return results(x)

    return forward


def test_the_gradient_arrives_in_the_dtype_that_was_set() -> None:
    half, double = interlock.float16, interlock.float64
    assert grad_dtypes(declared(half)) == [(half,)]
    assert grad_dtypes(declared(interlock.float32, results=lambda x: x.to(double))) == [(interlock.float32,)]
    pair = declared(half, None, results=lambda x: (x * 2, x * 3))
    assert grad_dtypes(pair, lambda out: (out[0] + out[1]).sum()) == [(half, interlock.float32)]
    text = declared(half, None, results=lambda x: (x * 2, "text"))
    assert grad_dtypes(text, lambda out: out[0].sum()) == [(half, None)]
    zeros = declared(half, double, results=lambda x: (x * 2, x * 3))
    assert grad_dtypes(zeros, lambda out: out[0].sum()) == [(half, double)]


def test_none_passes_the_gradient_on_in_its_dtype() -> None:
    to_float = function(lambda ctx, x: x.float(), lambda ctx, grad: grad)
    undeclared = grad_dtypes(lambda ctx, x: x.half(), lambda out: to_float.apply(out).sum())
    passed = grad_dtypes(declared(None, results=Tensor.half), lambda out: to_float.apply(out).sum())
    both = grad_dtypes(
        declared(None, results=Tensor.half), lambda out: to_float.apply(out).sum() + out.sum().float()
    )
    assert (undeclared, passed, both) == (
        [(interlock.float16,)],
        [(interlock.float32,)],
        [(interlock.float32,)],
    )


def test_hooks_and_retained_gradients_have_the_dtype_that_was_set() -> None:
    x = interlock.ones(2, requires_grad=True)
    dtypes: list[Any] = []
    out = function(declared(interlock.float64, results=Tensor.half)).apply(x)
    out.register_hook(lambda grad: dtypes.append(grad.dtype))
    out.grad_fn.register_prehook(lambda grads: dtypes.append(grads[0].dtype))
    out.grad_fn.register_hook(lambda inputs, grads: dtypes.append(inputs[0].dtype))
    out.retain_grad()
    total = out.double().sum() + out.sum().double()
    of_out, of_x = interlock.autograd.grad(total, (out, x), retain_graph=True)
    assert (of_out.dtype, of_x.dtype) == (interlock.float64, interlock.float32)
    dtypes.clear()
    total.backward()
    assert dtypes == [interlock.float64, interlock.float64, interlock.float32]
    assert out.grad is not None
    assert out.grad.dtype == interlock.float64


def test_the_attribute_has_the_dtypes_until_the_call_is_recorded() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Tensor) -> Tensor:
        seen.append(ctx.output_grad_dtypes)
        ctx.set_output_grad_dtype(interlock.float16)
        seen.append(ctx.output_grad_dtypes)
        return x * 2

    out = function(forward).apply(leaf(1))
    assert seen == [None, (interlock.float16,)]
    assert out.grad_fn.output_grad_dtypes is None


def assigned(value: Any) -> Callable[..., Any]:
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.output_grad_dtypes = value
        return x * 2

    return forward


def twice(ctx: Any, x: Tensor) -> Any:
    ctx.set_output_grad_dtype(interlock.float16)
    ctx.set_output_grad_dtype(interlock.float16)


def undifferentiable(ctx: Any, x: Tensor) -> Any:
    y = x * 2
    ctx.mark_non_differentiable(y)
    ctx.set_output_grad_dtype(None, interlock.float16)
    return x * 1, y


@pytest.mark.parametrize("records", [True, False])
@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (
            declared(interlock.float16, None),
            "one argument must be passed for each result of forward, 1, got 2",
        ),
        (declared(), "one argument must be passed for each result of forward, 1, got 0"),
        (
            declared(interlock.int64),
            "each argument must be a floating-point dtype or None, got interlock.int64",
        ),
        (declared("float"), "each argument must be a floating-point dtype or None, got str"),
        (declared(None, interlock.half, results=lambda x: (x, "")), "the argument of result 1 must be None"),
        (undifferentiable, "the argument of result 1 must be None, because the result has no gradient"),
        (twice, "must be called once"),
        (assigned([None]), "ctx.output_grad_dtypes must be a tuple, got list"),
    ],
)
def test_wrong_dtypes_of_gradients_raise(forward: Callable[..., Any], message: str, records: bool) -> None:
    with (
        interlock.set_grad_enabled(records),
        pytest.raises(RuntimeError, match=f"^(set_output_grad_dtype|apply): {message}"),
    ):
        function(forward).apply(leaf(1))


# --- buffers of gradients


class Tenfold(Function):
    """Adds its gradient to the buffer of its input if there is one."""

    buffers: list[Any]

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: int, y: Tensor) -> Tensor:
        return x * factor + y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        buffer, other, of_y = ctx.input_grad_buffers
        Tenfold.buffers.append((buffer if buffer is None else buffer.tolist(), other, of_y))
        if buffer is None:
            return grad * 10, None, None
        buffer.add_(grad * 10)
        return None, None, None


@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize("comes_last", [True, False])
def test_backward_adds_to_the_buffer_that_later_operations_have_filled(
    is_leaf: bool, comes_last: bool
) -> None:
    Tenfold.buffers = []
    x = leaf(1)
    y = x if is_leaf else x * 1
    if comes_last:
        tenfold, other = Tenfold.apply(y, 10, leaf(0)), y * 5
    else:
        other, tenfold = y * 5, Tenfold.apply(y, 10, leaf(0))
    (tenfold + other).backward(retain_graph=True)
    assert gradient(x) == [15.0]
    assert Tenfold.buffers == [([5.0] if comes_last else None, None, None)]
    assert interlock.autograd.grad(tenfold + other, x)[0].tolist() == [15.0]


def test_a_buffer_that_shares_memory_is_none() -> None:
    Tenfold.buffers = []
    x = leaf(1)
    y = x * 1
    tenfold = Tenfold.apply(y, 10, leaf(0))
    # Both operands of the sum receive one gradient.
    (tenfold + y).backward()
    assert Tenfold.buffers == [(None, None, None)]
    assert gradient(x) == [11.0]
    x.grad = interlock.ones(1, dtype=interlock.float64)
    Tenfold.apply(x, 10, leaf(0)).backward()
    assert Tenfold.buffers[1:] == [(None, None, None)], "the grad of a leaf is no buffer"


def test_buffers_are_readable_only_in_the_backward_of_the_node() -> None:
    outside = "^input_grad_buffers: must be read while the backward function of this node runs"
    x = leaf(1)
    out = Tenfold.apply(x, 10, leaf(0))
    with pytest.raises(RuntimeError, match=outside):
        out.grad_fn.input_grad_buffers  # noqa: B018
    x.register_hook(lambda grad: out.grad_fn.input_grad_buffers)
    with pytest.raises(RuntimeError, match=outside):
        out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match=outside):
        function(lambda ctx, x: ctx.input_grad_buffers).apply(x)
    with pytest.raises(AttributeError):
        out.grad_fn.input_grad_buffers = 1
    y = leaf(1)
    out = Tenfold.apply(y, 10, leaf(0))
    with pytest.raises(RuntimeError, match="input_grad_buffers: create_graph must be False"):
        interlock.autograd.grad(out, y, create_graph=True)
    with (
        interlock.autograd.detect_anomaly(),
        pytest.warns(UserWarning, match="TenfoldBackward failed"),
        pytest.raises(RuntimeError, match="input_grad_buffers: anomaly mode must be off"),
    ):
        Tenfold.apply(y, 10, leaf(0)).backward()
    out.grad_fn.register_hook(lambda inputs, grads: None)
    with pytest.raises(RuntimeError, match="input_grad_buffers: the node must have no hook of register_hook"):
        out.backward()

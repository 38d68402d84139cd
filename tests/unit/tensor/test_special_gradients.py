"""First and second gradients at 0, NaN, infinity and ties, with the results of PyTorch 2.15."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan

import interlock
import numpy as np
import pytest
from interlock import Tensor
from interlock.errors import ShapeError

pytestmark = pytest.mark.usefixtures("everywhere")

Values = Sequence[float]


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float64, requires_grad=True)


def gradients(function: Callable[..., Tensor], *leaves: Tensor) -> list[Values]:
    found = interlock.autograd.grad(function(*leaves).sum(), leaves)
    return [each.tolist() for each in found]


def second(function: Callable[[Tensor], Tensor], x: Tensor) -> Values:
    """Return the gradient of the sum of the first gradient."""
    (first,) = interlock.autograd.grad(function(x).sum(), x, create_graph=True)
    (found,) = interlock.autograd.grad(first.sum(), x)
    return list(found.tolist())


def same(found: object, expected: object) -> None:
    np.testing.assert_array_equal(np.array(found), np.array(expected))


@pytest.mark.parametrize(
    ("base", "exponent", "of_base", "of_exponent"),
    [
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 1.0, 0.0),
        (0.0, 2.0, 0.0, 0.0),
        (0.0, -1.0, -inf, -inf),
        (-0.0, -1.0, -inf, inf),
        (0.0, -inf, -inf, -inf),
        (0.0, inf, nan, 0.0),
        (nan, 0.0, 0.0, nan),
        (-1.0, 0.0, 0.0, nan),
        (2.0, 0.0, 0.0, np.log(2.0)),
        (0.0, nan, nan, nan),
    ],
)
def test_pow_of_tensors_has_the_gradients_of_pytorch_at_special_values(
    base: float, exponent: float, of_base: float, of_exponent: float
) -> None:
    same(gradients(lambda a, b: a**b, leaf(base), leaf(exponent)), [[of_base], [of_exponent]])


def test_pow_with_zeros_as_exponents_has_gradient_zero() -> None:
    x = leaf(0, -0.0, 3, nan, inf)
    (found,) = gradients(lambda x: x.pow(interlock.zeros(5, dtype=interlock.float64)), x)
    same(found, [0.0] * 5)
    same(gradients(lambda x: x**0, x), [[0.0] * 5])


def test_pow_of_a_tensor_by_itself_is_zero_at_zero() -> None:
    same(gradients(lambda x: x.pow(x), leaf(0, 1)), [[0.0, 1.0]])


def test_pow_of_the_number_zero_has_gradient_minus_infinity_below_zero() -> None:
    same(gradients(lambda b: 0**b, leaf(-1, 0, 2)), [[-inf, 0.0, 0.0]])
    zero = interlock.tensor(0.0, dtype=interlock.float64)
    same(gradients(lambda b: zero**b, leaf(-1, 0, 2)), [[-inf, 0.0, 0.0]])


def test_relu_passes_the_gradient_through_nan_and_stops_it_at_zero() -> None:
    same(gradients(interlock.relu, leaf(nan, inf, 0, -0.0, -inf, 2)), [[1.0, 1.0, 0.0, 0.0, 0.0, 1.0]])


def test_relu_stops_an_infinite_gradient() -> None:
    x = leaf(-1, 1)
    x.relu().backward(interlock.tensor([inf, inf], dtype=interlock.float64))
    assert x.grad is not None
    same(x.grad.tolist(), [0.0, inf])


@pytest.mark.parametrize("function", [Tensor.relu, Tensor.abs], ids=["relu", "abs"])
def test_gradients_of_relu_and_abs_can_be_differentiated(function: Callable[[Tensor], Tensor]) -> None:
    same(second(function, leaf(-1, 0, 2, nan)), [0.0] * 4)
    same(second(lambda x: function(x) ** 2, leaf(-3, 0, 2)), [2.0 if function is Tensor.abs else 0.0, 0, 2])


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, nan, 3), (0, 1, 0)),
        ((nan, 2, nan), (0.5, 0, 0.5)),
        ((nan, nan), (0.5, 0.5)),
        ((-0.0, 0.0), (0.5, 0.5)),
        ((inf, inf), (0.5, 0.5)),
        ((5,), (1,)),
    ],
)
def test_extremes_give_the_gradient_to_nan_or_share_it_among_ties(
    name: str, values: Values, expected: Values
) -> None:
    same(gradients(lambda x: getattr(x, name)(), leaf(*values)), [expected])


def test_amax_over_a_dimension_confines_a_nan_to_its_row() -> None:
    x = interlock.tensor([[1.0, nan], [2.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x.amax(1).sum().backward()
    assert x.grad is not None
    same(x.grad.tolist(), [[0.0, 1.0], [0.5, 0.5], [0.0, 1.0]])


def test_extremes_give_no_infinite_gradient_to_other_elements() -> None:
    x = leaf(1, 3)
    x.max().backward(interlock.tensor(inf, dtype=interlock.float64))
    assert x.grad is not None
    same(x.grad.tolist(), [0.0, inf])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x.clamp(0.0, 1.0), [0, 0, 1, 0, 0, 0]),
        (lambda x: x.clip(0.0, 1.0), [0, 0, 1, 0, 0, 0]),
        (lambda x: (x * 1).clamp_(0.0, 1.0), [0, 0, 1, 0, 0, 0]),
        (lambda x: x.clamp(1.0, 1.0), [0] * 6),
        (lambda x: x.clamp(min=0.0), [0, 0, 1, 1, 1, 0]),
        (lambda x: x.clamp_min(0.0), [0, 0, 1, 1, 1, 0]),
        (lambda x: (x * 1).clamp_min_(0.0), [0, 0, 1, 1, 1, 0]),
        (lambda x: x.clamp_max(1.0), [1, 1, 1, 0, 0, 0]),
        (lambda x: x.clamp_max(nan), [0] * 6),
        (lambda x: x.clamp(1.0, 0.0), [0] * 6),
    ],
)
def test_clamp_has_gradient_zero_at_a_number(function: Callable[[Tensor], Tensor], expected: Values) -> None:
    same(gradients(function, leaf(-1, 0, 0.5, 1, 2, nan)), [expected])


def test_second_gradient_of_clamp_is_zero_at_a_number() -> None:
    same(second(lambda x: x.clamp(0.0, 1.0) ** 2, leaf(-1, 0, 0.5, 1, 2)), [0, 0, 2, 0, 0])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0, 0, 0), [1, 0, 0]),
        ((0, 0, 1), [0.5, 0.5, 0]),
        ((1, 0, 1), [0.5, 0, 0.5]),
        ((0, 1, 1), [0, 1, 0]),
        ((2, 1, 1), [0, 0, 1]),
        ((1, 2, 0), [0, 0, 1]),
        ((1, 1, 0), [0, 0, 1]),
        ((1, 2, 1), [0, 0, 1]),
        ((0, 0, nan), [1, 0, 0]),
        ((0, 1, nan), [0, 0, 0]),
        ((2, nan, 1), [0, 0, 0]),
        ((1, nan, 1), [1, 0, 0]),
        ((nan, 0, 1), [1, 0, 0]),
        ((nan, 1, 0), [1, 0, 1]),
    ],
)
def test_clamp_shares_the_gradient_with_a_tensor_that_equals_the_element(
    values: Values, expected: Values
) -> None:
    found = gradients(Tensor.clamp, *(leaf(value) for value in values))
    same(found, [[each] for each in expected])


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        (
            "clamp_min",
            {(0, 0): (0.5, 0.5), (0, 1): (0, 1), (1, 0): (1, 0), (nan, 0): (1, 1), (0, nan): (1, 1)},
        ),
        (
            "clamp_max",
            {(0, 0): (0.5, 0.5), (0, 1): (1, 0), (1, 0): (0, 1), (nan, 0): (1, 1), (0, nan): (1, 1)},
        ),
        (
            "fmax",
            {(0, 0): (0.5, 0.5), (0, 1): (0, 1), (nan, 0): (0, 1), (0, nan): (1, 0), (nan, nan): (1, 0)},
        ),
        (
            "fmin",
            {(0, 0): (0.5, 0.5), (0, 1): (1, 0), (nan, 0): (0, 1), (0, nan): (1, 0), (nan, nan): (1, 0)},
        ),
    ],
)
def test_equal_tensors_share_the_gradient(name: str, pairs: dict[Values, Values]) -> None:
    for values, expected in pairs.items():
        found = gradients(getattr(Tensor, name), *(leaf(value) for value in values))
        same(found, [[each] for each in expected])


def test_mean_of_nothing_has_a_finite_second_gradient() -> None:
    weight = interlock.tensor(2.0, requires_grad=True)
    x = interlock.zeros(0, requires_grad=True)
    (first,) = interlock.autograd.grad(x.mean(), x, weight, create_graph=True)
    (found,) = interlock.autograd.grad(first.sum(), weight)
    assert found.item() == 0.0


def test_fill_has_the_history_of_its_value() -> None:
    target, value = interlock.zeros(3, dtype=interlock.float64), leaf(2)
    target.fill_(value[0])
    assert target.tolist() == [2.0] * 3
    (target * interlock.tensor([1.0, 2.0, 3.0], dtype=interlock.float64)).sum().backward()
    assert value.grad is not None
    assert value.grad.tolist() == [6.0]


def test_fill_of_a_view_has_the_history_of_its_value() -> None:
    x, value = leaf(1, 2, 3), leaf(5)
    y = x * 1
    y[:2].fill_(value[0])
    assert gradients(lambda x, value: y * y, x, value) == [[0.0, 0.0, 6.0], [20.0]]


def test_fill_refuses_a_value_with_dimensions_and_changes_nothing() -> None:
    x = interlock.zeros(2)
    with pytest.raises(ShapeError, match="fill_"):
        x.fill_(interlock.ones(1))
    assert (x.tolist(), x._version) == ([0.0, 0.0], 0)


@pytest.mark.parametrize(
    "change",
    [Tensor.zero_, lambda y: y.fill_(3), lambda y: y.copy_(interlock.ones(2, dtype=interlock.float64))],
    ids=["zero_", "fill_", "copy_"],
)
def test_values_that_were_overwritten_have_gradient_zero(change: Callable[[Tensor], Tensor]) -> None:
    assert gradients(lambda x: change(x * 1), leaf(1, 2)) == [[0.0, 0.0]]


def put(index: object) -> Callable[[Tensor, Tensor], Tensor]:
    def function(x: Tensor, value: Tensor) -> Tensor:
        y = x * 1
        y[index] = value  # type: ignore[index]
        return y

    return function


@pytest.mark.parametrize("index", [[0, -1], [True, False, True]], ids=["positions", "mask"])
def test_gradients_of_a_write_by_index_can_be_differentiated(index: object) -> None:
    x, value = leaf(1, 2, 3), leaf(5, 6)
    weight = leaf(1, 10, 100)
    first = interlock.autograd.grad(put(index)(x, value), [x, value], weight, create_graph=True)
    assert [each.tolist() for each in first] == [[0.0, 10.0, 0.0], [1.0, 100.0]]
    assert gradients(lambda _: first[0], weight) == [[0.0, 1.0, 0.0]]
    (found,) = interlock.autograd.grad(first[1].sum(), weight)
    assert found.tolist() == [1.0, 0.0, 1.0]


def test_gradients_of_repeated_positions_can_be_differentiated_twice() -> None:
    x = leaf(2, 3)
    positions = interlock.tensor([0, 0, 1])
    assert second(lambda x: x[positions] ** 3, x) == [24.0, 18.0]


def test_second_gradient_of_copysign_is_zero() -> None:
    x = interlock.tensor([1.0, -2.0], requires_grad=True)
    (first,) = interlock.autograd.grad(x.copysign(-1.0).sum(), x, create_graph=True)
    (second,) = interlock.autograd.grad(first.sum(), x)
    assert (first.tolist(), second.tolist()) == ([-1.0, 1.0], [0.0, 0.0])


@pytest.mark.parametrize(
    ("name", "node"),
    [
        *((f"{name}_", name.title()) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
        *(("not_equal_", "Ne"), ("less_", "Lt"), ("less_equal_", "Le")),
        *(("greater_", "Gt"), ("greater_equal_", "Ge")),
    ],
)
def test_comparison_in_place_records_zeros_for_both_tensors(name: str, node: str) -> None:
    x, y = leaf(1.0, 2.0), leaf(1.5)
    result = getattr(interlock.ones(2, dtype=interlock.float64), name)(y)
    assert result.grad_fn is not None
    assert result.grad_fn.name() == f"{node}Backward1"
    gradients = interlock.autograd.grad(getattr(x * 1, name)(y).sum() + result.sum(), (x, y))
    assert [each.tolist() for each in gradients] == [[0.0, 0.0], [0.0]]
    number = getattr(x * 1, name)(1.5)
    assert number.grad_fn.name() == f"{node}Backward0"


NLL_TARGET = interlock.tensor([1, 0])


@pytest.mark.parametrize(
    ("function", "position"),
    [
        (lambda x, y: x.remainder(y), 1),
        (lambda x, y: x.fmod(y), 1),
        (lambda x, y: x.copysign(y), 0),
        (lambda x, y: interlock.nn.functional.nll_loss(x, NLL_TARGET.to(x.device)), 0),
        (lambda x, y: interlock.nn.functional.nll_loss(x, NLL_TARGET.to(x.device), weight=y[0].detach()), 0),
    ],
    ids=["remainder", "fmod", "copysign", "nll_loss", "weighted nll_loss"],
)
def test_second_gradients_of_piecewise_linear_functions_are_0(
    function: Callable[[Tensor, Tensor], Tensor], position: int
) -> None:
    x = interlock.tensor([[7.5, -3.0], [1.0, 2.5]], requires_grad=True)
    y = interlock.tensor([[2.0, 0.7], [-0.4, -2.0]], requires_grad=True)
    of = (x, y)[position]
    (first,) = interlock.autograd.grad(function(x, y).sum(), of, create_graph=True)
    first.sum().backward()
    assert of.grad is not None
    assert of.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.abs(),
        lambda x: x.norm(),
        lambda x: x.norm(1),
        lambda x: x.norm(inf),
        lambda x: x.prod(),
        lambda x: x.cumprod(0),
        lambda x: interlock.nn.functional.l1_loss(x, x.detach() + 1.0),
    ],
    ids=["abs", "norm", "norm of p 1", "norm of p inf", "prod", "cumprod", "l1_loss"],
)
def test_second_gradients_at_0_of_one_element_are_0(function: Callable[[Tensor], Tensor]) -> None:
    assert second(function, leaf(0.0)) == [0.0]


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_second_gradient_of_elu_at_0_is_0(alpha: float) -> None:
    function = interlock.nn.functional.elu
    same(gradients(lambda x: function(x, alpha), leaf(0, -0.0, nan)), [[alpha, alpha, 1.0]])
    same(second(lambda x: function(x, alpha), leaf(0, -0.0, nan, inf, -inf)), [0.0] * 5)


@pytest.mark.parametrize("dtype", [interlock.float32, interlock.float64])
@pytest.mark.parametrize("weight", [1.0, 0.0])
def test_target_of_binary_cross_entropy_has_gradients_of_the_limited_loss(
    dtype: interlock.dtype, weight: float
) -> None:
    x = interlock.tensor([0.0, 1.0, 0.5], dtype=dtype, requires_grad=True)
    target = interlock.full((3,), 0.25, dtype=dtype, requires_grad=True)
    loss = interlock.nn.functional.binary_cross_entropy(
        x, target, weight=interlock.tensor(weight, dtype=dtype), reduction="sum"
    )
    (first,) = interlock.autograd.grad(loss, target, create_graph=True)
    same(first.tolist(), [100.0 * weight, -100.0 * weight, 0.0])
    (mixed,) = interlock.autograd.grad(first.sum(), x)
    same(mixed.tolist(), [-weight, -weight, -4.0 * weight])


def test_gradient_of_a_change_of_an_empty_view_with_steps_of_0() -> None:
    x = interlock.from_numpy(np.zeros((2, 0, 2), np.float32)).requires_grad_()
    changes: list[Callable[[Tensor], object]] = [
        lambda y: y.__setitem__((True,), 1.0),
        lambda y: y[None].__setitem__(0, 1.0),
        lambda y: y[None][0].add_(1.0),
        lambda y: y[None].fill_(1.0),
    ]
    for change in changes:
        y = x.movedim(0, -1).clone()
        change(y)
        (gradient,) = interlock.autograd.grad(y, x, interlock.ones_like(y))
        assert gradient.shape == (2, 0, 2)


def test_gradient_of_a_view_created_in_no_grad_mode_is_recorded() -> None:
    x = interlock.ones(2, 3, requires_grad=True)
    leaf = interlock.ones(2, 3, requires_grad=True)
    with interlock.no_grad():
        view = leaf[:]
    assert (view.requires_grad, view.grad_fn) == (True, None)
    (gradient,) = interlock.autograd.grad((x * view).sum(), x, create_graph=True)
    assert gradient.requires_grad
    with pytest.raises(RuntimeError, match="do not depend"):
        interlock.autograd.grad((view * view).sum(), view)


def weighted(y: Tensor) -> Tensor:
    return y * interlock.arange(1, y.numel() + 1, dtype=y.dtype).to(y.device).reshape(y.shape)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x.expand(2, 4).as_strided((2,), (1,)), [1, 2, 0, 0]),
        (lambda x: x.reshape(4, 1).expand(4, 3).as_strided((3,), (1,)), [1, 2, 3, 0]),
        (lambda x: x.as_strided((3, 2), (1, 1)).as_strided((2,), (1,)), [1, 2, 0, 0]),
        (lambda x: x.as_strided((3, 2), (1, 1)).as_strided((2, 2), (1, 1)), [1, 5, 4, 0]),
        (lambda x: x[1:].as_strided((2, 2), (1, 1)).as_strided((2, 2), (1, 1), 1), [0, 1, 5, 4]),
        (lambda x: x.as_strided((2, 2), (1, 1)).as_strided((4,), (1,)), [1, 2, 3, 0]),
        (lambda x: x[:1].expand(5).as_strided((3,), (0,)), [6, 0, 0, 0]),
    ],
)
def test_as_strided_of_shared_memory_has_the_gradient_of_the_memory(
    function: Callable[[Tensor], Tensor], expected: Values
) -> None:
    x = leaf(1, 2, 3, 4)
    assert gradients(lambda x: weighted(function(x)), x) == [expected]
    if function(x).shape != (4,):
        assert interlock.autograd.gradgradcheck(lambda x: weighted(function(x) ** 3), leaf(1, 2, 3, 4))


def test_elements_that_share_memory_have_equal_shares_of_the_gradient() -> None:
    x = leaf(1, 2, 3, 4)
    for view, expected in (
        (x.expand(2, 4), [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]]),
        (x.as_strided((3, 2), (1, 1)), [[1, 0.5], [0.5, 0], [0, 0]]),
    ):
        assert gradients(lambda view: view.as_strided((2,), (1,)), view) == [expected]
    # More elements than float16 can count.
    half = interlock.ones(1, dtype=interlock.float16, requires_grad=True)
    assert gradients(lambda x: x.expand(70_000).as_strided((1,), (1,)) * 2, half)[0] == pytest.approx(
        [2], 0.05
    )


def test_view_of_an_expanded_view_has_the_history_of_its_changed_base() -> None:
    x = leaf(1, 2, 3, 4)
    base = x * 1
    view = base.expand(2, 4)
    base.mul_(3)
    assert gradients(lambda x: view.as_strided((2,), (1,)), x) == [[3, 3, 0, 0]]


def test_view_of_a_detached_and_changed_base_has_no_gradient() -> None:
    x = leaf(1, 2)
    base = x * 1
    view = base.view(2)
    base.detach_().zero_()
    assert view.grad_fn.name() == "AsStridedBackward0"
    view.sum().backward()
    assert x.grad is None


SCALED: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], list[Values]]] = {
    "add": (lambda x, y: x.add(y, alpha=2.5), [[1, 1], [2.5, 2.5]]),
    "add_": (lambda x, y: x.clone().add_(y, alpha=2), [[1, 1], [2, 2]]),
    "sub": (lambda x, y: x.sub(y, alpha=2), [[1, 1], [-2, -2]]),
    "sub_": (lambda x, y: x.clone().sub_(y, alpha=2), [[1, 1], [-2, -2]]),
    "lerp": (lambda x, y: x.lerp(y, 0.25), [[0.75, 0.75], [0.25, 0.25]]),
    "lerp_": (lambda x, y: x.clone().lerp_(y, 0.25), [[0.75, 0.75], [0.25, 0.25]]),
    "addmv": (
        lambda x, y: (
            interlock.addmv(x, interlock.ones(2, 2, dtype=x.dtype), interlock.ones(2, dtype=x.dtype), beta=3)
            + y
        ),
        [[3, 3], [1, 1]],
    ),
}


@pytest.mark.parametrize("name", SCALED)
def test_graph_of_an_operation_with_a_number_is_not_freed(name: str) -> None:
    function, expected = SCALED[name]
    x, y = leaf(1, 2), leaf(3, 4)
    total = function(x, y).sum()
    total.backward()
    total.backward()
    assert [x.grad.tolist(), y.grad.tolist()] == [[2 * each for each in values] for values in expected]
    assert interlock.autograd.gradgradcheck(lambda x, y: function(x, y) ** 3, (leaf(1, 2), leaf(3, 4)))

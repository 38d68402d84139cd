"""`mm`, `bmm`, `addmm` and `linear`: values, shapes, gradients and errors."""

from __future__ import annotations

from collections.abc import Callable

import interlock
import numpy as np
import pytest
from interlock import Tensor, errors
from interlock.nn import functional

from tests.unit.tensor import gradcheck


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def test_mm_and_bmm_multiply_matrices(everywhere: str) -> None:
    a, b = draw(2, 3, 4), draw(2, 4, 5)
    x, y = interlock.tensor(a, device=everywhere), interlock.tensor(b, device=everywhere)
    np.testing.assert_allclose(interlock.bmm(x, y).cpu().numpy(), a @ b, rtol=1e-12)
    np.testing.assert_allclose(x.bmm(y).cpu().numpy(), a @ b, rtol=1e-12)
    np.testing.assert_allclose(interlock.mm(x[0], y[1]).cpu().numpy(), a[0] @ b[1], rtol=1e-12)
    np.testing.assert_allclose(x[0].mm(mat2=y[1]).cpu().numpy(), a[0] @ b[1], rtol=1e-12)


@pytest.mark.parametrize("shape", [(), (5,), (1, 5), (3, 1), (3, 5)])
def test_addmm_scales_and_broadcasts_its_input(everywhere: str, shape: tuple[int, ...]) -> None:
    base, a, b = draw(*shape, seed=1), draw(3, 4), draw(4, 5)
    tensors = [interlock.tensor(array, device=everywhere) for array in (base, a, b)]
    plain, scaled = interlock.addmm(*tensors), tensors[0].addmm(tensors[1], tensors[2], beta=0.5, alpha=-2)
    np.testing.assert_allclose(plain.cpu().numpy(), base + a @ b, rtol=1e-12)
    np.testing.assert_allclose(scaled.cpu().numpy(), 0.5 * base - 2 * (a @ b), rtol=1e-12)


def test_addmm_with_beta_0_ignores_its_input(everywhere: str) -> None:
    nan = interlock.full((2, 2), float("nan"), device=everywhere)
    eye = interlock.tensor([[1.0, 0.0], [0.0, 1.0]], device=everywhere)
    assert interlock.addmm(nan, eye, eye, beta=0).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_addmm_with_alpha_0_ignores_its_product(everywhere: str) -> None:
    nan = interlock.full((2, 2), float("nan"), device=everywhere, requires_grad=True)
    ones = interlock.ones(2, 2, device=everywhere)
    out = interlock.addmm(ones, nan, ones, alpha=0)
    assert out.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    out.sum().backward()
    assert nan.grad is not None
    assert nan.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert interlock.addmm(nan, nan, ones, beta=0, alpha=0).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_addmm_with_factors_of_0_has_the_history_of_its_arguments(everywhere: str) -> None:
    x = interlock.ones(2, device=everywhere, requires_grad=True)
    eye = interlock.tensor([[1.0, 0.0], [0.0, 1.0]], device=everywhere)
    out = interlock.addmm(x, eye, eye, beta=0)
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.0]


def test_addmm_with_alpha_0_refuses_shapes_that_do_not_fit(everywhere: str) -> None:
    ones = interlock.ones(2, 2, device=everywhere)
    with pytest.raises(errors.ShapeError, match="inner dimensions differ"):
        interlock.addmm(ones, ones, interlock.ones(3, 2, device=everywhere), alpha=0)


def test_addmm_of_integers_accepts_integer_factors_only(everywhere: str) -> None:
    x = interlock.tensor([[1, 2], [3, 4]], device=everywhere)
    assert interlock.addmm(x, x, x, beta=2, alpha=3).tolist() == [[23, 34], [51, 74]]
    for factors in ({"beta": 0.5}, {"alpha": 0.5}):
        name = next(iter(factors))
        with pytest.raises(errors.DTypeError, match=f"^addmm: {name} must be an int"):
            interlock.addmm(x, x, x, **factors)


@pytest.mark.parametrize(
    ("input_shape", "weight_shape", "bias_shape"),
    [((4,), (3, 4), (3,)), ((2, 4), (3, 4), None), ((5, 2, 4), (3, 4), (3,)), ((2, 4), (4,), ())],
)
def test_linear_multiplies_by_the_transposed_weight(
    everywhere: str,
    input_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    bias_shape: tuple[int, ...] | None,
) -> None:
    x, weight = draw(*input_shape), draw(*weight_shape, seed=1)
    bias = None if bias_shape is None else draw(*bias_shape, seed=2)
    tensors = [None if a is None else interlock.tensor(a, device=everywhere) for a in (x, weight, bias)]
    actual = functional.linear(*tensors)  # type: ignore[arg-type]
    expected = x @ weight.T + (0 if bias is None else bias)
    assert tuple(actual.shape) == expected.shape
    np.testing.assert_allclose(actual.cpu().numpy(), expected, rtol=1e-12)


GRADIENTS: dict[str, tuple[Callable[..., Tensor], list[tuple[int, ...]]]] = {
    "mm": (interlock.mm, [(2, 3), (3, 4)]),
    "bmm": (interlock.bmm, [(2, 2, 3), (2, 3, 2)]),
    "addmm": (lambda *x: interlock.addmm(*x, beta=0.5, alpha=2), [(4,), (2, 3), (3, 4)]),
    "linear": (functional.linear, [(2, 3), (4, 3), (4,)]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_products(name: str) -> None:
    function, shapes = GRADIENTS[name]
    gradcheck.check(function, *(draw(*shape, seed=i) for i, shape in enumerate(shapes)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: interlock.mm(x, interlock.ones(3)), "mm: an operand is not a matrix"),
        (lambda x: interlock.bmm(x, x), "bmm: both operands must have 3 dimensions, with equal first sizes"),
        (
            lambda x: interlock.bmm(interlock.ones(2, 1, 1), interlock.ones(3, 1, 1)),
            "bmm: both operands must have 3 dimensions, with equal first sizes for shapes (2, 1, 1) and (",
        ),
        (lambda x: interlock.addmm(x, x, interlock.ones(3)), "addmm: mat1 and mat2 must be matrices"),
        (
            lambda x: interlock.addmm(interlock.ones(4, 2, 2), interlock.ones(2, 2), interlock.ones(2, 2)),
            "addmm: input must be broadcastable to the product for shapes (4, 2, 2) and (2, 2)",
        ),
        (
            lambda x: functional.linear(x, interlock.ones(1, 1, 1)),
            "linear: weight must be of shape (outputs, 3) or (3,) for an input of shape (2, 3), got shape (1, 1, 1)",
        ),
        (
            lambda x: functional.linear(x, interlock.ones(2, 4)),
            "linear: weight must be of shape (outputs, 3) or (3,) for an input of shape (2, 3), got shape (2, 4)",
        ),
        (
            lambda x: functional.linear(x, interlock.ones(2, 3), interlock.ones(3)),
            "linear: bias must be broadcastable to the result of shape (2, 2), got shape (3,)",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_named(call: Callable[[Tensor], Tensor], message: str) -> None:
    with pytest.raises(errors.ShapeError) as raised:
        call(interlock.ones(2, 3))
    assert str(raised.value).startswith(message)


def test_dtypes_that_differ_are_named() -> None:
    x, y = interlock.ones(2, 2), interlock.ones(2, 2, dtype=interlock.float64)
    products: list[Callable[[], Tensor]] = [
        lambda: interlock.mm(x, y),
        lambda: interlock.addmm(y, x, x),
        lambda: functional.linear(x, y),
    ]
    for product in products:
        with pytest.raises(errors.DTypeError, match=r"float(32|64) and float(32|64)"):
            product()

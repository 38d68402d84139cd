"""Arithmetic, comparisons and matrix products, with NumPy as the oracle."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor
from interlock.errors import DTypeError, ShapeError

from tests.unit.tensor import gradcheck

SHAPES = [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 2)), ((0, 3), (1, 3)), ((4, 1, 3), (2, 1))]
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]

pytestmark = pytest.mark.usefixtures("everywhere")


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(np.round(np.random.default_rng(seed).uniform(0.5, 2.0, shape), 1))


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("shapes", SHAPES)
def test_operators_broadcast_as_numpy_does(
    op: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]
) -> None:
    a, b = numbers(shapes[0], 1), numbers(shapes[1], 2)
    expected = op(a, b)
    for left, right in [(a, b), (np.asfortranarray(a), np.repeat(b, 2, axis=-1)[..., ::2] if b.ndim else b)]:
        result = op(interlock.from_numpy(left), interlock.from_numpy(right))
        assert result.shape == expected.shape
        np.testing.assert_array_equal(result.cpu().numpy(), expected)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("number", [2, 0.5, True, np.float64(3.0), np.int64(2)])
def test_operators_accept_numbers_on_either_side(op: Callable[..., Any], number: Any) -> None:
    if op is operator.sub and number is True:
        with pytest.raises(RuntimeError):
            op(interlock.ones(2), number)
        return
    array = numbers((2, 3), 3)
    np.testing.assert_array_equal(op(interlock.tensor(array), number).cpu().numpy(), op(array, number))
    if not isinstance(number, np.generic):  # NumPy tries its own methods first
        np.testing.assert_array_equal(op(number, interlock.tensor(array)).cpu().numpy(), op(number, array))


def test_numbers_do_not_promote_dtypes_and_tensors_do() -> None:
    ints, single = interlock.tensor([1, 2]), interlock.ones(2)
    assert (ints + 1).dtype == interlock.int64
    assert (ints + 0.5).dtype == interlock.float32
    assert (single + 2**40).dtype == interlock.float32
    assert (single + interlock.ones(2, dtype=interlock.float64)).dtype == interlock.float64
    assert (single + interlock.tensor(1.0, dtype=interlock.float64)).dtype == interlock.float32
    assert (ints / 2).tolist() == [0.5, 1.0]
    assert (ints + True).tolist() == [2, 3]


def test_powers_match_numpy() -> None:
    array = numbers((3,), 4)
    np.testing.assert_allclose((interlock.tensor(array) ** 3).cpu().numpy(), array**3)
    np.testing.assert_allclose((2 ** interlock.tensor(array)).cpu().numpy(), 2**array)
    assert (interlock.tensor([2, 3]) ** 2).tolist() == [4, 9]
    with pytest.raises(RuntimeError, match="negative"):
        interlock.tensor([2]) ** -1


def test_incompatible_shapes_are_both_named() -> None:
    with pytest.raises(ShapeError, match=r"add: shapes \(2, 3\) and \(4,\)"):
        interlock.ones(2, 3) + interlock.ones(4)
    for left, right in (((2, 3), (2, 3)), ((), (2,)), ((2, 2, 3), (3, 3, 2))):
        with pytest.raises(ShapeError, match=re.escape(f"shapes {left} and {right}")) as raised:
            interlock.ones(left) @ interlock.ones(right)
        assert str(raised.value).startswith("matmul: ")


def test_unsupported_dtypes_are_named() -> None:
    with pytest.raises(DTypeError, match=r"sub.*bool"):
        interlock.tensor([True]) - 1
    with pytest.raises(DTypeError, match=r"mean.*int64"):
        interlock.tensor([1]).mean()
    with pytest.raises(TypeError, match=r"neg.*bool"):
        -interlock.tensor([True])
    with pytest.raises(RuntimeError, match=r"matmul.*float64"):
        interlock.ones(2) @ interlock.ones(2, dtype=interlock.float64)


@pytest.mark.parametrize("other", [None, "a", [1], object(), 1j])
def test_unsupported_operands_are_delegated_to_python(other: Any) -> None:
    with pytest.raises(TypeError):
        interlock.ones(2) + other
    with pytest.raises(TypeError):
        other * interlock.ones(2)
    assert (interlock.ones(2) == other) is False


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((2, 1, 2, 3), (4, 3, 2)),
        ((3,), (4, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
    ],
)
def test_matrix_products_match_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = numbers(a, 5), numbers(b, 6)
    np.testing.assert_allclose((interlock.tensor(x) @ interlock.tensor(y)).cpu().numpy(), x @ y)
    turned = interlock.from_numpy(np.asfortranarray(x)) @ interlock.from_numpy(np.asfortranarray(y))
    np.testing.assert_allclose(turned.cpu().numpy(), x @ y)
    ints = (x * 10).astype(np.int64), (y * 10).astype(np.int64)
    np.testing.assert_array_equal(
        interlock.matmul(*map(interlock.tensor, ints)).cpu().numpy(), ints[0] @ ints[1]
    )


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tanh", "abs"])
def test_functions_of_elements_match_numpy(name: str) -> None:
    array = numbers((2, 3), 7)
    tensor = interlock.tensor(array).t()
    np.testing.assert_allclose(getattr(tensor, name)().cpu().numpy(), getattr(np, name)(array.T))
    gradcheck.check(lambda x: getattr(x, name)(), array)


def test_gradients_match_finite_differences() -> None:
    def everything(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return (a * b - c) / (a + 2) + (a.t() @ a)[0, 0] + 3 - a**3 + 2**b + 1 / c

    gradcheck.check(everything, numbers((2, 3), 8), numbers((3,), 9), numbers((2, 1), 10))


MIXED = {"float": [1.5], "int": [1], "bool": [True, False]}


@pytest.mark.parametrize(
    ("left", "right", "alpha", "expected"),
    [
        ("int", "float", 0.5, [1.75]),
        ("float", "int", 0.5, [2.0]),
        ("float", "bool", 0.5, [2.0, 1.5]),
        ("int", "bool", 2, [3, 1]),
        ("bool", "bool", 2, [True, False]),
        ("bool", "bool", True, [True, False]),
    ],
)
def test_add_converts_alpha_to_the_common_dtype(left: str, right: str, alpha: Any, expected: Any) -> None:
    result = interlock.tensor(MIXED[left]).add(interlock.tensor(MIXED[right]), alpha=alpha)
    assert result.tolist() == expected
    assert type(result.tolist()[0]) is type(expected[0])


@pytest.mark.parametrize(
    ("left", "right", "alpha"),
    [("int", "int", 0.5), ("bool", "bool", 0.5), ("int", "bool", True), ("float", "int", True)],
)
def test_add_refuses_an_alpha_that_the_common_dtype_cannot_hold(left: str, right: str, alpha: Any) -> None:
    x, y = interlock.tensor(MIXED[left]), interlock.tensor(MIXED[right])
    with pytest.raises(DTypeError, match="add: alpha must be"):
        x.add(y, alpha=alpha)
    with pytest.raises(DTypeError, match="add_: alpha must be"):
        x.add_(y, alpha=alpha)
    assert x.tolist() == MIXED[left]


def test_sub_with_alpha_refuses_bool_operands() -> None:
    with pytest.raises(DTypeError, match="sub: both operands must be numeric, got bool"):
        interlock.tensor([1]).sub(interlock.tensor([True]), alpha=2)


@pytest.mark.parametrize("dtype", [interlock.float32, interlock.float64])
def test_power_of_a_half_is_a_root(dtype: interlock.dtype) -> None:
    infinity = float("inf")
    x = interlock.tensor([-infinity, -0.0, 4.0, infinity, -1.0], dtype=dtype)
    assert str((x**0.5).tolist()) == "[nan, -0.0, 2.0, inf, nan]"
    assert str((x**-0.5).tolist()) == "[nan, -inf, 0.5, 0.0, nan]"


def test_pow_of_integers_rounds_negative_powers_towards_zero() -> None:
    base = interlock.tensor([0, 1, -1, 2, -3])
    assert base.pow(interlock.tensor(-1)).tolist() == [0, 1, -1, 0, 0]
    assert (base ** interlock.tensor([-2] * 5)).tolist() == [0, 1, 1, 0, 0]
    assert (2 ** interlock.tensor([-1])).tolist() == [0]


def test_pow_of_integers_refuses_a_negative_number_as_exponent() -> None:
    with pytest.raises(RuntimeError, match="pow: exponent must not be negative"):
        interlock.tensor([1]).pow(-1)

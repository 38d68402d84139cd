"""Products and their gradients where a part of a product overflows the dtype, beside exact fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import copysign, inf, isnan, nan

import interlock
import numpy as np
import pytest
from interlock import Tensor
from interlock.autograd import grad, gradgradcheck

pytestmark = pytest.mark.usefixtures("everywhere")

f16, bf16, f32, f64 = interlock.float16, interlock.bfloat16, interlock.float32, interlock.float64

ROWS: list[tuple[interlock.dtype, Sequence[float]]] = [
    (f32, [1e30, 1e30, 0, 0]),
    (f32, [0, 0, 1e30, 1e30]),
    (f32, [0, 1e30, 1e30, 0]),
    (f32, [1e30, 1e30, 0, 2]),
    (f32, [1e30, -1e30, 1e-30, 1e-30]),
    (f32, [1e-30, 1e-30, 1e30, 1e30]),
    (f32, [4.0] * 100 + [0.25] * 100),
    (f16, [6e4, 6e4, 0, 0]),
    (f16, [6e4, 6e4, 1e-4, 1e-4]),
    (bf16, [1e30, 1e30, 0, 0]),
    (bf16, [1e30, 1e30, 1e-30, 1e-30]),
    (f64, [2.0, 0.0, 3.0, 4.0]),
    (f64, [2.0, 5.0, 3.0]),
    (f32, [7.0]),
]


def product(factors: Iterable[Fraction]) -> Fraction:
    total = Fraction(1)
    for factor in factors:
        total *= factor
    return total


def others(factors: Sequence[Fraction], *left_out: int) -> Fraction:
    return product(factor for at, factor in enumerate(factors) if at not in left_out)


def pair_sums(factors: Sequence[Fraction], left_out: int) -> Iterable[Fraction]:
    return (others(factors, left_out, at) for at in range(len(factors)) if at != left_out)


def rounded(exact: Sequence[Fraction], dtype: interlock.dtype) -> list[float]:
    def to_float(number: Fraction) -> float:
        try:
            return float(number)
        except OverflowError:
            return inf if number > 0 else -inf

    numbers = interlock.tensor([to_float(each) for each in exact], dtype=f64, device="cpu")
    return list(numbers.to(dtype).tolist())


def check(found: Tensor, exact: Sequence[Fraction]) -> None:
    tolerance = {f16: 2e-3, bf16: 2e-2, f32: 1e-6, f64: 1e-13}[found.dtype]
    np.testing.assert_allclose(found.tolist(), rounded(exact, found.dtype), rtol=tolerance, atol=0)


def leaf(dtype: interlock.dtype, values: Sequence[float]) -> tuple[Tensor, list[Fraction]]:
    x = interlock.tensor(values, dtype=f64).to(dtype).requires_grad_()
    return x, [Fraction(value) for value in x.tolist()]


@pytest.mark.parametrize(("dtype", "values"), ROWS, ids=range(len(ROWS)))
def test_prod_and_its_gradients_are_those_of_exact_products(
    dtype: interlock.dtype, values: Sequence[float]
) -> None:
    x, exact = leaf(dtype, values)
    out = x.prod()
    check(out.reshape(1), [product(exact)])
    (first,) = grad(out, x, create_graph=True)
    check(first, [others(exact, at) for at in range(len(exact))])
    if len(exact) > 100 or not interlock.isfinite(first.detach()).all():
        return
    weights = interlock.ones_like(first)
    (second,) = grad(first, x, weights)
    check(second, [sum(pair_sums(exact, at), start=Fraction(0)) for at in range(len(exact))])


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_prod_along_a_dim_has_the_gradients_of_exact_products(dim: int, keepdim: bool) -> None:
    x, _ = leaf(f32, [1e30, 1e30, 0, 0, 2, 3, 1e-30, 0, 5])
    rows = x.reshape(3, 3)
    (found,) = grad(rows.prod(dim, keepdim).sum(), x)
    array = np.array([Fraction(value) for value in x.tolist()]).reshape(3, 3)
    lines = array.T if dim == 0 else array
    exact = np.array([[others(list(line), at) for at in range(3)] for line in lines])
    check(found, list((exact.T if dim == 0 else exact).ravel()))


@pytest.mark.parametrize(
    "values",
    [[1e200, 1e200, 0.5, 1e-200], [1e-160] + [1.0] * 7 + [1.2345678912345e-160] + [1.0] * 7 + [1e300]],
)
def test_gradients_of_float64_are_products_of_the_factors_before_and_after(values: list[float]) -> None:
    x = interlock.tensor(values, dtype=f64, requires_grad=True)
    (found,) = grad(x.prod(), x)
    with np.errstate(over="ignore", invalid="ignore"):
        before, after = np.cumprod([1.0, *values[:-1]]), np.cumprod([1.0, *values[:0:-1]])[::-1]
        np.testing.assert_allclose(found.tolist(), before * after, rtol=1e-13)


def test_prod_of_zero_times_an_overflowing_gradient_is_zero() -> None:
    x, _ = leaf(f32, [1e30, 1e30, 1e30])
    assert grad(x.prod(), x, interlock.tensor(0.0))[0].tolist() == [0.0] * 3
    small = grad(x.prod(), x, interlock.tensor(1e-30))[0]
    np.testing.assert_allclose(small.tolist(), [1e30] * 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([nan, 2, 3], [6, nan, nan]),
        ([inf, 0, 2], [0, inf, nan]),
        ([inf, 2], [2, inf]),
        ([inf, -inf, 3], [-inf, inf, -inf]),
        ([0, nan], [nan, 0]),
    ],
)
def test_prod_gradient_of_nan_and_infinity(values: list[float], expected: list[float]) -> None:
    x = interlock.tensor(values, dtype=f64, requires_grad=True)
    np.testing.assert_array_equal(grad(x.prod(), x)[0].tolist(), expected)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([1e200, 1e200, 0.0, 0.0], interlock.float64), ([1e30] * 11 + [0.0, 2.0], interlock.float32)],
    ids=["float64", "float32"],
)
def test_prod_gradient_is_zero_beside_another_zero(values: list[float], dtype: interlock.dtype) -> None:
    x = interlock.tensor(values, dtype=dtype, requires_grad=True)
    # Only the gradient of a single zero is not 0, but infinite.
    expected = [inf if value == 0.0 and values.count(0.0) == 1 else 0.0 for value in values]
    for dim in (None, 0):
        assert grad(x.prod() if dim is None else x.prod(dim), x)[0].tolist() == expected
    (first,) = grad(x.prod(), x, create_graph=True)
    assert first.tolist() == expected
    missing = interlock.tensor([*values[:2], nan, *values[2:]], dtype=dtype, requires_grad=True)
    assert isnan(grad(missing.prod(), missing)[0][0].item())


def test_prod_gradient_has_the_signs_of_zeros() -> None:
    x = interlock.tensor([-0.0, 2, -3], requires_grad=True)
    found = grad(x.prod(), x)[0].tolist()
    assert [copysign(1, value) for value in found] == [-1, 1, -1]
    assert found == [-6, 0, 0]


@pytest.mark.parametrize("dtype", [f32, f64, bf16], ids=str)
@pytest.mark.parametrize("weights", [[1, 0, 0, 0, 0], [0, 0, 0, 1, 1], [1, 2, 3, 4, 5]], ids=str)
def test_cumprod_and_its_gradients_are_those_of_exact_products(
    dtype: interlock.dtype, weights: Sequence[float]
) -> None:
    for values in ([1e30, 1e30, 0, 0, 2], [1e30, 1e-30, 1e30, 1e-30, 3], [0, 1e30, 1e30, 2, 0]):
        x, exact = leaf(dtype, values)
        out = x.cumprod(0)
        check(out, [product(exact[: end + 1]) for end in range(5)])
        (found,) = grad(out, x, interlock.tensor(weights, dtype=dtype))
        ends = [[(end, int(weights[end])) for end in range(at, 5)] for at in range(5)]
        sums = [
            sum((weight * others(exact[: end + 1], at) for end, weight in ends[at]), start=Fraction(0))
            for at in range(5)
        ]
        check(found, sums)


def test_cumprod_of_large_factors_is_infinite_and_returns() -> None:
    assert interlock.tensor([1e30, 1e30, 1e-30, 1e-30]).cumprod(0)[1].item() == inf
    assert interlock.tensor([1e30, 1e30, 1e-30, 1e-30]).cumprod(0)[2].item() == pytest.approx(1e30, rel=1e-6)
    assert isnan(interlock.tensor([inf, 0.0]).cumprod(0)[1].item())


@pytest.mark.parametrize("values", [[0.5, 1.5, 2.0, 0.25, 0.75, 3.0], [2.0, 0.0, 3.0, 0.0, 0.0, 1.0]])
def test_derivatives_of_products_of_higher_orders(values: list[float]) -> None:
    x = interlock.tensor(values, dtype=f64).reshape(2, 3).requires_grad_()
    for dim in (0, 1):
        assert gradgradcheck(lambda x, dim=dim: x.cumprod(dim).exp(), (x,))
        assert gradgradcheck(lambda x, dim=dim: x.prod(dim).exp(), (x,))
        (first,) = grad(x.cumprod(dim).sum(), x, create_graph=True)
        assert first.requires_grad
        assert gradgradcheck(lambda x, dim=dim: grad(x.cumprod(dim).sum(), x, create_graph=True)[0], (x,))


@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_products_of_a_row_do_not_depend_on_other_rows(name: str, dtype: interlock.dtype) -> None:
    def computed(rows: Tensor) -> list[bytes]:
        leaf = rows.detach().clone().requires_grad_()
        result = getattr(leaf, name)(1)
        result.backward(interlock.full(result.shape, 0.7, dtype=dtype))
        assert leaf.grad is not None
        pairs = zip(result.detach().reshape(len(rows), -1), leaf.grad, strict=True)
        return [np.asarray(interlock.cat(pair).cpu()).tobytes() for pair in pairs]

    numbers = np.random.default_rng(6).uniform(-1.5, 1.5, (21, 130))
    # Rows whose product is infinite, and rows with zeros.
    numbers[3], numbers[12, 7], numbers[13, [2, 90]], numbers[14, 5] = 1e30, 0, 0, np.inf
    rows = interlock.tensor(numbers, dtype=dtype)
    assert computed(rows) == [computed(row.unsqueeze(0))[0] for row in rows]


@pytest.mark.parametrize("shape", [(300,), (21, 130)])
def test_gradients_of_long_products_are_products_of_the_others(shape: tuple[int, ...]) -> None:
    numbers = np.random.default_rng(7).uniform(0.5, 1.5, shape)
    x = interlock.tensor(numbers, requires_grad=True)
    x.prod(-1).sum().backward()
    expected = numbers.prod(-1, keepdims=True) / numbers
    assert x.grad is not None
    np.testing.assert_allclose(np.asarray(x.grad.cpu()), expected, rtol=1e-13)

"""Products, variances, norms, sums of exponentials and reductions of truth values."""

from __future__ import annotations

import math
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor
from interlock.errors import DTypeError, ShapeError

from . import gradcheck

pytestmark = pytest.mark.usefixtures("everywhere")

ARRAY = np.random.default_rng(3).standard_normal((2, 3, 4))
INTEGERS = [interlock.int64, interlock.int32, interlock.int16, interlock.int8, interlock.uint8]
INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), [1]])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("correction", [0, 1, 0.5])
def test_var_and_std_match_numpy(dim: Any, keepdim: bool, correction: float) -> None:
    x = interlock.tensor(ARRAY)
    axis = tuple(dim) if isinstance(dim, list) else dim
    variance = np.var(ARRAY, axis=axis, ddof=correction, keepdims=keepdim)
    found = x.var(dim, correction=correction, keepdim=keepdim)
    np.testing.assert_allclose(found.cpu().numpy(), variance)
    root = interlock.std(x, dim, correction=correction, keepdim=keepdim)
    np.testing.assert_allclose(root.cpu().numpy(), np.sqrt(variance))
    pair = interlock.var_mean(x, dim, correction=correction, keepdim=keepdim)
    np.testing.assert_allclose(pair[1].cpu().numpy(), ARRAY.mean(axis=axis, keepdims=keepdim))
    pair = interlock.std_mean(x, dim, correction=correction, keepdim=keepdim)
    np.testing.assert_allclose(pair[0].cpu().numpy(), np.sqrt(variance))
    np.testing.assert_allclose(pair[1].cpu().numpy(), ARRAY.mean(axis=axis, keepdims=keepdim))
    gradcheck.check(lambda x: x.var(dim, correction=correction, keepdim=keepdim), ARRAY)


@pytest.mark.parametrize("dtype", [interlock.float32, interlock.bfloat16])
def test_std_of_large_elements_does_not_overflow(dtype: interlock.dtype) -> None:
    x = interlock.tensor([1e30, -1e30], dtype=dtype)
    assert x.std(correction=0).item() == pytest.approx(1e30, rel=1e-2)


def test_variance_is_precise_where_the_mean_is_large() -> None:
    x = 1e8 + interlock.arange(6000, dtype=interlock.float64).remainder(7).reshape(3, 2000)
    array = x.cpu().numpy()
    for y, dim in ((x, 1), (x.t().contiguous(), 0)):
        assert y.var(dim, correction=0).tolist() == pytest.approx(np.var(array, 1), rel=1e-9)
    assert x.var(correction=0).item() == pytest.approx(np.var(array), rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_variance_of_elements_whose_squares_overflow() -> None:
    constant = interlock.full((3, 2), 2e154, dtype=interlock.float64, requires_grad=True)
    for dim in (None, 0, 1):
        for spread in (constant.var(dim), constant.std(dim)):
            assert not spread.any()
            (gradient,) = interlock.autograd.grad(spread.sum(), constant)
            assert not gradient.any()
    for values in ([1e160, 2e160], [1e300, 1e300, 1.0]):
        x = interlock.tensor(values, dtype=interlock.float64)
        assert (x.var().item(), x.std().item(), x[:, None].var(0).tolist()) == (INF, INF, [INF])


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_variance_with_an_infinite_element_is_nan(dim: int | None) -> None:
    x = interlock.tensor([[1.0, INF], [-INF, 2.0]])
    assert x.var(dim, correction=0).isnan().all()


@pytest.mark.filterwarnings("ignore:.*the correction must be less")
@pytest.mark.parametrize(
    "dtype", [interlock.float64, interlock.float32, interlock.float16, interlock.bfloat16], ids=str
)
@pytest.mark.parametrize("correction", [3, 3.5])
@pytest.mark.parametrize("dim", [None, 0])
@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_gradient_without_degrees_of_freedom_is_infinite(
    name: str, dim: Any, correction: float, dtype: interlock.dtype
) -> None:
    x = interlock.tensor([1.0, 2.0, 4.0], dtype=dtype, requires_grad=True)
    out = getattr(interlock, name)(x, dim, correction=correction)
    out = out[0] if isinstance(out, tuple) else out
    assert out.item() == INF
    (gradient,) = interlock.autograd.grad(out, x, create_graph=True)
    assert gradient.tolist() == [-INF, -INF, INF]
    (second,) = interlock.autograd.grad(gradient[0], x)
    assert not bool(interlock.isfinite(second).any().item())


@pytest.mark.filterwarnings("ignore:.*the correction must be less")
def test_gradient_without_degrees_of_freedom_is_nan_at_the_mean() -> None:
    rows = interlock.tensor([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]], requires_grad=True)
    for operation in (interlock.var, interlock.std):
        (gradient,) = interlock.autograd.grad(operation(rows, 1, correction=3).sum(), rows)
        np.testing.assert_array_equal(gradient.cpu().numpy(), [[-INF, NAN, INF], [NAN] * 3])
        one = interlock.ones(1, requires_grad=True)
        assert math.isnan(interlock.autograd.grad(operation(one), one)[0].item())


def test_unbiased_may_replace_the_dimensions() -> None:
    x = interlock.tensor([1.0, 2.0, 6.0])
    assert x.var(False).item() == x.var(unbiased=False).item() == x.var(0, False).item()
    assert x.var().item() == x.var(True).item() == 7.0


def test_variance_of_one_element_is_nan_with_a_warning() -> None:
    for operation in (interlock.var, interlock.std):
        with pytest.warns(UserWarning, match="the correction must be less than the number"):
            assert math.isnan(operation(interlock.ones(1)).item())
    with pytest.warns(UserWarning, match="correction"):
        assert interlock.tensor([1.0, 2.0]).var(correction=5).item() == INF


def test_std_of_equal_elements_has_gradient_0() -> None:
    x = interlock.ones(3, requires_grad=True)
    x.std().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_prod_matches_numpy_also_with_zeros(dim: int | None, keepdim: bool) -> None:
    for zeros in ([], [(0, 1, 2)], [(0, 1, 2), (0, 1, 3), (1, 0, 0)]):
        array = ARRAY.copy()
        for position in zeros:
            array[position] = 0
        found = interlock.tensor(array).prod(dim, keepdim)
        np.testing.assert_allclose(found.cpu().numpy(), array.prod(axis=dim, keepdims=keepdim))
        gradcheck.check(lambda x: x.prod(dim, keepdim), array)


def test_product_of_nothing_is_1() -> None:
    assert interlock.zeros(0).prod().item() == 1
    assert interlock.zeros(2, 0).prod(1).tolist() == [1.0, 1.0]


def test_softmax_of_large_elements_does_not_overflow() -> None:
    x = interlock.tensor([1000.0, 1000.0, -1000.0])
    assert x.softmax(0).tolist() == [0.5, 0.5, 0.0]
    assert x.log_softmax(0).tolist() == pytest.approx([-math.log(2), -math.log(2), -2000 - math.log(2)])


@pytest.mark.parametrize("dtype", [*INTEGERS, interlock.bool])
def test_products_and_cumulative_sums_of_integers_are_int64(dtype: interlock.dtype) -> None:
    x = interlock.tensor([1, 100, 100], dtype=dtype)
    numbers = x.long().tolist()
    for result, expected in (
        (x.prod(), math.prod(numbers)),
        (x.cumsum(0), np.cumsum(numbers).tolist()),
        (x.cumprod(0), np.cumprod(numbers).tolist()),
    ):
        assert (result.dtype, result.tolist()) == (interlock.int64, expected)
    assert x.prod(dtype=dtype).dtype is dtype
    if dtype is interlock.bool:
        with pytest.raises(DTypeError, match="cumsum: dtype must be numeric, got bool"):
            x.cumsum(0, dtype=dtype)
    else:
        assert x.cumsum(0, dtype=dtype).dtype is dtype


@pytest.mark.parametrize("dim", [0, 1, (0, 1), [0, -1]])
@pytest.mark.parametrize("keepdim", [False, True])
def test_logsumexp_matches_numpy(dim: Any, keepdim: bool) -> None:
    axis = tuple(dim) if isinstance(dim, list) else dim
    expected = np.log(np.exp(ARRAY).sum(axis=axis, keepdims=keepdim))
    found = interlock.logsumexp(interlock.tensor(ARRAY), dim, keepdim)
    np.testing.assert_allclose(found.cpu().numpy(), expected)
    gradcheck.check(lambda x: x.logsumexp(dim, keepdim), ARRAY)


def test_logsumexp_of_infinities_and_of_nothing() -> None:
    x = interlock.tensor([[INF, 1.0], [-INF, -INF], [NAN, 0.0], [1000.0, 1000.0]])
    assert x.logsumexp(1)[:2].tolist() == [INF, -INF]
    assert math.isnan(x.logsumexp(1)[2].item())
    assert x.logsumexp(1)[3].item() == pytest.approx(1000 + math.log(2))
    assert interlock.zeros(2, 0).logsumexp(1).tolist() == [-INF, -INF]
    assert interlock.tensor([1, 2]).logsumexp(0).dtype is interlock.float32


@pytest.mark.parametrize("order", [None, "fro", 0, 1, 2, 3, 0.5, -1, INF, -INF])
@pytest.mark.parametrize("dim", [None, 0, (1, 2)])
def test_norm_matches_numpy(order: Any, dim: Any) -> None:
    absolute = np.abs(ARRAY)
    if order == INF:
        expected = absolute.max(axis=dim)
    elif order == -INF:
        expected = absolute.min(axis=dim)
    elif order == 0:
        expected = (absolute != 0).sum(axis=dim).astype(float)
    else:
        power = 2 if order in (None, "fro") else order
        expected = (absolute**power).sum(axis=dim) ** (1 / power)
    found = interlock.norm(interlock.tensor(ARRAY), order, dim)
    np.testing.assert_allclose(found.cpu().numpy(), expected)
    if order != 0:
        gradcheck.check(lambda x: x.norm(order, dim), ARRAY)


def test_norm_of_halves_is_rounded_once_and_that_of_zeros_has_gradient_0() -> None:
    x = interlock.tensor([300.0, 400.0], dtype=interlock.float16)
    assert (x.norm().dtype, x.norm().item()) == (interlock.float16, 500.0)
    assert x.norm(dtype=interlock.float32).dtype is interlock.float32
    zeros = interlock.zeros(2, requires_grad=True)
    zeros.norm().backward()
    assert zeros.grad is not None
    assert zeros.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("order", [-1, -2.5, -INF, INF])
def test_norm_of_nothing_has_no_smallest_or_largest_element(order: float) -> None:
    for shape, dim in (((0,), None), ((0, 3), 0), ((3, 0), (0, 1))):
        with pytest.raises(ShapeError, match="norm: input must have no reduced dimension of size 0"):
            interlock.zeros(shape).norm(order, dim)
    assert interlock.zeros(0, 3).norm(order, 1).tolist() == []
    assert interlock.zeros(0).norm(0.5).item() == 0.0


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_all_and_any_match_numpy(dim: Any, keepdim: bool) -> None:
    array = ARRAY.round() % 3
    x = interlock.tensor(array)
    for name in ("all", "any"):
        expected = getattr(array, name)(axis=dim, keepdims=keepdim)
        found = getattr(x, name)(dim, keepdim)
        assert (found.dtype, found.shape) == (interlock.bool, expected.shape)
        np.testing.assert_array_equal(found.cpu().numpy(), expected)
    if not keepdim:
        np.testing.assert_array_equal(x.count_nonzero(dim).cpu().numpy(), np.count_nonzero(array, axis=dim))


def test_truth_of_uint8_is_uint8_and_nan_is_true() -> None:
    x = interlock.tensor([0, 2], dtype=interlock.uint8)
    assert (x.any().dtype, x.any().item(), x.all().item()) == (interlock.uint8, 1, 0)
    assert interlock.tensor([NAN]).all().item() is True
    assert (interlock.zeros(0).all().item(), interlock.zeros(0).any().item()) == (True, False)
    assert interlock.tensor([[1, 0]]).all(()).tolist() == [[True, False]]


def test_closeness_counts_both_tolerances_and_infinities() -> None:
    x = interlock.tensor([1.0, NAN, INF, 1e-9, INF])
    y = interlock.tensor([1.000001, NAN, INF, 0.0, -INF])
    assert x.isclose(y).tolist() == [True, False, True, True, False]
    assert interlock.isclose(x, y, equal_nan=True).tolist() == [True, True, True, True, False]
    assert not x.allclose(y)
    assert interlock.allclose(x[:4], y[:4], equal_nan=True)
    assert interlock.tensor([1, 5]).isclose(interlock.tensor([1, 6])).tolist() == [True, False]
    assert interlock.tensor([True]).isclose(interlock.tensor([True])).tolist() == [True]


@pytest.mark.parametrize(("start", "step"), [(2**53, 1), (2**60, 100), (-(2**62), 100)])
def test_closeness_of_large_integers_is_that_of_exact_differences(start: int, step: int) -> None:
    a, b = interlock.tensor([start]), interlock.tensor([start + step])
    assert not interlock.isclose(a, b, rtol=0, atol=step - 0.5).item()
    assert interlock.isclose(a, b, rtol=0, atol=step).item()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_closeness_of_integers_whose_difference_wraps(dtype: interlock.dtype) -> None:
    least, largest = interlock.iinfo(dtype).min, interlock.iinfo(dtype).max
    x = interlock.tensor([least, largest, 0], dtype=dtype)
    y = interlock.tensor([0, least, largest], dtype=dtype)
    assert x.isclose(y).tolist() == [least == 0, False, False]
    assert not interlock.allclose(x[1:], y[1:])
    assert x.isclose(y, rtol=0, atol=2.0**64).all()
    assert x.isclose(y, rtol=0, atol=(largest - least) / 4).tolist() == [least == 0, False, False]


def test_equal_compares_shapes_and_elements() -> None:
    x: Tensor = interlock.tensor([1, 2])
    assert x.equal(interlock.tensor([1.0, 2.0]))
    assert not interlock.equal(x, interlock.tensor([[1, 2]]))
    assert not interlock.tensor([NAN]).equal(interlock.tensor([NAN]))

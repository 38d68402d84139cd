"""Extremes along a dimension, sorted elements, and cumulative sums and products."""

from __future__ import annotations

import math
from typing import Any

import interlock
import numpy as np
import pytest
from interlock.errors import DTypeError, ShapeError

from . import gradcheck

pytestmark = pytest.mark.usefixtures("everywhere")

ARRAY = np.random.default_rng(4).standard_normal((2, 3, 4))
INF, NAN = math.inf, math.nan
DTYPES = [
    interlock.float16,
    interlock.bfloat16,
    interlock.float32,
    interlock.float64,
    interlock.int64,
    interlock.int32,
    interlock.int16,
    interlock.int8,
    interlock.uint8,
]


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_along_a_dimension_match_numpy(name: str, dim: int, keepdim: bool) -> None:
    x = interlock.tensor(ARRAY)
    for result in (getattr(x, name)(dim, keepdim), getattr(interlock, name)(x, dim=dim, keepdim=keepdim)):
        values, indices = result
        assert (result.values is values, result.indices is indices) == (True, True)
        expected = getattr(ARRAY, name)(axis=dim, keepdims=keepdim)
        np.testing.assert_array_equal(values.cpu().numpy(), expected)
        places = getattr(np, f"arg{name}")(ARRAY, axis=dim, keepdims=keepdim)
        np.testing.assert_array_equal(indices.cpu().numpy(), places)
    gradcheck.check(lambda x: getattr(x, name)(dim, keepdim)[0], ARRAY)


def test_first_of_equal_maxima_receives_the_gradient() -> None:
    x = interlock.tensor([[1.0, 5.0], [2.0, 5.0]], requires_grad=True)
    x.max(0).values.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_named_results_show_their_fields() -> None:
    x = interlock.tensor([[1, 2], [3, 4]], device="cpu")
    assert repr(x.max(0)) == ("interlock.return_types.max(\nvalues=tensor([3, 4]),\nindices=tensor([1, 1]))")
    assert type(x.sort()) is interlock.return_types.sort
    assert x.aminmax()._fields == ("min", "max")


def test_max_of_two_tensors_takes_the_larger_elements() -> None:
    x, y = interlock.tensor([1.0, 5.0]), interlock.tensor([[3.0, NAN], [0.0, 2.0]])
    assert x.max(y)[1].tolist() == interlock.max(x, y)[1].tolist() == [1.0, 5.0]
    assert math.isnan(x.max(y)[0, 1].item())
    assert interlock.min(interlock.tensor([1, 5]), interlock.tensor([2.5])).tolist() == [1.0, 2.5]


def test_extremes_of_nothing_are_errors() -> None:
    for empty, dim in ((interlock.zeros(0, 3), 0), (interlock.zeros(2, 0), 1)):
        for name in ("max", "min", "argmax", "argmin", "amax", "amin"):
            with pytest.raises(IndexError, match="size 0"):
                getattr(empty, name)(dim)
            assert getattr(empty, name)(1 - dim) is not None
        with pytest.raises(IndexError, match="size 0"):
            empty.aminmax(dim=dim)
        with pytest.raises(RuntimeError, match="size 0"):
            empty.max()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_extremes_and_orders_keep_the_dtype(dtype: interlock.dtype) -> None:
    x = interlock.tensor([3, 1, 2, 3], dtype=dtype)
    values, indices = x.sort(descending=True)
    assert (values.dtype, values.tolist(), indices.tolist()) == (dtype, [3, 3, 2, 1], [0, 3, 2, 1])
    values, indices = x.topk(2, largest=False)
    assert (values.dtype, values.tolist(), indices.tolist()) == (dtype, [1, 2], [1, 2])
    values, indices = x.max(0)
    assert (values.dtype, values.item(), indices.item()) == (dtype, 3, 0)
    low, high = x.aminmax()
    assert (low.dtype, low.item(), high.item()) == (dtype, 1, 3)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_matches_numpy(dim: int, descending: bool) -> None:
    array = ARRAY.round()
    x = interlock.tensor(array)
    values, indices = x.sort(dim, descending)
    expected = np.argsort(-array if descending else array, axis=dim, kind="stable")
    np.testing.assert_array_equal(indices.cpu().numpy(), expected)
    np.testing.assert_array_equal(values.cpu().numpy(), np.take_along_axis(array, expected, dim))
    np.testing.assert_array_equal(x.argsort(dim, descending).cpu().numpy(), expected)
    gradcheck.check(lambda x: x.sort(dim, descending)[0], ARRAY)


def test_nan_is_larger_than_all_numbers() -> None:
    x = interlock.tensor([3.0, NAN, 1.0, INF])
    assert x.argsort().tolist() == [2, 0, 3, 1]
    assert x.argsort(descending=True).tolist() == [1, 3, 0, 2]
    assert x.topk(2).indices.tolist() == [1, 3]
    for count in (5, -1):
        with pytest.raises((RuntimeError, IndexError), match=r"^topk: k must be"):
            x.topk(count)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("largest", [False, True])
def test_topk_returns_the_first_sorted_elements(dim: int, count: int, largest: bool) -> None:
    x = interlock.tensor(ARRAY)
    values, indices = x.topk(count, dim, largest)
    expected, places = x.sort(dim, largest)
    keep: list[Any] = [slice(None)] * 3
    keep[dim] = slice(count)
    assert values.tolist() == expected[tuple(keep)].tolist()
    assert indices.tolist() == places[tuple(keep)].tolist()
    if count:
        gradcheck.check(lambda x: x.topk(count, dim, largest)[0], ARRAY)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cumulative_operations_match_numpy_also_with_zeros(dim: int) -> None:
    array = ARRAY.copy()
    array[0, 1, 2] = array[0, 1, 3] = array[1, 0, 1] = 0
    x = interlock.tensor(array)
    np.testing.assert_allclose(x.cumsum(dim).cpu().numpy(), array.cumsum(axis=dim))
    np.testing.assert_allclose(x.cumprod(dim).cpu().numpy(), array.cumprod(axis=dim))
    gradcheck.check(lambda x: x.cumsum(dim), array)
    gradcheck.check(lambda x: x.cumprod(dim), array)


def test_operations_along_a_dimension_accept_numbers_and_nothing() -> None:
    number = interlock.tensor(2.0, requires_grad=True)
    for result in (number.cumsum(0), number.cumprod(-1), number.sort().values, number.topk(1).values):
        assert (result.shape, result.item()) == ((), 2.0)
        (gradient,) = interlock.autograd.grad(result, number)
        assert gradient.item() == 1.0
    empty = interlock.zeros(2, 0)
    for result in (empty.cumsum(1), empty.cumprod(0), empty.sort(0).values, empty.argsort(1)):
        assert result.shape == (2, 0)


def test_cumulative_sums_of_halves_are_accumulated_in_float32() -> None:
    x = interlock.ones(5000, dtype=interlock.float16)
    assert x.cumsum(0)[-1].item() == 5000.0


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_median_along_a_dimension_is_the_smaller_middle_element(dim: int, keepdim: bool) -> None:
    result = interlock.median(interlock.tensor(ARRAY), dim, keepdim)
    middle = (ARRAY.shape[dim] - 1) // 2
    expected = np.sort(ARRAY, dim).take([middle] if keepdim else middle, dim)
    np.testing.assert_array_equal(result.values.cpu().numpy(), expected)
    indices = result.indices.cpu().numpy()
    indices = indices if keepdim else np.expand_dims(indices, dim)
    np.testing.assert_array_equal(np.take_along_axis(ARRAY, indices, dim).reshape(expected.shape), expected)
    assert type(result) is interlock.return_types.median
    gradcheck.check(lambda x: x.median(dim, keepdim)[0], ARRAY)


@pytest.mark.parametrize("dtype", DTYPES)
def test_median_of_all_elements(dtype: interlock.dtype) -> None:
    for values, expected in (([3, 1, 2], 2), ([4, 1, 3, 2], 2), ([5], 5)):
        found = interlock.tensor(values, dtype=dtype).median()
        assert (found.item(), found.dtype, found.shape) == (expected, dtype, ())
    assert interlock.tensor(7, dtype=dtype).median(-1).indices.item() == 0


def test_median_of_nan_and_of_nothing() -> None:
    x = interlock.tensor([[3.0, NAN, NAN], [1.0, 1.0, 1.0]])
    values, indices = x.median(1)
    assert math.isnan(values[0].item())
    assert indices.tolist() == [1, 1]
    assert math.isnan(x.median().item())
    assert math.isnan(interlock.zeros(0).median().item())
    assert interlock.zeros(3, 0).median(0).values.shape == (0,)
    with pytest.raises(IndexError, match=r"^median: input must have no reduced dimension of size 0"):
        interlock.zeros(3, 0).median(1)
    with pytest.raises(ShapeError, match=r"^median: "):
        interlock.zeros(0, dtype=interlock.int64).median()
    with pytest.raises(DTypeError, match=r"^median: "):
        interlock.tensor([True]).median()
    with pytest.raises(TypeError, match=r"^median: keepdim needs a dim"):
        interlock.median(x, keepdim=True)  # type: ignore[call-overload]


def test_equal_elements_share_the_gradient_of_the_median_of_all() -> None:
    for values, expected in (
        ([1.0, 1.0, 2.0, 1.0], [1 / 3, 1 / 3, 0, 1 / 3]),
        ([1.0, NAN, NAN], [0, 0.5, 0.5]),
    ):
        x = interlock.tensor(values, requires_grad=True)
        x.median().backward()
        assert x.grad is not None
        assert x.grad.tolist() == pytest.approx(expected)

"""Sums, means, extremes, softmax and losses, with NumPy as the oracle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor

from tests.unit.tensor import gradcheck

ARRAY = np.random.default_rng(1).permutation(24).reshape(2, 3, 4) / 10

pytestmark = pytest.mark.usefixtures("everywhere")


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), [1]])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    ("name", "oracle"), [("sum", np.sum), ("mean", np.mean), ("amax", np.max), ("amin", np.min)]
)
def test_reductions_match_numpy(dim: Any, keepdim: bool, name: str, oracle: Any) -> None:
    expected = oracle(ARRAY, axis=tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim)
    result = getattr(interlock.tensor(ARRAY), name)(dim=dim, keepdim=keepdim)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.cpu().numpy(), expected)
    turned = interlock.tensor(ARRAY.T.copy()).permute(2, 1, 0)
    result = getattr(turned, name)(dim=dim, keepdim=keepdim)
    np.testing.assert_allclose(result.cpu().numpy(), expected)
    gradcheck.check(lambda x: getattr(x, name)(dim=dim, keepdim=keepdim), ARRAY)


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_positions_match_numpy(dim: int | None) -> None:
    tensor = interlock.tensor(ARRAY)
    np.testing.assert_array_equal(tensor.argmax(dim).cpu().numpy(), ARRAY.argmax(dim))
    np.testing.assert_array_equal(interlock.argmax(tensor, dim).cpu().numpy(), ARRAY.argmax(dim))
    np.testing.assert_array_equal(tensor.argmin(dim).cpu().numpy(), ARRAY.argmin(dim))
    kept = tensor.argmax(dim, keepdim=True)
    assert kept.ndim == 3


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 255, 256, 257, 1025])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "bool"])
def test_position_of_an_extreme_is_that_of_the_first(length: int, dtype: str) -> None:
    rows = np.zeros((3, length))
    for row, first in zip(rows, (0, length // 2, length - 1), strict=True):
        row[first] = row[-1] = 1
    largest = interlock.tensor(rows).to(getattr(interlock, dtype))
    assert largest.max(1)[1].tolist() == [0, length // 2, length - 1]
    assert (largest == 0).min(1)[1].tolist() == [0, length // 2, length - 1]
    if dtype in ("float32", "float64", "bfloat16"):
        rows[rows == 1] = math.nan
        nans = interlock.tensor(rows).to(getattr(interlock, dtype))
        for found in (nans.argmax(1), nans.argmin(1)):
            assert found.tolist() == [0, length // 2, length - 1]


def test_sums_of_single_precision_stay_exact_over_many_elements() -> None:
    assert interlock.ones(3_000_000).sum().item() == 3_000_000
    assert interlock.ones(1).expand(3_000_000).sum().item() == 3_000_000
    assert interlock.full((100_000,), 0.1).sum().item() == pytest.approx(10_000, rel=1e-6)


def test_integers_sum_to_integers() -> None:
    assert interlock.tensor([True, True]).sum().tolist() == 2
    assert interlock.tensor([1, 2]).sum(dtype=interlock.float64).dtype == interlock.float64
    assert interlock.tensor([1, 2]).mean(dtype=interlock.float32).item() == 1.5


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdim", [False, True])
def test_nansum_matches_numpy(dim: Any, keepdim: bool) -> None:
    array = np.where(ARRAY > 1.5, np.nan, ARRAY)
    expected = np.nansum(array, axis=None if dim == () else dim, keepdims=keepdim)
    result = interlock.tensor(array, requires_grad=True).nansum(dim, keepdim)
    np.testing.assert_allclose(result.cpu().detach().numpy(), expected)
    assert "NansumBackward0" in repr(result)
    gradcheck.check(lambda x: x.nansum(dim, keepdim), ARRAY)


def test_nansum_of_other_dtypes_and_its_gradient() -> None:
    x = interlock.tensor([1.0, float("nan"), 2.0], requires_grad=True)
    x.nansum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1, 0, 1]
    assert x.detach().nansum((0,), keepdim=True).tolist() == [3]
    assert x.detach().expand(2, 3).nansum(0).tolist() == [2, 0, 4]
    assert interlock.nansum(interlock.tensor([True, False])).dtype is interlock.int64
    assert interlock.nansum(x.detach(), dtype=interlock.float64).dtype is interlock.float64
    assert interlock.nansum(x.detach().half()).item() == 3
    assert math.isnan(interlock.nansum(interlock.tensor([math.inf, -math.inf])).item())


def test_dimensions_that_do_not_exist_are_named() -> None:
    operations: list[Callable[[Tensor, int], Tensor]] = [
        interlock.sum,
        interlock.mean,
        interlock.argmax,
        interlock.log_softmax,
    ]
    for operation in operations:
        with pytest.raises(IndexError, match="dim must be from -3 to 2, got 3"):
            operation(interlock.tensor(ARRAY), 3)
    with pytest.raises(RuntimeError, match=r"sum: dim must name each dimension once, got \(0, -3\)"):
        interlock.tensor(ARRAY).sum((0, -3))
    with pytest.raises(RuntimeError, match="size 0"):
        interlock.zeros(0).max()


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_log_softmax_is_stable(dim: int) -> None:
    array = np.random.default_rng(2).standard_normal((3, 4))
    expected = array - np.log(np.exp(array).sum(axis=dim, keepdims=True))
    np.testing.assert_allclose(interlock.tensor(array).log_softmax(dim).cpu().numpy(), expected)
    np.testing.assert_allclose(
        interlock.tensor(array + 1e4).log_softmax(dim).cpu().numpy(), expected, rtol=1e-9
    )
    gradcheck.check(lambda x: x.log_softmax(dim), array)
    gradcheck.check(lambda x: interlock.softmax(x, dim), array)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 32), (8, 300), (2, 5, 7, 80), (1, 33), (40, 513)])
def test_softmax_over_columns_is_that_of_rows(shape: tuple[int, ...], dtype: str) -> None:
    numbers = 30 * np.random.default_rng(4).standard_normal(shape)
    numbers[..., 0, 1], numbers[..., 2] = -np.inf, -np.inf
    numbers[..., 0, 3], numbers[..., 0, 4] = np.nan, np.inf
    x = interlock.tensor(numbers.astype(dtype))
    for dim in range(x.ndim - 1):
        for name in ("softmax", "log_softmax"):
            leaves = [x.detach().clone().requires_grad_() for _ in range(2)]
            columns = getattr(leaves[0], name)(dim)
            rows = getattr(leaves[1].transpose(dim, -1), name)(-1).transpose(dim, -1)
            weights = interlock.tensor(numbers.astype(dtype)).nan_to_num(posinf=1.0, neginf=-1.0)
            for result in (columns, rows):
                (result * weights).sum().backward()
            rtol, atol = (1e-6, 1e-4) if dtype == "float32" else (1e-14, 1e-12)
            for result, expected in ((columns, rows), (leaves[0].grad, leaves[1].grad)):
                assert result is not None
                assert expected is not None
                arrays = [np.asarray(tensor.detach().cpu()) for tensor in (result, expected)]
                np.testing.assert_allclose(arrays[0], arrays[1], rtol=rtol, atol=atol)


def test_cross_entropy_applies_its_reduction() -> None:
    scores, classes = np.random.default_rng(3).standard_normal((4, 3)), interlock.tensor([2, 0, 1, 1])
    losses = -(scores - np.log(np.exp(scores).sum(1, keepdims=True)))[range(4), classes.tolist()]

    def loss(reduction: Any) -> Any:
        return interlock.cross_entropy(interlock.tensor(scores), classes, reduction=reduction).cpu().numpy()

    np.testing.assert_allclose(loss("none"), losses)
    np.testing.assert_allclose(loss("sum"), losses.sum())
    np.testing.assert_allclose(loss("mean"), losses.mean())
    gradcheck.check(lambda x: interlock.cross_entropy(x, classes), scores)
    one_hot = interlock.eye(3, dtype=interlock.float64)[classes]
    smoothed = [
        interlock.cross_entropy(interlock.tensor(scores), target, label_smoothing=0.3).item()
        for target in (classes, one_hot)
    ]
    assert smoothed[0] == pytest.approx(smoothed[1], rel=1e-12)
    with pytest.raises(ValueError, match="median"):
        loss("median")


@pytest.mark.parametrize("wrong", [3, -1])
def test_class_that_does_not_exist_is_named(wrong: int) -> None:
    reported = rf"cross_entropy: target .* range\(3\), got {wrong}"
    with interlock.device("cpu"), pytest.raises(IndexError, match=reported):
        interlock.cross_entropy(interlock.zeros(2, 3), interlock.tensor([0, wrong]))


def test_cross_entropy_names_wrong_shapes_and_dtypes() -> None:
    with pytest.raises(RuntimeError, match=r"\(2, 3\).*\(3,\)"):
        interlock.cross_entropy(interlock.zeros(2, 3), interlock.tensor([0, 1, 2]))
    with pytest.raises(TypeError, match="float32"):
        interlock.cross_entropy(interlock.zeros(2, 3), interlock.zeros(2))


def test_cross_entropy_requires_a_class_index_for_each_sample() -> None:
    for scores in (interlock.ones(3), interlock.ones(2, 2, 2), interlock.ones(3, 2)):
        with pytest.raises(RuntimeError, match=r"target must be of shape \("):
            interlock.cross_entropy(scores, interlock.tensor([0, 1]))
    with pytest.raises((RuntimeError, TypeError)):
        interlock.cross_entropy(interlock.ones(2, 2), interlock.ones(2, 2, dtype=interlock.int64))

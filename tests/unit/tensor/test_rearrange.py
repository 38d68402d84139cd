"""Copies with elements in another order, repeated or replaced by zeros, and products of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor, dispatch
from interlock.errors import ArgumentError, DTypeError, ShapeError

pytestmark = pytest.mark.usefixtures("everywhere")

ARRAY = np.arange(24.0).reshape(2, 3, 4)

# What the operation of a tensor and that of NumPy return.
SAME: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Any], Any]]] = {
    "flip": (lambda x: x.flip(0, -1), lambda a: np.flip(a, (0, 2))),
    "fliplr": (lambda x: x.fliplr(), lambda a: np.flip(a, 1)),
    "flipud": (lambda x: x.flipud(), lambda a: np.flip(a, 0)),
    "flip of nothing": (lambda x: x.flip(()), lambda a: a),
    "roll": (lambda x: x.roll(5), lambda a: np.roll(a, 5)),
    "roll over dimensions": (lambda x: x.roll((1, -6), (0, 2)), lambda a: np.roll(a, (1, -6), (0, 2))),
    "repeat": (lambda x: x.repeat(2, 1, 3, 1), lambda a: np.tile(a, (2, 1, 3, 1))),
    "tile": (lambda x: x.tile((2, 3)), lambda a: np.tile(a, (2, 3))),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, 1), lambda a: np.repeat(a, 3, 1)),
    "repeat_interleave of all": (lambda x: x.repeat_interleave(2), lambda a: np.repeat(a, 2)),
    "repeat_interleave by a tensor": (
        lambda x: x.repeat_interleave(interlock.tensor([2, 0, 1]), 1),
        lambda a: np.repeat(a, [2, 0, 1], 1),
    ),
    "tril": (lambda x: x.tril(1), lambda a: np.tril(a, 1)),
    "triu": (lambda x: x.triu(-1), lambda a: np.triu(a, -1)),
    "trace": (lambda x: x[1].trace(), lambda a: np.trace(a[1])),
    "hstack": (lambda x: interlock.hstack([x, x]), lambda a: np.hstack([a, a])),
    "vstack": (lambda x: interlock.vstack([x[0, 0], x[0]]), lambda a: np.vstack([a[0, 0], a[0]])),
    "dot": (lambda x: x[0, 0].dot(x[1, 1]), lambda a: a[0, 0] @ a[1, 1]),
    "mv": (lambda x: x[0].mv(x[1, 1]), lambda a: a[0] @ a[1, 1]),
    "outer": (lambda x: x[0, 0].outer(x[1, 1]), lambda a: np.outer(a[0, 0], a[1, 1])),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int64"])
def test_results_equal_those_of_numpy(name: str, dtype: str) -> None:
    function, same = SAME[name]
    x = interlock.tensor(ARRAY, dtype=getattr(interlock, dtype))
    expected = np.array(same(ARRAY))
    assert function(x).tolist() == interlock.tensor(expected, dtype=x.dtype).tolist()
    transposed = interlock.tensor(ARRAY.transpose(2, 0, 1).copy()).permute(1, 2, 0)
    np.testing.assert_array_equal(function(transposed).cpu().numpy(), expected)


def test_results_have_the_strides_of_pytorch() -> None:
    x = interlock.arange(24.0).view(2, 3, 4)
    assert x.transpose(0, 2).flip(0).stride() == (1, 4, 12)
    assert x[:, :, ::2].flip(0).stride() == (6, 2, 1)
    assert x.expand(2, 2, 3, 4).flip(0).stride() == (24, 12, 4, 1)
    assert x.transpose(0, 2).roll(1, 0).stride() == x.transpose(0, 2).roll(1).stride() == (6, 2, 1)
    assert x.transpose(0, 2).repeat(1, 1, 1).stride() == (6, 2, 1)
    assert x[0].t().tril().stride() == (3, 1)
    for made in (x.flip(0), x.roll(1), x.repeat(1, 1, 1), x.tile(1), x.repeat_interleave(1), x.tril()):
        assert made.data_ptr() != x.data_ptr()
        assert made._version == 0


def test_empty_tensors_are_rearranged() -> None:
    x = interlock.zeros(0, 3)
    assert x.flip(0).shape == x.roll(1, 0).shape == x.roll(1).shape == x.tril().shape == (0, 3)
    assert x.repeat(2, 2).shape == (0, 6)
    assert interlock.ones(2, 3).repeat(0, 1).shape == (0, 3)
    assert x.repeat_interleave(2, 1).shape == (0, 6)
    assert interlock.zeros(0, 0).trace().item() == 0


def test_positions_may_be_extreme_integers() -> None:
    x, least, most = interlock.tensor(ARRAY[0]), -(2**63), 2**63 - 1
    assert x.tril(least).sum() == x.triu(most).sum() == 0
    assert x.tril(most).tolist() == x.triu(least).tolist() == x.tolist()
    assert x.roll(least, 1).tolist() == x.tolist()  # 2**63 is a multiple of 4
    assert x.diagonal(least).shape == x.diagonal(most).shape == (0,)
    with pytest.raises(ShapeError):
        x.repeat([1] * 65)


def test_triangles_in_place_change_the_tensor() -> None:
    x = interlock.ones(2, 2)
    assert x.tril_() is x
    assert x.tolist() == [[1.0, 0.0], [1.0, 1.0]]
    assert x.triu_(1).sum().item() == 0
    assert x._version == 2
    assert interlock.ones(2, 2, dtype=interlock.bool).triu_(1).tolist() == [[False, True], [False, False]]
    with pytest.raises(RuntimeError, match="leaf"):
        interlock.ones(2, 2, requires_grad=True).tril_()
    with pytest.raises(RuntimeError, match="share"):
        interlock.ones(2, 1).expand(2, 2).tril_()
    copied = interlock.ones(2, 2, requires_grad=True).clone()
    assert copied.tril_().grad_fn.name() == "TrilBackward0"  # type: ignore[union-attr]


def test_products_of_vectors_are_matrix_products() -> None:
    x, matrix = interlock.ones(3), interlock.ones(2, 3)
    with dispatch.record() as calls:
        x.dot(x), matrix.mv(x), x[:2].addmv(matrix, x), x.baddbmm(matrix[None], interlock.ones(1, 3, 3))
    assert [call.operation for call in calls] == ["matmul"] * 4
    with dispatch.record() as calls:
        x.outer(x)
    assert not calls
    assert x.outer(interlock.arange(2)).dtype == interlock.float32


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (lambda x: x.flip(0, 0), ArgumentError),
        (lambda x: x.flip(2), IndexError),
        (lambda x: x.roll((1, 2), 0), ArgumentError),
        (lambda x: x.roll((1, 2)), ArgumentError),
        (lambda x: x.roll(1, 2), IndexError),
        (lambda x: x.roll(()), ArgumentError),
        (lambda x: x.sum().roll(1, 0), IndexError),
        (lambda x: x.repeat(), TypeError),
        (lambda x: x.flip(), TypeError),
        (lambda x: x.flip(0, dims=(0,)), TypeError),
        (lambda x: x.flip(dims=0), TypeError),
        (lambda x: x[0].fliplr(), ShapeError),
        (lambda x: x[0, 0].flipud(), ShapeError),
        (lambda x: x.repeat(2), ArgumentError),
        (lambda x: x.repeat(-1, 1), ArgumentError),
        (lambda x: x.repeat(2**62, 2**62), ShapeError),
        (lambda x: x.tile(-1), ArgumentError),
        (lambda x: x.repeat_interleave(-1), ArgumentError),
        (lambda x: x.repeat_interleave(interlock.tensor([1, 2, 3]), 0), ShapeError),
        (lambda x: x.repeat_interleave(interlock.tensor([1, -2]), 0), ArgumentError),
        (lambda x: x.repeat_interleave(interlock.tensor([1.0, 2.0]), 0), DTypeError),
        (lambda x: x.repeat_interleave(2, 0, output_size=5), ArgumentError),
        (lambda x: x[0].tril(), ShapeError),
        (lambda x: x[0].triu_(), ShapeError),
        (lambda x: x[0].trace(), ShapeError),
        (lambda x: (x > 0).trace(), DTypeError),
        (lambda x: interlock.hstack([]), ArgumentError),
        (lambda x: interlock.vstack([x, x[:, :2]]), ShapeError),
        (lambda x: x.dot(x), ShapeError),
        (lambda x: x[0].dot(x[0, :2]), ShapeError),
        (lambda x: x[0].dot(x[0].long()), DTypeError),
        (lambda x: (x[0] > 0).dot(x[0] > 0), DTypeError),
        (lambda x: x.mv(x), ShapeError),
        (lambda x: x.mv(x[0, :2]), ShapeError),
        (lambda x: x[0].outer(x), ShapeError),
        (lambda x: x[0].addmv(x[0], x[0]), ShapeError),
        (lambda x: x.baddbmm(x, x), ShapeError),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    refused: Callable[[Tensor], object], error: type[Exception]
) -> None:
    x = interlock.ones(2, 3)
    with pytest.raises(error):
        refused(x)
    assert x._version == 0


def test_functions_equal_the_methods() -> None:
    x = interlock.arange(4).view(2, 2)
    vector = x[0]
    pairs = [
        (interlock.flip(x, (0,)), x.flip(0)),
        (interlock.fliplr(x), x.fliplr()),
        (interlock.flipud(x), x.flipud()),
        (interlock.roll(x, 1, 0), x.roll(1, 0)),
        (interlock.tile(x, (2,)), x.tile(2)),
        (interlock.repeat_interleave(x, 2), x.repeat_interleave(2)),
        (interlock.tril(x), x.tril()),
        (interlock.triu(x, diagonal=1), x.triu(diagonal=1)),
        (interlock.trace(x), x.trace()),
        (interlock.dot(vector, vector), vector.dot(vector)),
        (interlock.mv(x, vector), x.mv(vector)),
        (interlock.outer(vector, vector), vector.outer(vector)),
        (interlock.addmv(vector, x, vector, beta=2), vector.addmv(x, vector, beta=2)),
        (interlock.baddbmm(x, x[None], x[None], alpha=2), x.baddbmm(x[None], x[None], alpha=2)),
    ]
    for function, method in pairs:
        assert function.tolist() == method.tolist()


def test_flip_of_a_number_accepts_dimension_0_once() -> None:
    assert interlock.tensor(3).flip(0).item() == 3
    with pytest.raises(ArgumentError, match="name each dimension once"):
        interlock.tensor(3).flip(0, -1)


def test_repeat_interleave_of_a_number_has_no_dimension() -> None:
    x = interlock.tensor(3)
    assert x.repeat_interleave(2).tolist() == [3, 3]
    for repeats in (2, interlock.tensor([2])):
        with pytest.raises(IndexError, match="must have a dimension"):
            x.repeat_interleave(repeats, 0)


@pytest.mark.parametrize("operate", [lambda x: x.roll(1), lambda x: x.logsumexp(0)])
def test_results_of_other_shapes_can_be_changed_in_place(operate: Callable[[Tensor], Tensor]) -> None:
    x = interlock.ones(2, 3, requires_grad=True)
    expected = (operate(x) * 2).tolist()
    assert operate(x).mul_(2).tolist() == expected


def test_joined_tensors_of_any_layout_and_dtype_are_converted() -> None:
    ints = interlock.tensor([[1, 2], [3, 4]], dtype=interlock.int32).t()
    floats = interlock.tensor([[0.5, 9.0], [1.5, 9.0]], dtype=interlock.float64)[:, :1]
    joined = interlock.cat([ints, floats], 1)
    assert (joined.dtype, joined._version) == (interlock.float64, 0)
    assert joined.tolist() == [[1.0, 3.0, 0.5], [2.0, 4.0, 1.5]]
    stacked = interlock.stack([ints, floats.expand(2, 2)], 1)
    assert stacked.tolist() == [[[1.0, 3.0], [0.5, 0.5]], [[2.0, 4.0], [1.5, 1.5]]]


def test_many_tensors_are_joined() -> None:
    numbers = interlock.arange(5000)
    parts = numbers.split(1)
    assert interlock.cat(parts).equal(numbers)
    assert interlock.stack(parts, 1)[0].equal(numbers)

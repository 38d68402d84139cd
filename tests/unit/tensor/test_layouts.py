"""Strides of results, as in PyTorch, and results that depend on them."""

from __future__ import annotations

import math
from collections.abc import Callable

import interlock
import numpy as np
import pytest
from interlock import Tensor

from tests.helpers.subprocess import Result, run_program

LIKE: dict[str, Callable[[Tensor], Tensor]] = {
    "neg": lambda x: -x,
    "exp": lambda x: x.exp(),
    "add a number": lambda x: x + 1,
    "add itself": lambda x: x + x,
    "subtract from a number": lambda x: 2 - x,
    "pow": lambda x: x**2,
    "compare": lambda x: x > 1,
    "logical_not": lambda x: x.logical_not(),
    "relu": lambda x: x.relu(),
    "cast": lambda x: x.double(),
    "clone": lambda x: x.clone(),
    "zeros_like": interlock.zeros_like,
    "ones_like": interlock.ones_like,
}


@pytest.mark.parametrize("name", LIKE)
def test_element_wise_results_keep_the_order_of_dimensions(name: str) -> None:
    base = interlock.arange(24).float().reshape(2, 3, 4)
    for x, strides in (
        (base, (12, 4, 1)),
        (base.permute(2, 0, 1), (1, 12, 4)),
        (base.permute(1, 2, 0), (4, 1, 12)),
        (base[:, :, ::2], (6, 2, 1)),
        (base.permute(2, 1, 0)[::2], (1, 2, 6)),
    ):
        result = LIKE[name](x)
        assert result.shape == x.shape
        assert result.stride() == strides
        expected = LIKE[name](x.contiguous())
        assert result.tolist() == expected.tolist()


def test_binary_result_has_the_order_of_the_first_operand_that_has_one() -> None:
    x, y = interlock.ones(4, 3).t(), interlock.ones(3, 4)
    assert (x + x).stride() == (1, 3)
    assert (x + y).stride() == (1, 3)
    assert (y + x).stride() == (4, 1)
    assert (interlock.ones(4) + x).stride() == (1, 3)
    assert (interlock.ones(3, 1).expand(3, 4) * x).stride() == (1, 3)


def test_results_that_are_contiguous_whatever_their_operands() -> None:
    x = interlock.arange(6).float().reshape(2, 3).t()
    powers = (2**x, 1**x, 2 ** x.long())
    for result in (
        *powers,
        x.softmax(0),
        x.log_softmax(0),
        x.log_softmax(1),
        x @ x.t(),
        x.contiguous(),
        x.sum(0),
    ):
        assert result.is_contiguous()
    assert interlock.zeros(2, 0, 3).permute(2, 0, 1).is_contiguous()


def test_flatten_of_one_dimension_is_the_tensor_itself() -> None:
    x = interlock.ones(3)
    assert x.flatten() is x
    assert x.reshape(1, 3).flatten() is not x


def test_views_have_the_strides_of_pytorch_where_a_size_is_one() -> None:
    x = interlock.ones(3, 1, 1).as_strided((3, 1, 1), (1, 3, 3))
    assert x.reshape(3, 1).stride() == (1, 3)
    assert interlock.ones(3, 4).expand(1, 3, 4).stride() == (12, 4, 1)
    assert interlock.ones(3, 1).expand(2, 3, 4).stride() == (0, 1, 0)


def test_mask_without_dimensions_copies() -> None:
    x = interlock.ones(2, 3)
    for mask in (True, interlock.tensor(True)):
        part = x[mask]
        part.zero_()
        assert part.shape == (1, 2, 3)
        assert x.sum().item() == 6
    assert x[False].shape == (0, 2, 3)
    x[True] = 5.0
    x[False] = 7.0
    assert x.sum().item() == 30


def test_softmax_of_large_logits_is_exact() -> None:
    for dtype in (interlock.float32, interlock.float64):
        for value in (1e3, 1e8, 1e30):
            x = interlock.tensor([value, value], dtype=dtype, requires_grad=True)
            assert x.softmax(0).tolist() == [0.5, 0.5]
            assert x.log_softmax(0).exp().tolist() == pytest.approx([0.5, 0.5])
            loss = interlock.cross_entropy(x.reshape(1, 2), interlock.tensor([0]))
            assert loss.item() == pytest.approx(math.log(2))
            loss.backward()
            assert x.grad is not None
            assert x.grad.tolist() == pytest.approx([-0.5, 0.5])
            x.grad = None
            (x.softmax(0) * interlock.tensor([1.0, 0.0], dtype=dtype)).sum().backward()
            assert x.grad.tolist() == pytest.approx([0.25, -0.25])


def test_sum_with_dtype_bool_returns_a_bool() -> None:
    for values, expected in (([0.5, -0.5], True), ([0.0, 0.0], False), ([1, -1], True)):
        total = interlock.tensor(values).sum(dtype=interlock.bool)
        assert total.dtype is interlock.bool
        assert total.item() is expected


def test_format_of_a_tensor_without_dimensions_is_that_of_its_number() -> None:
    assert f"{interlock.tensor(1.5):.2f}" == "1.50"
    assert f"{interlock.tensor(3):05d}" == "00003"
    assert f"{interlock.tensor(True)}" == "True"
    assert f"{interlock.tensor([1.5])}" == "tensor([1.5000])"
    with pytest.raises(TypeError, match="format_spec"):
        f"{interlock.tensor([1.5]):.2f}"


def test_operators_accept_arrays_on_either_side() -> None:
    x, array = interlock.tensor([1.0, 2.0]), np.array([2.0, 4.0])
    as_tensor = interlock.from_numpy(array)
    pairs = (
        (x + array, x + as_tensor),
        (array + x, as_tensor + x),
        (x - array, x - as_tensor),
        (array - x, as_tensor - x),
        (x * array, x * as_tensor),
        (array * x, as_tensor * x),
        (x / array, x / as_tensor),
        (array / x, as_tensor / x),
        (x**array, x**as_tensor),
        (array**x, as_tensor**x),
        (array @ x.double(), as_tensor @ x.double()),
        (x.double() @ array, x.double() @ as_tensor),
        (x > array, x > as_tensor),
        (array > x, as_tensor > x),
        (array <= x, as_tensor <= x),
        (x == array, x == as_tensor),
        (array != x, as_tensor != x),
    )
    for found, expected in pairs:
        assert isinstance(found, Tensor)
        assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
    with pytest.raises(TypeError, match="other"):
        x.add(array)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="uint16"):
        x + np.ones(2, np.uint16)


def test_in_place_operator_accepts_an_array() -> None:
    x, y = interlock.ones(2), np.ones(2)
    same = x
    x += y
    x *= np.array([2.0, 3.0])
    assert x is same
    assert x.tolist() == [4, 6]
    y += x
    assert isinstance(y, Tensor)


def test_views_without_elements_are_copied_on_devices() -> None:
    assert run_program("tensor.values.views_without_elements_are_copied_on_devices") == Result(0, "", "")


@pytest.mark.parametrize("kind", ["long", "double", "float"])
@pytest.mark.parametrize("threads", [1, 2])
def test_long_matrix_product_ends_on_ctrl_c(kind: str, threads: int) -> None:
    done = run_program("tensor.threads.long_matrix_product_is_interrupted", kind, threads)
    assert done == Result(0, "ended\n", "")


def test_integer_product_of_many_tiles_is_exact() -> None:
    x = interlock.arange(3 * 5 * 700).reshape(3, 5, 700)
    y = interlock.arange(3 * 700 * 600).reshape(3, 600, 700).mT
    found = np.asarray(x @ y)
    assert (found == np.asarray(x) @ np.asarray(y)).all()


INDEX = interlock.tensor([1, 0])
POSITIONS = interlock.tensor([[1, 0]])
# Operations of a transposed matrix of shape [3, 2], with the strides of their results.
WRITES: dict[str, tuple[Callable[[Tensor], Tensor], tuple[int, int]]] = {
    "index_add": (lambda x: x.index_add(0, INDEX, x[:2]), (2, 1)),
    "index_add nothing": (lambda x: x.index_add(0, INDEX[:0], x[:0]), (2, 1)),
    "index_copy": (lambda x: x.index_copy(0, INDEX, x[:2]), (2, 1)),
    "scatter": (lambda x: x.scatter(0, POSITIONS, 1.0), (2, 1)),
    "scatter_add": (lambda x: x.scatter_add(0, POSITIONS, x), (2, 1)),
    "masked_fill": (lambda x: x.masked_fill(x > 0, 1), (2, 1)),
    "masked_scatter": (lambda x: x.masked_scatter(x > 0, x), (2, 1)),
    "index_fill": (lambda x: x.index_fill(0, INDEX, 1), (1, 3)),
    "index_put": (lambda x: x.index_put((INDEX,), interlock.tensor(1.0)), (1, 3)),
    "put": (lambda x: x.put(INDEX, x.flatten()[:2]), (1, 3)),
    "sort": (lambda x: x.sort(0)[0], (1, 3)),
    "indices of sort": (lambda x: x.sort(1)[1], (1, 3)),
    "argsort": (lambda x: x.argsort(0), (1, 3)),
    "topk": (lambda x: x.topk(2, 1)[0], (2, 1)),
    "nonzero": (lambda x: x.nonzero(), (1, 5)),
}


@pytest.mark.parametrize("name", WRITES)
def test_strides_of_indexed_writes_and_sorts_are_those_of_pytorch(name: str) -> None:
    operate, strides = WRITES[name]
    x = interlock.arange(6).float().reshape(2, 3).t()
    result = operate(x)
    assert result.stride() == strides
    assert result.tolist() == operate(x.contiguous()).tolist()


def test_gradient_of_sort_along_transposed_rows() -> None:
    x = interlock.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]], requires_grad=True)
    (x.t().sort(0)[0] * interlock.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[5.0, 1.0, 3.0], [2.0, 6.0, 4.0]]

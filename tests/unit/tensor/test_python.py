"""Tensors as Python objects: conversions, iteration, repr, pickle, wrong types."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor
from interlock._core import tensor as core
from interlock.errors import ShapeError


def test_item_and_conversions_return_a_single_element() -> None:
    assert interlock.tensor([[2.5]]).item() == 2.5
    assert float(interlock.tensor(2)) == 2.0
    assert int(interlock.tensor(-2.7)) == -2
    assert bool(interlock.tensor([0.5])) is True
    assert not interlock.tensor(False)
    assert [10, 20, 30][interlock.tensor(1)] == 20


@pytest.mark.parametrize("tensor", [interlock.zeros(2), interlock.zeros(0)], ids=["two", "none"])
def test_item_refuses_other_numbers_of_elements(tensor: Tensor) -> None:
    conversions: list[Callable[[Tensor], object]] = [bool, float, int, Tensor.item]
    for conversion in conversions:
        with pytest.raises(RuntimeError, match="exactly one"):
            conversion(tensor)
    with pytest.raises(TypeError):
        [0][tensor]
    with pytest.raises(TypeError):
        [0][interlock.tensor(0.0)]
    with pytest.raises(ValueError, match="nan"):
        int(interlock.tensor(float("nan")))
    with pytest.raises(OverflowError):
        int(interlock.tensor(float("inf")))


def test_rows_are_iterated_over() -> None:
    x = interlock.tensor([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert len(x) == 2
    first, second = x
    assert (first.tolist(), second.tolist()) == ([1, 2], [3, 4])
    for operation in (len, iter):
        with pytest.raises(TypeError):
            operation(interlock.tensor(1))


def test_in_compares_with_each_element() -> None:
    x = interlock.tensor([[1.0, 2.0], [3.0, float("nan")]])
    assert 2.0 in x
    assert 4 not in x
    assert float("nan") not in x
    assert 1 in interlock.tensor(True)
    assert 1 not in interlock.zeros(0)
    assert np.float32(3.0) in x
    assert interlock.tensor([0.0, 2.0]) in x, "the operand is broadcast"
    assert 2.0 in x.requires_grad_()


def test_in_refuses_other_types_and_shapes() -> None:
    x = interlock.ones(2)
    for given, name in (("a", "str"), (None, "None"), ([1.0], "list"), (np.ones(1), "ndarray")):
        with pytest.raises(
            RuntimeError, match=f"^__contains__: element must be a Tensor or a number, got {name}$"
        ):
            given in x  # noqa: B015
    with pytest.raises(ShapeError, match=r"shapes \(2,\) and \(3,\) cannot be broadcast"):
        interlock.ones(3) in x  # noqa: B015


def test_reversed_returns_a_tensor_with_the_rows_in_reverse_order() -> None:
    x = interlock.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    result = reversed(x)
    assert result.tolist() == [[3.0, 4.0], [1.0, 2.0]]
    (result[0] * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0, 0.0], [2.0, 2.0]]
    scalar = interlock.tensor(3)
    assert reversed(scalar) is scalar
    assert reversed(interlock.zeros(0)).shape == (0,)


def test_rows_are_results_of_one_node() -> None:
    x = interlock.ones(2, 3, requires_grad=True)
    first, second = x
    assert first.grad_fn is second.grad_fn
    assert first.grad_fn is not None
    assert (first.grad_fn.name(), second.output_nr) == ("UnbindBackward0", 1)
    (first * 2 + second).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[2, 2, 2], [1, 1, 1]]
    with pytest.raises(RuntimeError, match=r"one of several that .* iteration returned"):
        next(iter(x * 1)).mul_(2)


def test_lists_have_the_shape_of_the_tensor() -> None:
    assert interlock.tensor(3).tolist() == 3
    assert interlock.zeros(2, 0).tolist() == [[], []]
    assert interlock.tensor([[True], [False]]).t().tolist() == [[True, False]]


def test_tensors_are_compared_and_hashed_by_identity() -> None:
    x, y = interlock.ones(1), interlock.ones(1)
    assert hash(x) == hash(x)
    assert {x: 1, y: 2}[x] == 1


def test_repr_has_the_format_of_pytorch() -> None:
    assert repr(interlock.tensor([1.0, 2.0])) == "tensor([1., 2.])"
    assert repr(interlock.tensor([[1, -2]])) == "tensor([[ 1, -2]])"
    assert repr(interlock.tensor([1.0], requires_grad=True) * 2) == "tensor([2.], grad_fn=<MulBackward0>)"
    assert repr(interlock.zeros(1, dtype=interlock.float64)) == "tensor([0.], dtype=interlock.float64)"
    assert len(repr(interlock.zeros(1000, 1000))) < 500
    assert str(interlock.float32) == "interlock.float32"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_tensors_and_types_can_be_pickled(protocol: int) -> None:
    for dtype in (interlock.float32, interlock.float64, interlock.int64, interlock.bool):
        x = interlock.tensor([[0, 1, 2], [3, 0, 5]], dtype=dtype).t()
        back = pickle.loads(pickle.dumps(x, protocol))
        assert (back.dtype, back.tolist()) == (dtype, x.tolist())
        assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype
    assert pickle.loads(pickle.dumps(interlock.ones(1, requires_grad=True), protocol)).requires_grad
    twin = copy.deepcopy(x)
    twin.zero_()
    assert x.tolist() != twin.tolist()


def test_conversions_return_the_tensor_itself_if_nothing_changes() -> None:
    x = interlock.ones(2)
    assert x.float() is x.to(interlock.float32) is x.to("cpu") is x
    assert x.to(interlock.zeros(1, dtype=interlock.int64)).dtype == interlock.int64
    assert x.to("cpu", interlock.bool).tolist() == [True, True]
    assert x.long().double().bool().dtype == interlock.bool
    assert x.to(x, copy=True) is not x
    assert interlock.tensor([-1.5, 1e300], dtype=interlock.float64).long().tolist()[0] == -1


ODD: list[Any] = [
    None,
    True,
    -1,
    2**70,
    0.5,
    float("nan"),
    "a",
    b"a",
    [],
    [[1], 2],
    {},
    object(),
    1j,
    slice(1),
    ...,
]
ODD += [interlock.ones(2), interlock.tensor(1), interlock.float32, len]


def entry_points() -> list[Any]:
    functions = [
        value for name, value in vars(core).items() if callable(value) and not isinstance(value, type)
    ]
    methods = [value for name, value in vars(Tensor).items() if callable(value) and name != "__new__"]
    return functions + methods


@pytest.mark.any_build
@pytest.mark.parametrize("entry", entry_points(), ids=lambda entry: entry.__qualname__)
def test_wrong_arguments_raise_ordinary_exceptions(entry: Any) -> None:
    subjects: list[list[Any]] = [[]]
    if entry.__qualname__.startswith("Tensor."):
        subjects = [[interlock.rand(2, 3)], [interlock.tensor([1, 0])], [interlock.zeros(0)]]
    raised: list[BaseException] = []
    threads = interlock.get_num_threads()
    for subject in subjects:
        for odd in ODD:
            for arguments in ([], [odd], [odd, odd], [odd, 0], [0, odd], [odd, odd, odd]):
                for keywords in ({}, {"dim": odd}, {"dtype": odd}, {"alpha": odd}):
                    try:
                        entry(*subject, *arguments, **keywords)
                    except BaseException as error:
                        raised.append(error)
    interlock.set_num_threads(threads)
    interlock.set_printoptions(profile="default")
    interlock.autograd.graph.set_override_stale_capture_stream(False)
    # A Rust panic is no subclass of Exception.
    assert raised
    assert all(isinstance(error, Exception) for error in raised)


def test_every_entry_point_is_documented() -> None:
    for entry in entry_points():
        if not entry.__name__.startswith("_"):
            assert inspect.getdoc(entry), entry


def test_constants_are_those_of_math() -> None:
    assert (interlock.e, interlock.pi, interlock.inf) == (math.e, math.pi, math.inf)
    assert math.isnan(interlock.nan)

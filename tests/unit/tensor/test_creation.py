"""Tensors from numbers, sequences, sizes and ranges."""

from __future__ import annotations

from typing import Any

import interlock
import numpy as np
import pytest
from interlock.errors import ArgumentError


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, interlock.int64, ()),
        (1.5, interlock.float32, ()),
        (True, interlock.bool, ()),
        ([1, 2.5], interlock.float32, (2,)),
        ([True, 2], interlock.int64, (2,)),
        ([[1], [2]], interlock.int64, (2, 1)),
        ((), interlock.float32, (0,)),
        ([[], []], interlock.float32, (2, 0)),
        (np.float64(2), interlock.float64, ()),
        (np.float32(2), interlock.float32, ()),
        (np.int64(2), interlock.int64, ()),
        ([interlock.tensor(1), 2], interlock.int64, (2,)),
    ],
)
def test_tensor_infers_dtype_and_shape_from_the_data(
    data: Any, dtype: interlock.dtype, shape: tuple[int, ...]
) -> None:
    tensor = interlock.tensor(data)
    assert (tensor.dtype, tensor.shape) == (dtype, shape)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([[1], [2, 3]], ValueError),
        ([1, [2]], TypeError),
        ([[1], 2], TypeError),
        (2**70, ValueError),
        ("a", TypeError),
        (["a"], TypeError),
        (b"ab", TypeError),
        ({1: 2}, TypeError),
        (object(), TypeError),
        ([None], RuntimeError),
        (1j, TypeError),
    ],
)
def test_tensor_refuses_ragged_and_non_numeric_data(data: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        interlock.tensor(data)


def test_tensor_refuses_a_list_that_contains_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="deep"):
        interlock.tensor(endless)


def test_tensor_accepts_dtype_and_requires_grad() -> None:
    tensor = interlock.tensor([1, 0], dtype=interlock.float64, requires_grad=True)
    assert tensor.dtype is interlock.float64
    assert tensor.requires_grad
    with pytest.raises(RuntimeError, match="int64"):
        interlock.tensor([1], requires_grad=True)


def test_factories_accept_sizes_as_arguments_or_a_sequence() -> None:
    assert (
        interlock.zeros(2, 3).shape
        == interlock.zeros((2, 3)).shape
        == interlock.zeros([2, 3]).shape
        == (2, 3)
    )
    assert interlock.ones(2, dtype=interlock.bool).tolist() == [True, True]
    assert interlock.full((2,), 7).tolist() == [7, 7]
    assert interlock.empty(0, 4).shape == (0, 4)
    assert interlock.zeros_like(interlock.ones(2, 1)).tolist() == [[0.0], [0.0]]
    assert interlock.ones_like(interlock.zeros(1), dtype=interlock.int64).tolist() == [1]


def test_factories_refuse_invalid_sizes() -> None:
    with pytest.raises(RuntimeError, match="negative"):
        interlock.zeros(-1)
    with pytest.raises(RuntimeError, match="more elements"):
        interlock.zeros(2**62, 2**62)
    with pytest.raises(RuntimeError, match="more elements"):
        interlock.zeros(0, 2**62, 4)
    with pytest.raises(RuntimeError, match="64"):
        interlock.zeros([1] * 65)
    with pytest.raises(TypeError, match="float"):
        interlock.zeros(2.0)  # type: ignore[arg-type]


def test_empty_strided_has_the_strides() -> None:
    x = interlock.empty_strided((2, 3), (1, 4))
    assert (x.shape, x.stride()) == ((2, 3), (1, 4))
    assert x.as_strided((10,), (1,)).shape == (10,), "the memory between the elements is part of it"
    with pytest.raises(RuntimeError, match=r"^empty_strided: stride must have one number for each size"):
        interlock.empty_strided((2,), (1, 1))
    with pytest.raises(RuntimeError, match=r"^empty_strided: shape"):
        interlock.empty_strided((2,), (2**63 - 1,))


def test_arange_excludes_its_end() -> None:
    assert interlock.arange(3).tolist() == [0, 1, 2]
    assert interlock.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert interlock.arange(3, 0, -2).tolist() == [3, 1]
    assert interlock.arange(3.0).dtype == interlock.float32
    for wrong in [(0, 1, 0), (0, 1, -1), (0, float("inf"), 1)]:
        with pytest.raises(RuntimeError, match="arange"):
            interlock.arange(*wrong)


def test_spaced_numbers_include_both_bounds() -> None:
    assert interlock.linspace(0, 1, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert interlock.linspace(2, 1, 1).tolist() == [2.0]
    assert interlock.linspace(0, 10, 4, dtype=interlock.int64).tolist() == [0, 3, 6, 10]
    assert interlock.linspace(-3.5, 3.5, 4, dtype=interlock.int64).tolist() == [-3, -1, 1, 3]
    assert interlock.linspace(0, 1, 0).shape == (0,)
    assert interlock.logspace(-1, 0, 3, dtype=interlock.float64).tolist() == pytest.approx([0.1, 0.1**0.5, 1])


@pytest.mark.parametrize("dtype", [interlock.uint8, interlock.int8, interlock.int64])
def test_logspace_of_integers_truncates_powers(dtype: interlock.dtype) -> None:
    assert interlock.logspace(-1, 0, 3, base=2, dtype=dtype).tolist() == [0, 0, 1]
    assert interlock.logspace(-2, 2, 5, dtype=dtype).tolist() == [0, 0, 1, 10, 100]
    assert interlock.logspace(0.5, 2.9, 3, dtype=dtype).tolist() == [1, 10, 100]


def test_logspace_of_one_number_is_the_power_of_the_start() -> None:
    assert interlock.logspace(0.5, 2, 1, dtype=interlock.int64).tolist() == [3]
    assert interlock.logspace(-300, 2, 1, dtype=interlock.uint8).tolist() == [0]
    for start, dtype in ((2.7, interlock.uint8), (39.0, interlock.float32)):
        with pytest.raises(
            ArgumentError, match=f"logspace: base .* start must be .* that {str(dtype)[10:]} can"
        ):
            interlock.logspace(start, 1, 1, dtype=dtype)


def test_eye_has_ones_on_the_diagonal() -> None:
    assert interlock.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert interlock.eye(3, 2, dtype=interlock.bool).int().tolist() == [[1, 0], [0, 1], [0, 0]]
    assert interlock.eye(0, 3).shape == (0, 3)


def test_manual_seed_makes_random_numbers_repeat() -> None:
    interlock.manual_seed(3)
    first = [interlock.rand(100), interlock.randn(100)]
    interlock.manual_seed(3)
    second = [interlock.rand(100), interlock.randn(100)]
    assert [t.tolist() for t in first] == [t.tolist() for t in second]
    assert first[0].tolist() != interlock.rand(100).tolist()
    with pytest.raises(RuntimeError, match="int64"):
        interlock.rand(1, dtype=interlock.int64)


def test_factories_refuse_a_missing_device() -> None:
    assert str(interlock.zeros(1, device="cpu").device) == "cpu"
    assert interlock.zeros(1).to("cpu").device == interlock.device("cpu")
    with pytest.raises(RuntimeError, match=r"^zeros"):
        interlock.zeros(1, device="meta")
    with pytest.raises(RuntimeError, match="nope"):
        interlock.zeros(1, device="nope")


def test_as_tensor_copies_only_if_necessary() -> None:
    tensor = interlock.ones(2)
    assert interlock.as_tensor(tensor) is tensor
    assert interlock.as_tensor(tensor, dtype=interlock.int64).tolist() == [1, 1]
    array = np.ones(2)
    interlock.as_tensor(array).zero_()
    assert array.tolist() == [0.0, 0.0]


def test_sizes_may_be_passed_by_name() -> None:
    x = interlock.arange(6).view(2, 3)
    functions = (interlock.zeros, interlock.ones, interlock.empty, interlock.rand, interlock.randn)
    methods = (x.new_zeros, x.new_ones, x.new_empty)
    for create in (*functions, *methods):
        assert create(size=(2, 3)).shape == create(size=[2, 3]).shape == (2, 3)
        assert create(size=()).shape == ()
        with pytest.raises(TypeError, match=r": size must be passed once, got \(2,\) and \(3,\)$"):
            create(2, size=(3,))
        with pytest.raises(TypeError, match=r": size must be a tuple or list of ints, got int$"):
            create(size=2)  # type: ignore[arg-type]
    named = [
        (x.view(size=(3, 2)), x.view(3, 2)),
        (x.reshape(shape=[-1]), x.reshape(-1)),
        (x.expand(size=(2, 2, 3)), x.expand(2, 2, 3)),
        (x.permute(dims=(1, 0)), x.permute(1, 0)),
        (x.flip(dims=(0,)), x.flip(0)),
        (x.repeat(repeats=(2, 1)), x.repeat(2, 1)),
        (x.tile(dims=[2]), x.tile(2)),
    ]
    assert all(result.tolist() == expected.tolist() for result, expected in named)
    assert interlock.zeros(size=(2,), dtype=interlock.int64).dtype == interlock.int64


def test_functions_return_attributes_as_the_methods_do() -> None:
    for x in (interlock.zeros(2, 3), interlock.zeros((), dtype=interlock.uint8)):
        assert interlock.numel(x) == x.numel()
        assert interlock.is_floating_point(x) == x.is_floating_point()
        assert interlock.is_signed(x) == x.is_signed()
    leaf = interlock.ones(2, requires_grad=True)
    result = leaf * 2
    assert interlock.detach_(result) is result
    assert result.is_leaf
    with pytest.raises(TypeError, match=r"^numel: input must be a Tensor, got int$"):
        interlock.numel(1)  # type: ignore[arg-type]

"""The integer types of less than 64 bits: uint8, int8, int16 and int32."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor
from interlock.errors import ArgumentError, DTypeError

NARROW = [interlock.uint8, interlock.int8, interlock.int16, interlock.int32]
RANGES = {
    interlock.uint8: (0, 255),
    interlock.int8: (-128, 127),
    interlock.int16: (-(2**15), 2**15 - 1),
    interlock.int32: (-(2**31), 2**31 - 1),
}


def name_of(dtype: interlock.dtype) -> str:
    return str(dtype).rpartition(".")[2]


def wrapped(number: int, dtype: interlock.dtype) -> int:
    """Return the number that a type holds after a conversion."""
    least, greatest = RANGES[dtype]
    return (number - least) % (greatest - least + 1) + least


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_dtype_has_the_attributes_of_its_numpy_type(dtype: interlock.dtype) -> None:
    numpy_type = np.dtype(name_of(dtype))
    assert (dtype.itemsize, dtype.is_signed) == (numpy_type.itemsize, numpy_type.kind == "i")
    assert not dtype.is_floating_point
    tensor = interlock.zeros(3, dtype=dtype)
    assert (tensor.element_size(), tensor.nbytes, tensor.is_signed()) == (
        dtype.itemsize,
        3 * dtype.itemsize,
        dtype.is_signed,
    )
    assert repr(tensor) == f"tensor([0, 0, 0], dtype={dtype})"


def test_short_names_are_the_names_of_pytorch() -> None:
    assert (interlock.short, interlock.int, interlock.long) == (
        interlock.int16,
        interlock.int32,
        interlock.int64,
    )
    assert (interlock.float, interlock.double) == (interlock.float32, interlock.float64)
    x = interlock.tensor([1.5, -1.5])
    assert [x.byte().dtype, x.char().dtype, x.short().dtype, x.int().dtype] == NARROW
    byte = x.byte()
    assert byte.byte() is byte


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("source", [interlock.int64, interlock.int32, interlock.float64, interlock.float32])
def test_conversion_truncates_and_wraps(source: interlock.dtype, dtype: interlock.dtype) -> None:
    numbers = [0, 1, -1, 127, 128, 255, 256, -129, 40000, 70001]
    x = interlock.tensor(numbers).to(source)
    assert x.to(dtype).tolist() == [wrapped(number, dtype) for number in numbers]
    assert interlock.tensor([1.75, -1.75]).to(dtype).tolist() == [1, wrapped(-1, dtype)]


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_conversion_to_wider_types_keeps_the_numbers(dtype: interlock.dtype) -> None:
    numbers = [*RANGES[dtype], 1]
    x = interlock.tensor(numbers, dtype=dtype)
    assert x.long().tolist() == numbers
    assert x.double().tolist() == numbers
    assert x.float().tolist() == [float(np.float32(number)) for number in numbers]
    assert x.bool().tolist() == [number != 0 for number in numbers]
    assert x[2:].half().tolist() == x[2:].bfloat16().tolist() == [1.0]


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_creation_refuses_numbers_out_of_range(dtype: interlock.dtype) -> None:
    least, greatest = RANGES[dtype]
    assert interlock.tensor([least, greatest], dtype=dtype).tolist() == [least, greatest]
    for number in (greatest + 1, -2 * greatest - 2, float("nan"), -(2.0**40)):
        match = f"must be a number that {name_of(dtype)} can hold, got"
        with pytest.raises(ArgumentError, match=match):
            interlock.tensor([number], dtype=dtype)
        with pytest.raises(ArgumentError, match=match):
            interlock.full((1,), number, dtype=dtype)
        with pytest.raises(ArgumentError, match=match):
            interlock.zeros(1, dtype=dtype).fill_(number)
        with pytest.raises(ArgumentError, match=match):
            interlock.zeros(1, dtype=dtype)[0] = number


def test_negative_int_wraps_in_uint8_as_in_pytorch() -> None:
    assert interlock.tensor([-1, -255], dtype=interlock.uint8).tolist() == [255, 1]
    with pytest.raises(ArgumentError, match=r"can hold, got -1\.5"):
        interlock.tensor([-1.5], dtype=interlock.uint8)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_clamp_ignores_limits_beyond_the_range(dtype: interlock.dtype) -> None:
    least, greatest = RANGES[dtype]
    numbers = [least, 1, greatest]
    x = interlock.tensor(numbers, dtype=dtype)
    for below, above in ((least - 1, greatest + 1), (-(2**63), 2**63 - 1)):
        for result in (x.clamp(below, above), x.clamp_min(below), x.clamp_max(above), x.clip(max=above)):
            assert (result.dtype, result.tolist()) == (dtype, numbers)
        assert x.clamp(1, above).tolist() == [1, 1, greatest]
        assert x.clamp(below, interlock.tensor(1, dtype=dtype)).tolist() == [least, 1, 1]
        assert x.clone().clamp_(below, 1).tolist() == [least, 1, 1]
        for limits, name in (((above,), "min"), ((None, below), "max"), ((1, below), "max")):
            with pytest.raises(
                ArgumentError, match=f"clamp: {name} must be a number that {name_of(dtype)} can hold"
            ):
                x.clamp(*limits)
        with pytest.raises(ArgumentError, match="clamp_min_: min must be"):
            x.clamp_min_(above)
    assert x.tolist() == numbers


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize(
    "operation",
    [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, _: -x,
        lambda x, _: x * 300,
        lambda x, _: x + 1000,
        lambda x, _: 5 - x,
        lambda x, _: x**3,
    ],
)
def test_arithmetic_wraps(operation: Callable[[Any, Any], Any], dtype: interlock.dtype) -> None:
    numbers = [100, 127, 0, 3]
    x, y = (interlock.tensor(each, dtype=dtype) for each in (numbers, numbers[::-1]))
    result = operation(x, y)
    expected = [
        wrapped(operation(each, other), dtype) for each, other in zip(numbers, numbers[::-1], strict=True)
    ]
    assert (result.dtype, result.tolist()) == (dtype, expected)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_inplace_arithmetic_wraps_and_keeps_the_type(dtype: interlock.dtype) -> None:
    x = interlock.tensor([100, 3], dtype=dtype)
    x.add_(interlock.tensor([100, 2**20])).mul_(2).sub_(1)
    assert (x.dtype, x.tolist()) == (dtype, [wrapped(399, dtype), wrapped(2**21 + 5, dtype)])
    with pytest.raises(DTypeError):
        x.div_(2)
    with pytest.raises(DTypeError):
        x.add_(1.5)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_quotients_and_functions_are_float32(dtype: interlock.dtype) -> None:
    x = interlock.tensor([1, 2], dtype=dtype)
    assert ((x / 2).dtype, (x / 2).tolist()) == (interlock.float32, [0.5, 1.0])
    assert x.exp().dtype == x.mean(dtype=interlock.float32).dtype == interlock.float32
    with pytest.raises(DTypeError):
        x.mean()
    with pytest.raises(DTypeError):
        x.requires_grad_()


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_sums_are_int64_and_extremes_keep_the_type(dtype: interlock.dtype) -> None:
    greatest = RANGES[dtype][1]
    x = interlock.tensor([[greatest, 1], [greatest, 2]], dtype=dtype)
    assert (x.sum().dtype, x.sum().item()) == (interlock.int64, 2 * greatest + 3)
    assert x.sum(0).tolist() == [2 * greatest, 3]
    assert x.sum(dtype=dtype).item() == wrapped(2 * greatest + 3, dtype)
    assert (x.amax(0).dtype, x.amax(0).tolist()) == (dtype, [greatest, 2])
    assert x.argmin(1).tolist() == [1, 1]


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_matrix_products_wrap(dtype: interlock.dtype) -> None:
    x = interlock.tensor([[100, 2], [3, 4]], dtype=dtype)
    result = x @ x
    assert result.dtype == dtype
    assert result.tolist() == [[wrapped(each, dtype) for each in row] for row in ([10006, 208], [312, 22])]


def test_promotion_takes_the_type_that_holds_both() -> None:
    def common(a: interlock.dtype, b: interlock.dtype) -> interlock.dtype:
        return (interlock.ones(1, dtype=a) + interlock.ones(1, dtype=b)).dtype

    assert common(interlock.uint8, interlock.int8) is interlock.int16
    for narrow, wide in zip([interlock.bool, *NARROW], [*NARROW, interlock.int64], strict=True):
        if (narrow, wide) != (interlock.uint8, interlock.int8):
            assert common(narrow, wide) is wide
    for dtype in NARROW:
        assert common(dtype, interlock.float16) is interlock.float16
        x = interlock.ones(1, dtype=dtype)
        assert (x + 1000).dtype is (x + interlock.tensor(1000)).dtype is dtype
        assert (x + 1.5).dtype is interlock.float32
        assert (x == 1).tolist() == [True]


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_views_indexing_and_joins_move_the_elements(dtype: interlock.dtype) -> None:
    x = interlock.tensor([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    assert x.t().contiguous().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert x[:, 1].tolist() == [2, 5]
    assert x[interlock.tensor([1, 0, 1])].tolist() == [[4, 5, 6], [1, 2, 3], [4, 5, 6]]
    assert x[x > 2].tolist() == [3, 4, 5, 6]
    x[:, interlock.tensor([0, 2])] = interlock.tensor(9, dtype=dtype)
    assert x.tolist() == [[9, 2, 9], [9, 5, 9]]
    x[x == 9] = 7
    joined = interlock.cat([x[0], x[1].to(interlock.int64)])
    assert (joined.dtype, joined.tolist()) == (interlock.int64, [7, 2, 7, 7, 5, 7])
    assert interlock.stack([x[0], x[1]]).dtype is dtype
    assert x.expand(2, 2, 3).clone().tolist() == [x.tolist()] * 2


def test_index_of_int32_selects_and_uint8_is_a_mask() -> None:
    x = interlock.arange(4)
    assert x[interlock.tensor([1, -1], dtype=interlock.int32)].tolist() == [1, 3]
    for dtype in (interlock.int8, interlock.int16, interlock.int32):
        assert x[interlock.tensor(2, dtype=dtype)].item() == 2
    with pytest.warns(UserWarning, match="uint8 is a mask"):
        assert x[interlock.tensor([1, 0, 1, 0], dtype=interlock.uint8)].tolist() == [0, 2]
    for dtype in (interlock.int8, interlock.int16):
        with pytest.raises(IndexError, match="must be int64, int32 or bool"):
            x[interlock.tensor([1], dtype=dtype)]


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_numpy_shares_memory_both_ways(dtype: interlock.dtype) -> None:
    x = interlock.tensor([1, 2], dtype=dtype)
    array = x.numpy()
    assert array.dtype == name_of(dtype)
    array[0] = 7
    other = interlock.from_numpy(array)
    other[1] = 9
    assert (other.dtype, x.tolist()) == (dtype, [7, 9])
    view = memoryview(x)  # type: ignore[arg-type]
    assert (view.itemsize, view.tolist()) == (dtype.itemsize, [7, 9])


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_dlpack_shares_memory_both_ways(dtype: interlock.dtype) -> None:
    x = interlock.tensor([1, 2], dtype=dtype)
    array: Any = np.from_dlpack(x)  # type: ignore[arg-type]
    other = interlock.from_dlpack(array)
    other[0] = 5
    assert (array.dtype, other.dtype, x.tolist()) == (name_of(dtype), dtype, [5, 2])


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_pickle_keeps_elements_and_types(dtype: interlock.dtype) -> None:
    numbers = [*RANGES[dtype], 3]
    copy = pickle.loads(pickle.dumps(interlock.tensor(numbers, dtype=dtype)))
    assert (copy.dtype, copy.tolist()) == (dtype, numbers)
    assert pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_numpy_numbers_determine_the_type(dtype: interlock.dtype) -> None:
    number = np.dtype(name_of(dtype)).type(3)
    assert interlock.tensor(number).dtype is interlock.tensor([number]).dtype is dtype
    assert interlock.tensor([number, 3]).dtype is interlock.int64


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_ranges_wrap_in_narrow_types(dtype: interlock.dtype) -> None:
    assert interlock.arange(0, 400, 100, dtype=dtype).tolist() == [
        wrapped(each, dtype) for each in (0, 100, 200, 300)
    ]


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_devices_and_copies_keep_the_elements(dtype: interlock.dtype, everywhere: str) -> None:
    x = interlock.tensor([RANGES[dtype][1], 1], dtype=dtype, device="cpu").to(everywhere)
    assert x.cpu().tolist() == [RANGES[dtype][1], 1]
    floats = interlock.zeros(2)
    floats.copy_(x)
    assert floats.tolist() == [float(np.float32(RANGES[dtype][1])), 1.0]
    x.copy_(interlock.tensor([2.5, -1.5]))
    assert x.tolist() == [2, wrapped(-1, dtype)]


def test_wide_tensor_is_an_operand_of_a_narrow_one() -> None:
    x: Tensor = interlock.tensor([1, 2], dtype=interlock.int32)
    assert (x.add(interlock.tensor([1, 2**40]), alpha=2).tolist()) == [3, 2 + 2**41]
    with pytest.raises(ArgumentError, match="alpha must be a number that int32 can hold"):
        x.add(x, alpha=2**40)

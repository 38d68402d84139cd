"""Conversions of many elements, which take other loops than those of a few."""

from __future__ import annotations

import itertools

import interlock
import pytest
from interlock import Tensor

FLOATS = (interlock.float32, interlock.float64, interlock.float16, interlock.bfloat16)
HALVES = (interlock.float16, interlock.bfloat16)
DTYPES = (
    *FLOATS,
    interlock.int64,
    interlock.int32,
    interlock.int16,
    interlock.int8,
    interlock.uint8,
    interlock.bool,
)
# Elements within the range of int16, and one that the conversion to integers wraps, saturates or replaces.
MANY = 1300
BEYOND = (2.0**31, -(2.0**31) - 1024, 3e10, float("inf"), float("-inf"), float("nan"))


def bits(tensor: Tensor) -> list[object]:
    """Return the elements, NaN as text."""
    return [repr(value) for value in tensor.tolist()]


def numbers(dtype: interlock.dtype, beyond: float | None) -> Tensor:
    """Return elements of a type, of which one in the second block of a loop is given."""
    values = [(index % 251 - 125) * 0.75 for index in range(MANY)]
    if beyond is not None:
        values[700] = beyond
    return interlock.tensor(values, dtype=interlock.float64).to(dtype)


@pytest.mark.parametrize("beyond", [None, *BEYOND])
@pytest.mark.parametrize(("source", "target"), [*itertools.permutations(DTYPES, 2)], ids=str)
def test_conversion_of_many_elements_is_that_of_each(
    source: interlock.dtype, target: interlock.dtype, beyond: float | None
) -> None:
    elements = numbers(source, beyond)
    expected = [value for element in elements[690:710] for value in bits(element.reshape(1).to(target))]
    assert bits(elements.to(target)[690:710]) == expected
    spread = elements.reshape(-1, 1).expand(MANY, 2).contiguous()[:, 1]
    assert bits(spread.to(target)) == bits(elements.to(target))


@pytest.mark.parametrize("beyond", [None, *BEYOND])
@pytest.mark.parametrize("source", HALVES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_halves_are_converted_by_way_of_float32(
    source: interlock.dtype, target: interlock.dtype, beyond: float | None
) -> None:
    elements = numbers(source, beyond)
    assert bits(elements.to(target)) == bits(elements.float().to(target))
    others = numbers(target, beyond)
    assert bits(others.to(source)) == bits(others.float().to(source))


@pytest.mark.parametrize(
    "target", [interlock.int32, interlock.int16, interlock.int8, interlock.uint8], ids=str
)
def test_floats_are_truncated_and_wrapped(target: interlock.dtype) -> None:
    elements = numbers(interlock.float32, 3e10)
    truncated = [int(value) for value in elements.tolist()]
    assert elements.to(target).tolist() == interlock.tensor(truncated).to(target).tolist()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_copy_of_halves_keeps_the_bits_of_nan(dtype: interlock.dtype) -> None:
    bits_of_halves = interlock.full((MANY,), 0x7F81, dtype=interlock.int16)
    halves = bits_of_halves.view(dtype)
    assert halves.isnan().all()
    assert halves.clone().view(interlock.int16).equal(bits_of_halves)
    assert halves.reshape(-1, 2).t().contiguous().t().reshape(-1).view(interlock.int16).equal(bits_of_halves)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fill_writes_each_element(dtype: interlock.dtype) -> None:
    filled = interlock.zeros(3, MANY, dtype=dtype)
    filled[1].fill_(1)
    assert filled.double().sum(1).tolist() == [0.0, float(MANY), 0.0]
    filled[:, ::2].fill_(1)
    assert filled.double().sum(1).tolist() == [MANY / 2, float(MANY), MANY / 2]

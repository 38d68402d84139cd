"""The limits and the promotion of dtypes, with NumPy as the oracle."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import interlock
import numpy as np
import pytest

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")


@pytest.mark.parametrize("name", FLOATS)
def test_limits_of_floats_are_those_of_numpy(name: str) -> None:
    info = interlock.finfo(getattr(interlock, name))
    # Only ml_dtypes has bfloat16. It has no release for Python 3.15.
    ml_dtypes = pytest.importorskip("ml_dtypes") if name == "bfloat16" else None
    expected: Any = ml_dtypes.finfo(name) if ml_dtypes else np.finfo(name)
    for attribute in ("bits", "max", "min", "eps", "tiny", "smallest_normal", "resolution"):
        # NumPy rounds the resolution to the dtype.
        assert getattr(info, attribute) == pytest.approx(float(getattr(expected, attribute)), rel=1e-3)
    assert (info.max, info.eps) == (float(expected.max), float(expected.eps))
    assert info.dtype == name


@pytest.mark.parametrize("name", INTEGERS)
def test_limits_of_integers_are_those_of_numpy(name: str) -> None:
    info, expected = interlock.iinfo(getattr(interlock, name)), np.iinfo(name)
    assert (info.bits, info.min, info.max, info.dtype) == (expected.bits, expected.min, expected.max, name)


def test_limits_show_six_digits() -> None:
    assert repr(interlock.finfo()) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)"
    )
    assert repr(interlock.iinfo(interlock.int64)) == "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)"


def test_limits_are_equal_for_one_dtype_and_can_be_copied() -> None:
    for info, other in (
        (interlock.finfo(interlock.float16), interlock.finfo(interlock.float64)),
        (interlock.iinfo(interlock.int8), interlock.iinfo(interlock.uint8)),
    ):
        assert info != other
        for same in (
            type(info)(getattr(interlock, info.dtype)),
            pickle.loads(pickle.dumps(info)),
            copy.copy(info),
        ):
            assert same == info
            assert hash(same) == hash(info)


def test_limits_of_another_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^finfo: type must be a floating-point dtype, got interlock.int32$"):
        interlock.finfo(interlock.int32)
    for dtype in (interlock.float32, interlock.bool):
        with pytest.raises(TypeError, match=rf"^iinfo: type must be an integer dtype, got {dtype!r}$"):
            interlock.iinfo(dtype)
    with pytest.raises(TypeError, match=r"^finfo: type must be interlock.float16, .* got str$"):
        interlock.finfo("float32")  # type: ignore[arg-type]


def test_promotion_of_dtypes() -> None:
    assert interlock.promote_types(interlock.uint8, interlock.int8) is interlock.int16
    assert interlock.promote_types(type1=interlock.float16, type2=interlock.bfloat16) is interlock.float32
    assert interlock.get_default_dtype() is interlock.float32
    assert interlock.can_cast(from_=interlock.int64, to=interlock.uint8)
    assert interlock.can_cast(interlock.bool, interlock.int8)
    assert not interlock.can_cast(interlock.float32, interlock.int64)
    assert not interlock.can_cast(interlock.int32, interlock.bool)


def test_result_type_is_that_of_the_sum() -> None:
    operands: list[Any] = [
        2,
        1.5,
        True,
        *(
            interlock.ones(shape, dtype=dtype)
            for shape in ((), (2,))
            for dtype in (interlock.int8, interlock.int64, interlock.float16, interlock.float64)
        ),
    ]
    for left in operands:
        for right in operands:
            found = interlock.result_type(left, right)
            if isinstance(left, interlock.Tensor) or isinstance(right, interlock.Tensor):
                assert found is (left + right).dtype
    assert interlock.result_type(1, 1.5) is interlock.float32
    assert interlock.result_type(True, 2) is interlock.int64


def test_attributes_of_the_number_of_elements_and_the_device() -> None:
    x = interlock.ones(2, 3)
    assert x.nelement() == 6
    assert x.is_cuda is False

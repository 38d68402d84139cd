"""Padding with a number, with NumPy as the oracle."""

from __future__ import annotations

from typing import Any

import interlock
import numpy as np
import pytest
from interlock.errors import ArgumentError, ShapeError
from interlock.nn import functional

from . import gradcheck

pytestmark = pytest.mark.usefixtures("everywhere")

ARRAY = np.random.default_rng(6).standard_normal((2, 3, 4))


def padded(array: Any, pad: tuple[int, ...], value: float) -> Any:
    """Return an array with a number around the elements, or without some of them."""
    pairs = list(zip(pad[::2], pad[1::2], strict=True)) + [(0, 0)] * (array.ndim - len(pad) // 2)
    pairs.reverse()
    kept = tuple(
        slice(max(-before, 0), size - max(-after, 0))
        for (before, after), size in zip(pairs, array.shape, strict=True)
    )
    wider = [(max(before, 0), max(after, 0)) for before, after in pairs]
    return np.pad(array[kept], wider, constant_values=value)


@pytest.mark.parametrize(
    "pad",
    [(), (1, 2), (0, 0, 1, 0), (-1, 2), (2, -4, 0, 1), (-2, -2), (1, 1, -1, -1, 1, -2), (-1, -1, -1, -1)],
)
def test_pad_matches_numpy(pad: tuple[int, ...]) -> None:
    x = interlock.tensor(ARRAY)
    for source, array in ((x, ARRAY), (x.transpose(0, 1), ARRAY.transpose(1, 0, 2))):
        found = functional.pad(source, pad, "constant", 1.5)
        np.testing.assert_array_equal(found.cpu().numpy(), padded(array, pad, 1.5))
        assert found.is_contiguous()
        assert found.data_ptr() != source.data_ptr() or found.numel() == 0
    np.testing.assert_array_equal(functional.pad(x, list(pad)).cpu().numpy(), padded(ARRAY, pad, 0))
    gradcheck.check(lambda x: functional.pad(x, pad, value=2.0), ARRAY)


def test_value_is_converted_to_the_dtype() -> None:
    ints, bools = interlock.tensor([1, 2]), interlock.tensor([False])
    assert functional.pad(ints, (1, 1), value=1.5).tolist() == [1, 1, 2, 1]
    assert functional.pad(bools, (1, 0), value=2).tolist() == [True, False]
    assert functional.pad(ints, (1, 0), value=interlock.tensor(3)).tolist() == [3, 1, 2]
    assert functional.pad(interlock.tensor(5.0), ()).item() == 5
    with pytest.raises(ArgumentError, match=r"^pad: "):
        functional.pad(ints.byte(), (1, 1), value=300)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "other"])
def test_other_modes_are_refused(mode: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"^pad: mode must be 'constant', got '{mode}'$"):
        functional.pad(interlock.ones(1, 2, 3), (1, 1), mode)


@pytest.mark.parametrize(
    ("pad", "problem"),
    [
        ((1,), "have two numbers for each dimension"),
        ((1, 1, 1, 1, 1, 1), "have at most two numbers for each of 2 dimensions"),
        ((-2, -2), "remove no more elements than the shape (2, 3) has"),
        ((5, -4), "remove no more elements than the shape (2, 3) has"),
        ((-(2**63), 0), "remove no more elements than the shape (2, 3) has"),
    ],
)
def test_wrong_sizes_are_named(pad: tuple[int, ...], problem: str) -> None:
    with pytest.raises(ArgumentError) as error:
        functional.pad(interlock.ones(2, 3), pad)
    assert str(error.value) == f"pad: pad must {problem}, got {pad}"
    with pytest.raises(ShapeError):
        functional.pad(interlock.ones(2), (2**63 - 1, 2**63 - 1))

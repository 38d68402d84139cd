"""How tensors are printed: `set_printoptions`. The texts are PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator

import interlock
import pytest


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    interlock.set_printoptions(profile="default")


def test_precision_sets_the_digits() -> None:
    interlock.set_printoptions(precision=2)
    assert repr(interlock.tensor([1.12345, 10.0])) == "tensor([ 1.12, 10.00])"
    interlock.set_printoptions(precision=0)
    assert repr(interlock.tensor([1e-6, 1.5])) == "tensor([1e-06, 2e+00])"
    interlock.set_printoptions(precision=1000)
    assert len(repr(interlock.tensor([0.5]))) == len("tensor([0.])") + 1000


@pytest.mark.parametrize(
    ("edgeitems", "text"),
    [
        (2, "tensor([0, 1,  ..., 8, 9])"),
        (1, "tensor([0,  ..., 9])"),
        (0, "tensor([...], size=(10,))"),
        (5, "tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])"),
        (2**62, "tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])"),
    ],
)
def test_threshold_and_edgeitems_set_the_summary(edgeitems: int, text: str) -> None:
    interlock.set_printoptions(threshold=9, edgeitems=edgeitems)
    assert repr(interlock.arange(10)) == text


def test_edgeitems_apply_to_each_dimension() -> None:
    interlock.set_printoptions(threshold=5, edgeitems=1)
    x = interlock.arange(12).reshape(3, 4)
    assert repr(x) == "tensor([[ 0,  ...,  3],\n        ...,\n        [ 8,  ..., 11]])"
    interlock.set_printoptions(edgeitems=0)
    assert repr(x) == "tensor([...], size=(3, 4))"


@pytest.mark.parametrize("threshold", [float("inf"), 2**62, 12])
def test_large_threshold_means_no_summary(threshold: float) -> None:
    interlock.set_printoptions(threshold=threshold)
    assert "..." not in repr(interlock.arange(12))


def test_linewidth_sets_the_length_of_lines() -> None:
    interlock.set_printoptions(linewidth=16)
    assert repr(interlock.arange(6)) == "tensor([0, 1, 2,\n        3, 4, 5])"
    line = interlock.arange(6.0).reshape(2, 3).requires_grad_()
    interlock.set_printoptions(linewidth=42)
    assert "\n       requires_grad=True)" in repr(line)
    interlock.set_printoptions(linewidth=43)
    assert ", requires_grad=True)" in repr(line)
    interlock.set_printoptions(linewidth=0)
    assert repr(interlock.arange(2)) == "tensor([0,\n        1])"


@pytest.mark.parametrize(
    ("sci_mode", "text"),
    [
        (True, "tensor([1.0000e+00, 2.5000e+00])"),
        (False, "tensor([1.0000, 2.5000])"),
        (None, "tensor([1.0000, 2.5000])"),
    ],
)
def test_sci_mode_sets_the_notation(sci_mode: bool | None, text: str) -> None:
    interlock.set_printoptions(sci_mode=sci_mode)
    assert repr(interlock.tensor([1.0, 2.5])) == text


def test_sci_mode_applies_to_whole_and_to_large_numbers() -> None:
    interlock.set_printoptions(sci_mode=False)
    assert repr(interlock.tensor([1e10, 1.0])) == "tensor([10000000000.,           1.])"
    interlock.set_printoptions(sci_mode=True)
    assert repr(interlock.tensor([1.0, 0.0])) == "tensor([1.0000e+00, 0.0000e+00])"
    assert repr(interlock.tensor([0.0])) == "tensor([0.])"
    assert repr(interlock.tensor([1])) == "tensor([1])"
    # None is a value of this option, so it is unset by each call.
    interlock.set_printoptions(precision=4)
    assert repr(interlock.tensor([1.0])) == "tensor([1.])"


def test_profiles_set_all_options_but_sci_mode() -> None:
    interlock.set_printoptions(precision=1, threshold=1, edgeitems=1, linewidth=10)
    interlock.set_printoptions(profile="short", linewidth=200)
    assert repr(interlock.tensor([0.125])) == "tensor([0.12])"
    assert repr(interlock.arange(2000)) == "tensor([   0,    1,  ..., 1998, 1999])"
    interlock.set_printoptions(profile="full")
    assert "..." not in repr(interlock.arange(2000))
    interlock.set_printoptions(profile="default")
    assert repr(interlock.arange(2000)) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"


def test_wrong_options_change_nothing() -> None:
    with pytest.raises(TypeError, match="sci_mode must be a bool"):
        interlock.set_printoptions(precision=1, sci_mode=3)  # type: ignore[arg-type]
    assert repr(interlock.tensor([0.125])) == "tensor([0.1250])"


@pytest.mark.parametrize(
    ("data", "dtype", "text"),
    [
        ([1.0, 2.0], interlock.float32, "tensor([1., 2.])"),
        ([-1.5, 10.25], interlock.float32, "tensor([-1.5000, 10.2500])"),
        ([1e-6, 2e-6], interlock.float32, "tensor([1.0000e-06, 2.0000e-06])"),
        ([0.5, 600.0], interlock.float32, "tensor([5.0000e-01, 6.0000e+02])"),
        ([float("inf"), 1.0, float("nan")], interlock.float32, "tensor([inf, 1., nan])"),
        (0.5, interlock.float64, "tensor(0.5000, dtype=interlock.float64)"),
        ([1, 1], interlock.int8, "tensor([1, 1], dtype=interlock.int8)"),
        ([True, False], interlock.bool, "tensor([ True, False])"),
        ([[], []], interlock.int64, "tensor([], size=(2, 0), dtype=interlock.int64)"),
    ],
)
def test_notation_is_the_shortest_that_suffices(data: object, dtype: interlock.dtype, text: str) -> None:
    assert str(interlock.tensor(data, dtype=dtype)) == text  # type: ignore[arg-type]

"""The comparison of the differential fuzzer detects a wrong element and tolerates rounding."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz.intentional_differences import intentional_reason
from tests.fuzz.programs import Step, array_of, result_of, run_step
from tests.fuzz.tolerances import CLASSES, TOLERANCES, difference

NAN, INF = float("nan"), float("inf")


def compared(
    name: str, got: list[float], want: list[float], scale: float = 1.0, dtype: str = "float32"
) -> str | None:
    return difference(name, np.array(got, dtype), np.array(want, dtype), scale)


@pytest.mark.parametrize("name", ["add", "exp", "sum", "gradients", "transpose"])
def test_equal_elements_agree_whatever_the_operation(name: str) -> None:
    assert compared(name, [1.0, NAN, INF, -INF, 0.0], [1.0, NAN, INF, -INF, 0.0]) is None


@pytest.mark.parametrize(("got", "want"), [(NAN, 1.0), (1.0, NAN), (INF, -INF), (INF, 3e38), (1.001, 1.0)])
@pytest.mark.parametrize("name", ["add", "exp", "sum", "transpose"])
def test_wrong_element_is_seen(name: str, got: float, want: float) -> None:
    assert compared(name, [2.0, got], [2.0, want]) is not None


def test_rounding_is_tolerated_only_in_operations_that_round() -> None:
    got, want = [1.0000001], [1.0]
    assert compared("add", got, want) is None
    assert compared("clone", got, want) is not None


def test_sum_may_be_off_by_the_scale_of_its_operands() -> None:
    assert compared("sum", [1e-4], [0.0], scale=1000.0) is None
    assert compared("sum", [1e-4], [0.0], scale=1.0) is not None


def test_integers_and_shapes_must_be_equal() -> None:
    assert compared("sum", [3], [3], dtype="int64") is None
    assert compared("sum", [3], [4], dtype="int64") is not None
    assert compared("sum", [3], [3, 3], dtype="int64") is not None


def test_every_class_of_operations_has_tolerances_for_its_dtypes() -> None:
    assert set(CLASSES.values()) <= set(TOLERANCES)
    for name, row in TOLERANCES.items():
        halves = set() if name in ("gradient", "second") else {"float16", "bfloat16"}
        assert set(row) == {"float32", "float64"} | halves


def test_halves_may_be_off_by_units_in_their_last_place() -> None:
    got, want = np.array([1.0 + 2**-10], np.float32), np.array([1.0], np.float32)
    assert difference("add", got, want, 0.0, "float16") is None
    assert difference("clone", got, want, 0.0, "float16") is not None
    assert difference("add", got, want, 0.0) is not None
    largest, beyond = np.array([65504.0], np.float32), np.array([np.inf], np.float32)
    assert difference("add", largest, beyond, 0.0, "float16") is None
    assert difference("add", largest, -beyond, 0.0, "float16") is not None
    assert difference("add", largest / 2, beyond, 0.0, "float16") is not None
    assert difference("clone", largest, beyond, 0.0, "float16") is not None


def test_intentional_differences_match_both_sides_and_the_operation() -> None:
    overlap = "RuntimeError: elements of the tensor refer to a single memory location."
    assert intentional_reason("add_", "no error", overlap) is not None
    assert intentional_reason("add_", overlap, "no error") is None
    assert intentional_reason("softmax", "ShapeError: x", "no error") is None


def test_results_round_trip_through_json_exactly() -> None:
    import interlock

    (made,) = run_step(interlock, Step("leaf", [[0.1, NAN, -0.0], {"dtype": "float32"}, True, "cpu"]), [])
    result = result_of(made)
    assert result is not None
    assert array_of(result).tobytes() == np.array([0.1, NAN, -0.0], "float32").tobytes()
    assert (result.shape, result.requires_grad, result.is_leaf) == ([3], True, True)


def test_overflowing_products_may_be_any_non_finite_number() -> None:
    got, want = np.array([-np.inf, 1.0], np.float32), np.array([np.nan, 1.0], np.float32)
    assert difference("matmul", got, want, 1e60) is None
    assert difference("matmul", got, want, 1e30) is not None
    assert difference("add", got, want, 1e60) is not None
    assert difference("matmul", got[::-1], want, 1e60) is not None

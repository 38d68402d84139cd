"""Products of float16 and bfloat16 matrices on devices are summed as the flags of `cuda.matmul` say."""

from __future__ import annotations

import math
from typing import Any

import interlock
import pytest
from interlock import backends, dispatch
from interlock.backends.cuda import matmul

pytestmark = pytest.mark.usefixtures("host_accessible_memory")

FP16_REDUCTION = "cuda.matmul.allow_fp16_reduced_precision_reduction"
BF16_REDUCTION = "cuda.matmul.allow_bf16_reduced_precision_reduction"
FP16_ACCUMULATION = "cuda.matmul.allow_fp16_accumulation"


def total(terms: list[float], dtype: interlock.dtype, device: str) -> float:
    """Return the sum of the terms as a product with ones computes it."""
    ones = interlock.ones(len(terms), dtype=dtype, device=device)
    return (interlock.tensor(terms, dtype=dtype, device=device) @ ones).item()


# Each half of the terms sums to 71,680, beyond the largest float16, 65,504.
OPPOSITE = [70.0] * 1024 + [-70.0] * 1024


@pytest.mark.parametrize(
    ("flags", "expected", "sums"),
    [
        ({FP16_REDUCTION: (False, True)}, 0.0, "float32"),
        ({}, math.nan, "float16 halves"),
        ({FP16_ACCUMULATION: True}, math.inf, "float16"),
    ],
)
def test_sum_that_overflows_float16_shows_where_it_is_rounded(
    flags: dict[str, Any], expected: float, sums: str, devices: tuple[str, ...]
) -> None:
    with backends.override(flags), dispatch.record() as calls:
        result = total(OPPOSITE, interlock.float16, devices[0])
    assert repr(result) == repr(expected)
    assert calls[0].sums == sums
    assert (f", sums {sums}" in str(calls[0])) == (sums != "float32")


def test_halves_of_bfloat16_sums_are_rounded_to_bfloat16(devices: tuple[str, ...]) -> None:
    terms = [1.0] * 257 + [0.0] * 767 + [-1.0] * 256 + [0.0] * 768
    assert total(terms, interlock.bfloat16, devices[0]) == 0.0
    with backends.override({BF16_REDUCTION: False}):
        assert total(terms, interlock.bfloat16, devices[0]) == 1.0


def test_flags_of_one_type_do_not_act_on_the_other(devices: tuple[str, ...]) -> None:
    terms = [1.0] * 257 + [0.0] * 767 + [-1.0] * 256 + [0.0] * 768
    with backends.override({FP16_REDUCTION: False, FP16_ACCUMULATION: True}):
        assert total(terms, interlock.bfloat16, devices[0]) == 0.0
    with backends.override({BF16_REDUCTION: False}):
        assert math.isnan(total(OPPOSITE, interlock.float16, devices[0]))


@pytest.mark.parametrize(
    ("rows", "depth", "sums"), [(1, 1023, "float32"), (128, 1024, "float16 halves"), (129, 1024, "float32")]
)
def test_only_long_sums_of_small_results_are_split(
    rows: int, depth: int, sums: str, devices: tuple[str, ...]
) -> None:
    left = interlock.ones(rows, depth, dtype=interlock.float16, device=devices[0])
    right = interlock.ones(depth, 128, dtype=interlock.float16, device=devices[0])
    assert dispatch.explain("matmul", left, right).sums == sums


def test_cpu_sums_in_float32_whatever_the_flags() -> None:
    with backends.override({FP16_ACCUMULATION: True}):
        assert total(OPPOSITE, interlock.float16, "cpu") == 0.0


def test_split_sums_that_are_forbidden_need_cublaslt(devices: tuple[str, ...]) -> None:
    x = interlock.ones(2, 2, dtype=interlock.float16, device=devices[0])
    with backends.override({FP16_REDUCTION: (False, False)}):
        with pytest.raises(RuntimeError) as caught:
            x @ x
        assert str(caught.value) == (
            "matmul: backends.cuda.matmul.allow_fp16_reduced_precision_reduction must allow split sums on"
            " cuBLAS, got (False, False);"
            " set it to (False, True), or backends.cuda.blas_library to 'cublaslt'"
        )
        with pytest.raises(RuntimeError, match=r"^addmm: backends\.cuda\.matmul"):
            x.addmm(x, x)
        brain = x.bfloat16()
        assert (brain @ brain).tolist() == [[2.0, 2.0], [2.0, 2.0]]
        with backends.override({"cuda.blas_library": "cublaslt"}):
            assert (x @ x).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert (x @ x).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_reduced_sums_without_splits_are_refused_at_assignment() -> None:
    with pytest.raises(ValueError, match="allow_fp16_reduced_precision_reduction"):
        matmul.allow_fp16_reduced_precision_reduction = (True, False)


def test_captured_product_sums_as_the_flags_said_when_it_was_captured(devices: tuple[str, ...]) -> None:
    terms = interlock.tensor(OPPOSITE, dtype=interlock.float16, device=devices[0])
    ones = interlock.ones(2048, dtype=interlock.float16, device=devices[0])
    graph = interlock.accelerator.Graph()
    with backends.override({FP16_REDUCTION: False}), interlock.Stream(devices[0]), graph:
        out = terms @ ones
    graph.replay()
    assert out.item() == 0.0

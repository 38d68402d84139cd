"""Fourier transforms by MKL."""

from __future__ import annotations

from pathlib import Path

import pytest
from interlock.backends import mkl

from tests.hardware.vendor.programs import output
from tests.helpers.subprocess import eval_program


def test_transforms_by_mkl_are_those_of_interlock(tmp_path: Path) -> None:
    by_mkl = eval_program("tensor.fft_by_mkl.results")
    assert set(by_mkl["kernels"]) == {"mkl"}
    own = eval_program("tensor.fft_by_mkl.results", env={"INTERLOCK_MKL_PATH": str(tmp_path / "absent")})
    assert set(own["kernels"]) == {"native"}
    for transformed, expected in zip(by_mkl["results"], own["results"], strict=True):
        assert transformed == pytest.approx(expected, abs=1e-6)


def test_forked_child_transforms_after_its_parent() -> None:
    assert eval_program("tensor.fft_by_mkl.forked") == 0


def test_mkl_reports_a_transform_inside_of_the_scope() -> None:
    lines = output("calls.verbose_around_transforms", mkl.VERBOSE_ON)
    inside = lines[lines.index("inside") + 1 : lines.index("after")]
    assert [line for line in inside if line.startswith("MKL_VERBOSE") and "FFT" in line]
    outside = lines[: lines.index("inside")] + lines[lines.index("after") :]
    assert not [line for line in outside if "FFT" in line]

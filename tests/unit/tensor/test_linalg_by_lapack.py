"""Linear algebra by a fake of a library with LAPACK, and by the OpenBLAS of numpy."""

from __future__ import annotations

from pathlib import Path

import pytest
from interlock.backends import libraries

from tests.helpers import fake_libraries
from tests.helpers.subprocess import eval_program

WITHOUT = {"INTERLOCK_MKL_PATH": "/absent", "INTERLOCK_OPENBLAS_PATH": "/absent"}
FAILURES = {
    "cholesky": 1,
    "cholesky of nan": 2,
    "lu": 2,
    "eigenvalues are nan": True,
    "empty": [[], []],
}


def assert_results(env: dict[str, str], kernel: str) -> None:
    """Assert that a kernel computes every factorization, and finds what interlock's own kernels find."""
    found = eval_program("tensor.linalg_by_lapack.results", env=env)
    own = eval_program("tensor.linalg_by_lapack.results", env=WITHOUT)
    assert (found["kernels"], own["kernels"]) == ([kernel], ["native"])
    for result, expected in zip(found["results"], own["results"], strict=True):
        assert result == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_openblas_of_numpy_finds_the_results_of_interlock() -> None:
    if libraries.find("openblas").path is None:
        pytest.skip("numpy is not built with OpenBLAS")
    env = {"INTERLOCK_MKL_PATH": "/absent"}
    if eval_program("tensor.linalg_by_lapack.reasons", env=env)["kernel"] != "openblas":
        pytest.skip("this OpenBLAS is not used")
    assert_results(env, "openblas")
    assert eval_program("tensor.linalg_by_lapack.failures", env=env) == FAILURES
    assert eval_program("tensor.linalg_by_lapack.forked", env=env) == 0
    assert eval_program("tensor.linalg_by_lapack.on_threads", env=env) == [True] * 4


def test_own_kernels_report_failures() -> None:
    assert eval_program("tensor.linalg_by_lapack.failures", env=WITHOUT) == FAILURES
    assert eval_program("tensor.linalg_by_lapack.on_threads", env=WITHOUT) == [True] * 4

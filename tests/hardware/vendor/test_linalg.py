"""Linear algebra by the LAPACK of MKL and of OpenBLAS."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.subprocess import eval_program


@pytest.mark.parametrize("kernel", ["mkl", "openblas"])
def test_lapack_finds_the_results_of_interlock(kernel: str, tmp_path: Path) -> None:
    absent = {f"INTERLOCK_{name}_PATH": str(tmp_path / "absent") for name in ("MKL", "OPENBLAS")}
    env = {name: path for name, path in absent.items() if kernel.upper() not in name}
    found = eval_program("tensor.linalg_by_lapack.results", env=env)
    own = eval_program("tensor.linalg_by_lapack.results", env=absent)
    assert (found["kernels"], own["kernels"]) == ([kernel], ["native"])
    for result, expected in zip(found["results"], own["results"], strict=True):
        assert result == pytest.approx(expected, rel=1e-6, abs=1e-9)
    failures = eval_program("tensor.linalg_by_lapack.failures", env=env)
    assert failures == eval_program("tensor.linalg_by_lapack.failures", env=absent)
    assert eval_program("tensor.linalg_by_lapack.forked", env=env) == 0
    assert eval_program("tensor.linalg_by_lapack.on_threads", env=env) == [True] * 4

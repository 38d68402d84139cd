"""Thread pools and budgets with the packages themselves: `make test-integrations`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.torch_python import eval_with_torch, skip_without

pytestmark = pytest.mark.skipif("config.getoption('--torch') == 'fake'", reason="needs --torch=PYTHON")


def run(name: str, folder: Path, *packages: str) -> Any:
    """Return the result of a program; skip the test if the interpreter of `--torch` lacks a package."""
    skip_without(folder, "threadpoolctl", *packages)
    return eval_with_torch(f"threads.packages.{name}", folder)


def test_limits_sets_the_pools_of_packages_and_puts_them_back(tmp_path: Path) -> None:
    found = run("limit_packages", tmp_path, "numpy")
    assert found["after"] == found["before"]
    inside = {name: size for name, (size, extent) in found["inside"].items() if extent != "start"}
    assert set(inside.values()) == {1}
    # PyTorch's OpenMP runtime, which lies in its package.
    assert "openmp.torch" in inside
    assert {"torch", "interlock", "openblas.numpy"} <= set(inside)


def test_third_size_and_the_one_write_of_interop_threads_of_torch_stay(tmp_path: Path) -> None:
    found = run("sizes_of_torch", tmp_path)
    assert found == {"left": [3, 3], "accepted": [[], []], "refused": ["torch.interop"], "size": 4}


def test_numexpr_refuses_more_threads_than_its_maximum(tmp_path: Path) -> None:
    most, refused = run("refusal_of_numexpr", tmp_path, "numexpr")
    reason = f"numexpr accepts at most {most} threads: NUMEXPR_MAX_THREADS, which it reads at its import"
    assert refused == [["numexpr", reason]]


def test_session_of_onnxruntime_starts_with_the_limit(tmp_path: Path) -> None:
    # The thread that runs the session is one of them.
    assert run("threads_of_a_session", tmp_path, "onnxruntime") == [0, 2]


def test_budget_of_a_worker_of_joblib_is_the_share_that_joblib_gives_it(tmp_path: Path) -> None:
    for cpus, reasons in run("budgets_of_joblib", tmp_path, "joblib"):
        assert reasons == [f"joblib: OMP_NUM_THREADS={cpus}, which joblib set for its worker"]


def test_budget_of_a_task_of_ray_is_its_cpus(tmp_path: Path) -> None:
    found = run("budgets_of_ray", tmp_path, "ray")
    assert found["task"] == [1, ["Ray: a task or actor with 1 CPU"]]
    assert found["task of 2"][1] == ["Ray: a task or actor with 2 CPUs"]
    assert found["actor"] == [1, ["Ray: an actor without CPUs: 1 CPU"]]
    assert found["driver"][1] == []

"""Workers of each engine get the state of the driver: when they join late, restart, die, lack interlock.

The table of docs/processes.md has a row for each outcome. Engines that are not installed for `make test` run
in `make test-integrations`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import cluster_python, fake_clusters, torch_python
from tests.helpers.cluster_python import WITHOUT_INTERLOCK, eval_with_clusters
from tests.helpers.subprocess import eval_program
from tests.helpers.torch_python import eval_with_torch

pytestmark = pytest.mark.slow
NEEDS_CLUSTERS = pytest.mark.skipif(
    "config.getoption('--clusters') == 'fake'", reason="needs --clusters=PYTHON"
)
NEEDS_TORCH = pytest.mark.skipif("config.getoption('--torch') == 'fake'", reason="needs --torch=PYTHON")

OWN_FLAG = ["cudnn.deterministic", False, "the worker's own environment has INTERLOCK_CUDNN_DETERMINISTIC=0"]
OWN_THREADS = ["threads", "2", "the worker's own environment has OMP_NUM_THREADS=2"]
NEWER = [["cudnn.of_the_future", None, "there is no flag backends.cudnn.of_the_future"]]
UNKNOWN = {"schedule": {"kind": "cosine"}}
LACKING = [["interlock", None, "No module named 'interlock'"]]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path: Ray's sockets are in it."""
    path = Path(tempfile.mkdtemp(prefix="il"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def without_pools(rows: list[list[Any]]) -> list[list[Any]]:
    """Return differences with the size of interlock's pool alone, whatever else is loaded."""
    return [[name, "2" if name == "threads" else found, reason] for name, found, reason in rows]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_outcomes_of_concurrent_futures(method: str) -> None:
    found = eval_program("processes.engines.executor", method, options=["-W", "ignore"], seconds=120)
    # An executor that forks starts all workers at once.
    assert found["joins late"] == [1, []]
    assert found["a new executor"] == []
    assert (found["dies"], found["asked after its death"]) == ("BrokenProcessPool", ["worker", None])
    # Workers that inherit the executor's process cannot be replaced after each task.
    assert found.get("restarts") == (None if method == "fork" else [3, []])
    assert (found["another version"], found["unknown parts"]) == (NEWER, UNKNOWN)
    assert found["own environment"] == own_environment(method)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_outcomes_of_a_multiprocessing_pool(method: str) -> None:
    found = eval_program("processes.engines.pool", method, options=["-W", "ignore"], seconds=120)
    assert found["running"] == found["dies"] == found["restarts"] == []
    assert (found["another version"], found["unknown parts"]) == (NEWER, UNKNOWN)
    assert found["own environment"] == own_environment(method)


def own_environment(method: str) -> list[list[Any]]:
    """Return the differences of local workers after the driver has changed its environment."""
    # A forked worker has the driver's flags, and the server of forkserver the environment of its start.
    return {"fork": [OWN_THREADS], "spawn": [OWN_FLAG, OWN_THREADS], "forkserver": []}[method]


def test_outcomes_of_dask(folder: Path) -> None:
    found = eval_with_clusters("processes.dask_state.outcomes", folder, WITHOUT_INTERLOCK)
    variables = ["cudnn.conv.fp32_precision", "cudnn.deterministic", "environ.NCCL_DEBUG"]
    assert found["without a plugin"][:3] == variables
    assert found["running"] == found["joins late"] == found["restarts"] == found["dies"] == []
    assert found["early variables"] == ["INFO"]
    assert (found["lacks interlock"], found["lives"]) == (LACKING, 3)
    assert without_pools(found["own environment"]) == [OWN_FLAG, OWN_THREADS]
    assert (found["another version"], found["unknown parts"]) == (NEWER * 2, [UNKNOWN] * 2)
    assert found["a later state"] == []


def test_setting_of_a_context_does_not_reach_tasks_of_dask(tmp_path: Path) -> None:
    folders = {"DASK_CONFIG": str(tmp_path), "DASK_TEMPORARY_DIRECTORY": str(tmp_path)}
    found = eval_program("processes.dask_state.setting_of_a_context", env=folders, seconds=120)
    drift, in_task, refusal = found
    reason = "it belongs to a context, and was set on another thread"
    assert drift == [["numpy.errstate.divide", "warn", reason]]
    assert in_task == "warn"
    assert refusal == (
        "dask: settings must be those of the process, got numpy.errstate.divide, which belongs to a context: "
        "tasks run on threads of a pool, so set it in the tasks"
    )


@NEEDS_CLUSTERS
def test_outcomes_of_joblib(folder: Path) -> None:
    found = eval_with_clusters("processes.engines.joblib", folder, WITHOUT_INTERLOCK)
    assert found["without the state"]
    assert found["running"] == found["joins late"] == found["after its death"] == found["restarts"] == []
    assert found["dies"] == "TerminatedWorkerError"
    assert (found["lacks interlock"], found["lives"]) == (LACKING, 3)
    assert found["another version"] == NEWER
    # joblib itself sets OMP_NUM_THREADS of its workers, to the number in the state.
    assert found["own environment"] == [OWN_FLAG]


@NEEDS_CLUSTERS
def test_outcomes_of_ray(folder: Path) -> None:
    found = eval_with_clusters("processes.engines.ray", folder, str(folder / "ray"), WITHOUT_INTERLOCK)
    assert found["running"] == found["joins late"] == found["dies"] == []
    assert found["restarts"] == [[], True]
    assert found["own environment"] == [OWN_FLAG, OWN_THREADS]
    assert found["lacks interlock"] == ["No module named 'interlock'", "INFO"]
    assert (found["another version"], found["unknown parts"]) == (NEWER, UNKNOWN)
    assert found["grandchild"] == "True\n"


@NEEDS_CLUSTERS
def test_verify_reports_workers_of_ray_that_lack_interlock(folder: Path) -> None:
    arguments = str(folder / "ray"), WITHOUT_INTERLOCK
    assert eval_with_clusters("processes.engines.ray_lacking", folder, *arguments) == LACKING


@NEEDS_CLUSTERS
@pytest.mark.skipif(not cluster_python.has_java(), reason="Spark needs Java")
def test_outcomes_of_spark(folder: Path) -> None:
    found = eval_with_clusters("processes.engines.spark", folder, WITHOUT_INTERLOCK)
    assert (found["running"], found["result"]) == ([], 12)
    assert found["dies"] == found["joins late"] == [True, []]
    assert found["another version"] == NEWER
    assert without_pools(found["own environment"]) == [OWN_FLAG, OWN_THREADS]
    assert (found["lacks interlock"], found["lives"]) == (LACKING, 6)


@NEEDS_CLUSTERS
def test_engines_have_the_attributes_of_the_fakes(folder: Path) -> None:
    names = fake_clusters.attributes()
    found = eval_with_clusters("processes.engines.missing_attributes", folder, names)
    assert found == {fake: [] for fake in names}
    assert names["Nanny"] == ["env", "pre_spawn_env"]


@NEEDS_TORCH
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_outcomes_of_dataloader(method: str, tmp_path: Path) -> None:
    assert torch_python.is_real()
    found = eval_with_torch("processes.engines.dataloader", tmp_path, method)
    assert (found["running"], found["restarts"], found["dies"]) == ([], [[], 4], True)
    assert found["another version"] == NEWER
    assert without_pools(found["own environment"]) == own_environment(method)


@NEEDS_TORCH
def test_outcomes_of_torchrun(tmp_path: Path) -> None:
    found = eval_with_torch("processes.engines.torchrun", tmp_path)
    attempts = ["0", "1"]
    assert found == {
        "restarts": [attempts, []],
        "own environment": [attempts, [OWN_FLAG]],
        "another version": [attempts, NEWER],
    }

"""Budgets in worker processes, and in a process with one CPU."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from interlock import threads

XDIST_TEST = """
import os

from interlock import threads


def test_worker():
    with open("found-" + os.environ["PYTEST_XDIST_WORKER"], "a") as file:
        file.write(str(threads.budget().reasons[-1]))
"""


def budget_of_one_cpu():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found = threads.budget(workers=1)
    return [int(found), found.reasons[0].input]


def look_at_dask():
    found = threads.budget()
    return {"cpus": int(found), "reasons": [str(each) for each in found.reasons if each.input == "Dask"]}


def budgets_of_dask():
    os.environ["DASK_TEMPORARY_DIRECTORY"] = tempfile.mkdtemp()
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return {
            "task": client.submit(look_at_dask, pure=False).result(timeout=60),
            # Outside of a task.
            "workers": list(client.run(look_at_dask).values()),
            "client": look_at_dask(),
        }


def budgets_of_xdist():
    folder = Path(tempfile.mkdtemp())
    (folder / "test_xdist.py").write_text(XDIST_TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "each", "test_xdist.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stdout + done.stderr
    return [path.read_text() for path in sorted(folder.glob("found-*"))]

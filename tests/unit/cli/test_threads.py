"""`python -m interlock threads`: the budget, the thread pools and what exceeds the budget."""

from __future__ import annotations

import json

from tests.helpers.subprocess import run_python
from tests.unit.cli.command import document, sections, text

NEUTRAL = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "")
NEUTRAL |= dict.fromkeys(("PYTEST_XDIST_WORKER_COUNT", "LOCAL_WORLD_SIZE"), "1")


def test_threads_prints_the_budget_and_the_pools_of_imported_modules() -> None:
    found = sections(text("threads", "--import", "numpy", **NEUTRAL | {"LOCAL_WORLD_SIZE": "999"}))
    assert found["Budget"][0] == ["CPUs", "1"]
    assert found["Budget"][-1] == ["LOCAL_WORLD_SIZE", "999 ranks of torchrun on this machine"]
    header, *rows = found["Thread pools"]
    assert header == ["pool", "threads", "extent", "set by", "library", "file"]
    (openblas,) = [row for row in rows if row[0] == "openblas.numpy"]
    assert openblas[2:4] == ["process", "default"]
    assert [row[0] for row in rows if row[0] == "interlock"] == ["interlock"]


def test_threads_prints_pools_that_exceed_the_budget() -> None:
    more = NEUTRAL | {"OMP_NUM_THREADS": "5000", "LOCAL_WORLD_SIZE": "999"}
    last = text("threads", **more).splitlines()[-1]
    assert last == (
        "  more threads than 1 CPU may run with 1 caller: interlock 5000 (size 5000); use limits(1)"
    )


def test_threads_prints_json() -> None:
    found = document("threads", **NEUTRAL)
    assert list(found) == ["format", "budget", "pools", "problem"]
    assert found["budget"]["reasons"][0]["input"] == "affinity"
    assert found["budget"]["cpus"] >= 1
    assert [pool["name"] for pool in found["pools"]] == ["interlock"]
    assert found["problem"] is None


def test_threads_without_threadpoolctl_prints_the_budget_and_the_extra() -> None:
    done = run_python(
        """
        import sys
        sys.modules["threadpoolctl"] = None
        from interlock._cli.main import main
        sys.exit(main(["threads", "--json"]))
        """
    )
    assert done.code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["pools"] == []
    assert found["problem"].endswith("is not installed: pip install 'threadpoolctl>=3.8'")
    assert found["budget"]["cpus"] >= 1

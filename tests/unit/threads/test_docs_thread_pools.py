"""The command of docs/thread_pools.md prints what the page shows, which names the variables of pools."""

from __future__ import annotations

import re
from pathlib import Path

from interlock.settings._environ import ONNXRUNTIME, RAYON

from tests.helpers.subprocess import eval_program
from tests.unit.cli.command import sections, text

FILE = Path(__file__).parents[3] / "docs" / "thread_pools.md"
PAGE = FILE.read_text()
((COMMAND, PRINTED),) = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
# Control groups of the machine add reasons, and sizes depend on it.
NAMES = {"CPUs", "affinity", "LOCAL_WORLD_SIZE", "pool", "openblas.numpy", "interlock"}


def test_command_of_the_page_has_the_structure_of_new_output() -> None:
    variable, arguments = COMMAND.split(" python -m interlock ")
    name, value = variable.split("=")
    neutral = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTEST_XDIST_WORKER_COUNT"), "")
    fresh = sections(text(*arguments.split(), **neutral | {name: value}))
    captured = sections(PRINTED)
    assert list(fresh) == list(captured)
    for title, rows in captured.items():
        names = [row[0] for row in fresh[title]]
        assert [row[0] for row in rows if row[0] in NAMES] == [each for each in names if each in NAMES]
    assert fresh["Thread pools"][0] == captured["Thread pools"][0]
    notes = [row[-1] for row in captured["Thread pools"] if len(row) == 7]
    assert notes == [row[-1] for row in fresh["Thread pools"] if row[0] in NAMES and len(row) == 7]


def test_recipe_for_xdist_limits_the_pool_of_numpy() -> None:
    size, budget = eval_program(
        "threads.limits.run_recipe_of_xdist", str(FILE), env={"PYTEST_XDIST_WORKER_COUNT": "9"}
    )
    assert size == budget == 1


def test_page_names_the_variables_of_pools_that_start_with_one() -> None:
    assert {f"`{name}`" for name in (ONNXRUNTIME, RAYON)} <= set(re.findall("`[A-Z_]+`", PAGE))

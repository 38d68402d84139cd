"""Runs programs with Dask, Ray, joblib and Spark in another interpreter.

`make test-integrations` passes `--clusters=PYTHON` for an interpreter with the packages.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import interlock

from tests.helpers import run_options
from tests.helpers.subprocess import Result, program, run_command

WITHOUT_INTERLOCK = {"PYTHONPATH": str(Path(__file__).parent / "without_interlock")}
"""The variables of a worker that lacks interlock."""
# Ray starts six processes, Spark a Java machine for each context.
SECONDS = 400.0


def is_real() -> bool:
    """Return whether an interpreter with the engines was given."""
    return run_options.CLUSTERS != "fake"


def has_java() -> bool:
    """Return whether Spark can start."""
    return shutil.which("java") is not None


def eval_with_clusters(name: str, folder: Path, *arguments: object) -> Any:
    """Return the result of a function of `tests/programs`, which must end with status 0.

    Args:
        name: The function with its module.
        folder: A folder for a link to the installed interlock, and for the files of the engines.
        arguments: The arguments, as JSON.

    """
    done = run_with_clusters(folder, "-P", *program(name, *arguments))
    assert done.code == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_with_clusters(folder: Path, *arguments: str) -> Result:
    """Run an interpreter with the engines; without `--clusters` the present one, which has Dask."""
    python = run_options.CLUSTERS if is_real() else sys.executable
    python = run_options.CLUSTERS if is_real() else sys.executable
    variables = {
        "DASK_CONFIG": str(folder),
        "DASK_TEMPORARY_DIRECTORY": str(folder),
        # Ray writes a token into the home folder otherwise.
        "RAY_AUTH_MODE": "disabled",
        "HOME": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": python,
    }
    if is_real():
        link = folder / "interlock"
        if not link.exists():
            link.symlink_to(Path(interlock.__file__).parent)
        variables["PYTHONPATH"] = str(folder)
    # The warnings of workers are expected, and engines deprecate functions of each other.
    return run_command([python, "-W", "ignore", *arguments], env=variables, seconds=SECONDS)

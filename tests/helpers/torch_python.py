"""Runs programs with PyTorch: a fake of its interface, or the one of another interpreter.

`make test-integrations` passes `--torch=PYTHON` for an interpreter with PyTorch.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import interlock
import pytest

from tests.helpers import run_options
from tests.helpers.subprocess import Result, eval_program, program, run_command

FAKE = Path(__file__).parent / "fake_torch"
# The import of PyTorch takes seconds on a busy machine, and its compiler takes a minute.
SECONDS = 600.0


def is_real() -> bool:
    """Return whether programs run with PyTorch itself."""
    return run_options.TORCH != "fake"


def interpreter(folder: Path) -> tuple[str, dict[str, str]]:
    """Return an interpreter that imports interlock and PyTorch or its fake, and the variables for it.

    Args:
        folder: A folder for a link to the installed interlock, where the interpreter of `--torch` finds it.

    """
    if not is_real():
        return sys.executable, {"PYTHONPATH": str(FAKE)}
    link = folder / "interlock"
    if not link.exists():
        link.symlink_to(Path(interlock.__file__).parent)
    return run_options.TORCH, {"PYTHONPATH": str(folder)}


def run_with_torch(
    folder: Path, *arguments: str, options: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> Result:
    """Run an interpreter with PyTorch; warnings at the import of PyTorch without NumPy are ignored."""
    python, variables = interpreter(folder)
    ignored = ["-W", "ignore:Failed to initialize NumPy:UserWarning"]
    command = [python, *ignored, *options, *arguments]
    return run_command(command, env=variables | dict(env or {}), seconds=SECONDS)


def skip_without(folder: Path, *packages: str) -> None:
    """Skip the test if the interpreter lacks one of the packages."""
    python, variables = interpreter(folder)
    for package in packages:
        if run_command([python, "-c", f"import {package}"], env=variables, seconds=120).code != 0:
            pytest.skip(f"the interpreter of --torch has no {package}")


def eval_with_torch(name: str, folder: Path, *arguments: object) -> Any:
    """Return the result of a function of `tests/programs`, which must end with status 0."""
    done = run_with_torch(folder, *program(name, *arguments), options=["-P"])
    assert done.code == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def eval_with_fake(name: str, *arguments: object) -> Any:
    """Return the result of a function of `tests/programs` with the fake."""
    return eval_program(name, *arguments, env={"PYTHONPATH": str(FAKE)})

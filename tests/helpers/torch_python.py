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

from tests.helpers import run_options
from tests.helpers.subprocess import PROGRAMS, Result, run_command

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


def eval_with_torch(name: str, folder: Path, *arguments: object) -> Any:
    """Return the JSON in the last line that a file of `tests/programs` prints; it must end with 0."""
    done = run_with_torch(folder, str(PROGRAMS / name), *map(json.dumps, arguments))
    assert done.code == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def eval_with_fake(name: str) -> Any:
    """Return what a program prints with the fake."""
    done = run_command([sys.executable, str(PROGRAMS / name)], env={"PYTHONPATH": str(FAKE)})
    assert done.code == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])

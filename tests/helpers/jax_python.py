"""Runs programs with JAX and NumPy: a fake of JAX and this NumPy, or those of another interpreter.

`make test-integrations` passes `--jax=PYTHON` for interpreters with several versions of both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import interlock

from tests.helpers import run_options
from tests.helpers.subprocess import Result, eval_program, program, run_command

FAKE = Path(__file__).parent / "fake_jax"
# The import of JAX takes seconds on a busy machine.
SECONDS = 300.0


def is_real() -> bool:
    """Return whether programs run with JAX itself."""
    return run_options.JAX != "fake"


def run_with_jax(
    folder: Path, *arguments: str, options: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> Result:
    """Run an interpreter that imports interlock, NumPy and JAX or its fake.

    Args:
        folder: A folder for a link to the installed interlock, where the interpreter of `--jax` finds it.
        arguments: What the interpreter runs.
        options: Options of the interpreter.
        env: Further environment variables.

    """
    python, path = sys.executable, FAKE
    if is_real():
        python, path = run_options.JAX, folder
        link = folder / "interlock"
        if not link.exists():
            link.symlink_to(Path(interlock.__file__).parent)
    variables = {"PYTHONPATH": str(path)} | dict(env or {})
    return run_command([python, *options, *arguments], env=variables, seconds=SECONDS)


def eval_with_jax(name: str, folder: Path, *arguments: object, env: Mapping[str, str] | None = None) -> Any:
    """Return the result of a function of `tests/programs`, which must end with status 0."""
    done = run_with_jax(folder, *program(name, *arguments), options=["-P"], env=env)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def eval_with_fake(name: str, *arguments: object) -> Any:
    """Return the result of a function of `tests/programs` with the fake."""
    return eval_program(name, *arguments, env={"PYTHONPATH": str(FAKE)})

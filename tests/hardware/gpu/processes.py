"""Programs of tests/programs/gpu in processes of their own, which use NVIDIA's driver.

Those that import `kernels_setup` have used a device and find kernels of ours; the others have not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.subprocess import Result, eval_program, run_program

ROOT = str(Path(__file__).resolve().parents[3])
# The helpers are not installed; the package is, and ROOT has none.
ENVIRONMENT = {"INTERLOCK_ACCELERATOR": "cuda", "PYTHONPATH": ROOT}


def run(name: str, *arguments: object) -> Result:
    """Run a program with these arguments."""
    return run_program(f"gpu/{name}.py", *arguments, env=ENVIRONMENT)


def value(name: str, *arguments: object, more: Mapping[str, str] | None = None) -> Any:
    """Return the JSON in the last line that a program prints; `more` is of its environment."""
    return eval_program(f"gpu/{name}.py", *arguments, env=ENVIRONMENT | dict(more or {}))

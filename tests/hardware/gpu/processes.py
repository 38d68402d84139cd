"""Runs programs of tests/programs/gpu in child processes that use NVIDIA's driver.

Those of `kernels` start with a device in use and with the test kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.subprocess import Result, eval_program, run_program

ROOT = str(Path(__file__).resolve().parents[3])
# The programs import the helpers from ROOT, and the package from where it is installed.
ENVIRONMENT = {"INTERLOCK_ACCELERATOR": "cuda", "PYTHONPATH": ROOT}


def run(name: str, *arguments: object) -> Result:
    """Run a program with these arguments."""
    return run_program(f"gpu.{name}", *arguments, env=ENVIRONMENT)


def value(name: str, *arguments: object, more: Mapping[str, str] | None = None) -> Any:
    """Return the JSON in the last line that a program prints; `more` extends its environment."""
    return eval_program(f"gpu.{name}", *arguments, env=ENVIRONMENT | dict(more or {}))

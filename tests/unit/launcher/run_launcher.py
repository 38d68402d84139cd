"""Runs the launcher in a process of its own, on programs of tests/programs or written where they run."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.subprocess import PROGRAMS, Result, run_command

LAUNCHER = [sys.executable, "-P", "-m", "interlock.backends.xeon.run_cpu"]
# Set in the environment of the tests, they would be taken for those of an outer launcher.
NEUTRAL = {"LOCAL_RANK": "", "LOCAL_WORLD_SIZE": "", "LD_PRELOAD": ""}
# Writes where it runs into a file with a name of its own.
TELL = str(PROGRAMS / "launcher" / "write_where_an_instance_runs.py")


def allowed() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def script(folder: Path, code: str, name: str = "program.py") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code))
    return str(path)


def launch(*arguments: str, env: Mapping[str, str] | None = None) -> Result:
    return run_command([*LAUNCHER, *arguments], env=NEUTRAL | dict(env or {}))


def reported(folder: Path) -> list[dict[str, object]]:
    """What the instances of TELL have written, by their cores."""
    read = [json.loads(path.read_text()) for path in folder.glob("[0-9]*.json")]
    return sorted(read, key=lambda about: list(about["cores"]))

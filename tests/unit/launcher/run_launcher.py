"""Runs the launcher in a child process with programs of tests/programs or of the test."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.subprocess import PROGRAMS, Result, run_command

LAUNCHER = [sys.executable, "-P", "-m", "interlock.backends.xeon.run_cpu"]
# In the environment of the tests they would look like those of an outer launcher.
NEUTRAL = {"LOCAL_RANK": "", "LOCAL_WORLD_SIZE": "", "LD_PRELOAD": ""}
# Writes its cores and threads into a new file.
WRITE_PLACE = str(PROGRAMS / "launcher" / "write_where_an_instance_runs.py")


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
    """Return the files that the instances of `WRITE_PLACE` wrote, ordered by cores."""
    read = [json.loads(path.read_text()) for path in folder.glob("[0-9]*.json")]
    return sorted(read, key=lambda about: list(about["cores"]))

"""What is known to keep a plan from running, before anything is started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from interlock.backends.xeon._plan import Plan

__all__ = ["NOT_FOUND", "NOT_RUN", "Obstacle", "obstacles"]

# What a shell answers for a program that is not there, and for one that it can't run.
NOT_FOUND = 127
NOT_RUN = 126


@dataclass(frozen=True)
class Obstacle:
    """Why no instance can run, and the exit code for it."""

    message: str
    code: int


def obstacles(plan: Plan, environment: Mapping[str, str]) -> tuple[Obstacle, ...]:
    """Return what would keep this plan from running here."""
    folders = {os.path.dirname(instance.log): None for instance in plan.instances if instance.log is not None}
    return (*_of_program(plan, environment), *(wrong for folder in folders for wrong in _of_logs(folder)))


def _of_program(plan: Plan, environment: Mapping[str, str]) -> Iterator[Obstacle]:
    """Python and numactl would be started, and say so in words and with codes of their own."""
    exists = os.path.exists(plan.program)
    if plan.runs_python_file:
        if not exists:
            yield Obstacle(f"there is no program {plan.program!r}", NOT_FOUND)
    elif plan.runs_program and shutil.which(plan.program, path=environment.get("PATH")) is None:
        if exists and "/" in plan.program:
            yield Obstacle(f"{plan.program!r} is not executable", NOT_RUN)
        else:
            yield Obstacle(f"there is no program {plan.program!r}", NOT_FOUND)


def _of_logs(folder: str) -> Iterator[Obstacle]:
    """Look at the folder, or where it does not exist at the one in which it would be made."""
    path = Path(folder).absolute()
    there = next((each for each in (path, *path.parents) if os.path.lexists(each)), path)
    named = "it" if there == path else repr(str(there))
    if not os.path.isdir(there):
        yield Obstacle(f"the log folder {folder!r} can't be used: {named} is not a folder", NOT_RUN)
    elif not os.access(there, os.W_OK | os.X_OK):
        yield Obstacle(f"the log folder {folder!r} can't be used: {named} may not be written to", NOT_RUN)

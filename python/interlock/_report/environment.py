"""The variables of the environment that interlock reads, where they are set."""

from __future__ import annotations

import os
from dataclasses import dataclass

from interlock._core import backends as _native
from interlock.accelerator import memory
from interlock.errors import ArgumentError


@dataclass(frozen=True)
class Variable:
    """A variable that is set, and why it is ignored where it is."""

    name: str
    value: str
    problem: str | None


def environment() -> tuple[Variable, ...]:
    """Return the variables that interlock reads, and those that look as if it did, where they are set."""
    problems = dict(_native.environment_problems())
    read = set(_native.environment_variables())
    own = {row["name"] for row in _native.table()}
    registered = [row for row in _native.table(registered=True) if row["name"] not in own]
    for row in registered:
        read.update(row["variables"])
    for library in {row["name"].partition(".")[0] for row in registered}:
        problems.update(_native.misspelt_variables(library))
    problem_of_allocator = _problem_of_allocator()
    for name in read:
        if problem_of_allocator is not None and name in problem_of_allocator:
            problems[name] = problem_of_allocator
    return tuple(
        Variable(name, os.environ[name], problems.get(name))
        for name in sorted(read | {*problems})
        if name in os.environ
    )


def _problem_of_allocator() -> str | None:
    """Return why the allocator's configuration is not understood, which names the variable."""
    try:
        memory.get_config()
    except ArgumentError as error:
        return str(error)
    return None

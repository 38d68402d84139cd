"""Runs programs of tests/programs/vendor."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from tests.helpers.subprocess import eval_program, run_program


def answer(code: str, env: Mapping[str, str] | None = None) -> Any:
    """Run code in a child process and return the value of its name `result`."""
    return answer_of("libraries.run", textwrap.dedent(code), env=env)


def answer_of(name: str, *arguments: object, env: Mapping[str, str] | None = None) -> Any:
    """Return the JSON in the last line that a program prints."""
    return eval_program(f"vendor.{name}", *arguments, env=env)


def output(name: str, *arguments: object, env: Mapping[str, str] | None = None) -> list[str]:
    """Run a program and return the lines that it and libraries print."""
    done = run_program(f"vendor.{name}", *arguments, env=env)
    assert done.code == 0, done.stderr
    return done.stdout.splitlines()

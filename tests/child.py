"""Run Python code in a process of its own, for state that can't be put back and for the environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 60.0


class Result(NamedTuple):
    """What a finished process left behind."""

    code: int
    stdout: str
    stderr: str


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what would change a flag, and with `changes`."""
    own = ("INTERLOCK_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return kept | dict(changes or {})


def command(
    arguments: Sequence[str], *, env: Mapping[str, str] | None = None, seconds: float = SECONDS
) -> Result:
    """Run a command in an empty folder; one that does not end in time fails the test."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                list(arguments),
                cwd=folder,
                env=environment(env),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as late:
            raise AssertionError(
                f"no end after {seconds} s: {arguments}\n{late.stdout!r}\n{late.stderr!r}"
            ) from None
    return Result(done.returncode, done.stdout, done.stderr)


def run(
    code: str,
    *,
    env: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    seconds: float = SECONDS,
) -> Result:
    """Run `code` in a new interpreter that sees the installed package, not the source tree."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "child_script.py"
        script.write_text(textwrap.dedent(code))
        return command([sys.executable, "-P", *options, str(script)], env=env, seconds=seconds)


def value(
    code: str,
    *,
    env: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    seconds: float = SECONDS,
) -> Any:
    """What `code` leaves in the name `answer`, which travels as JSON; the child must end well."""
    ending = "\nimport json as _json\nprint('\\n' + _json.dumps(answer))\n"
    done = run(textwrap.dedent(code) + ending, env=env, options=options, seconds=seconds)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])

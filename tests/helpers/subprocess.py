"""Run Python code and programs in child processes, for irreversible state and environment variables."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from interlock._features import HAS_TENSORS, NO_TENSORS

NEEDS_TENSORS = "needs the tensor runtime"
PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
TIMEOUT_SECONDS = 60.0
# Where CI sets one of these, pytest shortens no line of its report.
SHOWN_WHOLE_BY_PYTEST = ("CI", "BUILD_NUMBER")
# The timeout for reading the output of a killed process.
SECONDS_TO_READ = 5.0


class Result(NamedTuple):
    """The exit status and output of a finished process."""

    code: int
    stdout: str
    stderr: str


def child_environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without variables that affect flags, and with `changes`."""
    own = ("INTERLOCK_", "PYTORCH_", "TORCH_", "CUBLAS", "NVIDIA_", "ATEN_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    # `make test-sanitized` sets it.
    if "PYTHONMALLOC" in os.environ:
        kept["PYTHONMALLOC"] = os.environ["PYTHONMALLOC"]
    return kept | dict(changes or {})


def run_command(
    arguments: Sequence[str], *, env: Mapping[str, str] | None = None, seconds: float = TIMEOUT_SECONDS
) -> Result:
    """Run a command in an empty folder; fail the test if it does not exit in time.

    In a build without the tensor runtime, skip the test if the command reports that it needs the runtime.
    Processes that it started are waited for, too, as long as they have its output open.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            list(arguments),
            cwd=folder,
            env=child_environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            try:
                stdout, stderr = process.communicate(timeout=SECONDS_TO_READ)
            except subprocess.TimeoutExpired:
                stdout, stderr = "", "(a process of another session has its output open)"
            raise AssertionError(f"no end after {seconds} s: {arguments}\n{stdout}\n{stderr}") from None
    if not HAS_TENSORS and NO_TENSORS in stderr:
        pytest.skip(NEEDS_TENSORS)
    return Result(process.returncode, stdout, stderr)


def run_python(
    code: str,
    *,
    env: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    seconds: float = TIMEOUT_SECONDS,
) -> Result:
    """Run `code` in a new interpreter that sees the installed package, not the source tree."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "child_script.py"
        script.write_text(textwrap.dedent(code))
        return run_command([sys.executable, "-P", *options, str(script)], env=env, seconds=seconds)


def eval_python(
    code: str,
    *,
    env: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    seconds: float = TIMEOUT_SECONDS,
) -> Any:
    """Return the value of the name `result` after `code`, as JSON. The code must end with status 0."""
    ending = "\nimport json as _json\nprint('\\n' + _json.dumps(result))\n"
    return _last_line(run_python(textwrap.dedent(code) + ending, env=env, options=options, seconds=seconds))


def program(name: str, *arguments: object) -> list[str]:
    """Return the arguments with which an interpreter runs a function of `tests/programs`.

    Its name includes its module: "accelerator.fork.child_may_choose_another_driver".
    The function gets each argument as JSON.
    """
    file, function = _source(name)
    return [str(PROGRAMS / "run.py"), str(file), function, *map(json.dumps, arguments)]


def marked_lines(name: str) -> dict[str, str]:
    """Return the path and number of each line of a function of `tests/programs`, by its comment."""
    file, function = _source(name)
    found = {}
    is_inside = False
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line and not line[0].isspace():
            is_inside = f"def {function}(" in line
        if is_inside and "  # " in line:
            found[line.rpartition("  # ")[2]] = f"{file}:{number}"
    return found


def _source(name: str) -> tuple[Path, str]:
    module, _, function = name.rpartition(".")
    return PROGRAMS.joinpath(*module.split(".")).with_suffix(".py"), function


def run_program(
    name: str,
    *arguments: object,
    env: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    seconds: float = TIMEOUT_SECONDS,
) -> Result:
    """Run a function of `tests/programs` in a new interpreter that sees the installed package only."""
    command = [sys.executable, "-P", *options, *program(name, *arguments)]
    return run_command(command, env=env, seconds=seconds)


def eval_program(
    name: str,
    *arguments: object,
    env: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    seconds: float = TIMEOUT_SECONDS,
) -> Any:
    """Return the result of a function of `tests/programs`; see `run_program`. It must end with status 0."""
    return _last_line(run_program(name, *arguments, env=env, options=options, seconds=seconds))


def _last_line(done: Result) -> Any:
    assert done.code == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])

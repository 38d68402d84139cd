"""Runs pytest on a program in a child process, with the plugin."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.subprocess import SHOWN_WHOLE_BY_PYTEST

PROGRAMS = Path(__file__).parents[2] / "programs" / "pytest_plugin"
FAKE_TORCH = Path(__file__).parents[2] / "helpers" / "fake_torch"
# The other plugins of `.venv`, by their entry points. To import them takes half of the time of a run.
OTHERS = ("anyio", "asyncio", "hypothesispytest", "xdist", "xdist.looponfail")
_HEADER = re.compile(r"^_{3,} ERROR at teardown of (\S+) _{3,}$")


@dataclass
class Run:
    """A finished run of pytest."""

    outcomes: dict[str, int]
    output: str
    left: dict[str, list[str]]
    """What the plugin has reported, by test: the lines below its first one."""


def run(pytester: pytest.Pytester, *arguments: str, mode: str = "fail", beside: str = "") -> Run:
    """Run pytest in the folder of `pytester`, `beside` another plugin; `mode=""` leaves the option out."""
    options = [f"--interlock={mode}"] if mode else []
    options += [f"-pno:{name}" for name in OTHERS if name != beside]
    with pytest.MonkeyPatch.context() as environment:
        for variable in SHOWN_WHOLE_BY_PYTEST:
            environment.delenv(variable, raising=False)
        done = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", *options, *arguments, timeout=60)
    output = done.stdout.str() + done.stderr.str()
    left: dict[str, list[str]] = {}
    test: str | None = None
    for line in output.splitlines():
        header = _HEADER.match(line)
        if header:
            test = header[1]
        elif line.startswith(("___", "===", "---")):
            test = None
        elif test is not None and line.startswith("  "):
            left.setdefault(test, []).append(line.strip())
    outcomes = done.parseoutcomes() if done.ret in (0, 1) else {}
    # Of plugins that lack a configuration.
    outcomes.pop("warnings", None)
    return Run(outcomes, output, left)


def program(pytester: pytest.Pytester, name: str, *, as_conftest: bool = False) -> Path:
    """Copy a file of tests/programs/pytest_plugin into the folder of `pytester`; return its path there."""
    path = pytester.path / ("conftest.py" if as_conftest else f"test_{name}.py")
    shutil.copy(PROGRAMS / f"{name}.py", path)
    return path


def at(path: Path, test: str, text: str = "") -> str:
    """Return the path and number of the first line that contains a text, in a test of a file."""
    lines = path.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if f"def {test}(" in line)
    return f"{path}:{next(number for number in range(start, len(lines)) if text in lines[number]) + 1}"

"""Type checkers on programs that use the installed package."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.subprocess import Result, run_command, run_python

HERE = Path(__file__).parent
SECONDS = 300.0


def copies(names: Sequence[str], folder: Path) -> list[str]:
    """Copy files out of the source tree, so that a checker uses the installed package."""
    return [shutil.copy(HERE / name, folder / name) for name in names]


def mypy(files: Sequence[str], folder: Path) -> Result:
    options = ["--strict", "--no-error-summary", "--show-error-codes", "--no-pretty", "--config-file", ""]
    # Shared by the runs of one worker: numpy and the stubs are checked once.
    cache = ["--cache-dir", str(folder.parent / "mypy_cache")]
    return run_command([sys.executable, "-m", "mypy", *options, *cache, *files], seconds=SECONDS)


def basedpyright(files: Sequence[str], folder: Path) -> Result:
    # Its own rules beyond those of pyright are matters of taste, so the checks are pyright's strict ones.
    settings = folder / "pyrightconfig.json"
    settings.write_text('{"typeCheckingMode": "strict", "reportUnusedExpression": false}')
    command = [sys.executable, "-m", "basedpyright", "--project", str(settings)]
    return run_command([*command, "--pythonpath", sys.executable], seconds=SECONDS)


def test_realistic_program_and_revealed_types_satisfy_mypy(tmp_path: Path) -> None:
    done = mypy(copies(["must_pass.py", "own_flags.py", "reveal.py"], tmp_path), tmp_path)
    assert done.code == 0, done.stdout + done.stderr


def test_realistic_program_and_revealed_types_satisfy_basedpyright(tmp_path: Path) -> None:
    done = basedpyright(copies(["must_pass.py", "own_flags.py", "reveal.py"], tmp_path), tmp_path)
    assert done.code == 0, done.stdout + done.stderr
    assert "0 errors" in done.stdout


def test_mypy_finds_every_mistake_and_nothing_else(tmp_path: Path) -> None:
    (file,) = copies(["must_fail.py"], tmp_path)
    lines = Path(file).read_text().splitlines()
    marked = {
        number: line.rpartition("# error: ")[2] for number, line in enumerate(lines, 1) if "# error:" in line
    }
    assert len(marked) > 20
    done = mypy([file], tmp_path)
    found = dict(re.findall(r":(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE))
    assert done.code == 1, done.stderr
    assert {int(number): code for number, code in found.items()} == marked


@pytest.mark.parametrize("name", ["must_pass.py", "own_flags.py", "reveal.py"])
def test_checked_programs_also_run(name: str) -> None:
    done = run_python((HERE / name).read_text(), options=["-W", "error"])
    assert done.code == 0, done.stderr
    assert done.stderr == ""
    if name == "must_pass.py":
        assert done.stdout.splitlines()[-1] == "True True"

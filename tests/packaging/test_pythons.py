"""`make test-pythons`: the selection of interpreters and the watchdog of a suite."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from tests.helpers.subprocess import eval_program, eval_python, run_command

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"


def answer(code: str, **variables: str) -> object:
    """Return the value of `result` after `code`, with the tool imported as `pythons`."""
    program = f"import sys\nsys.path.insert(0, {str(TOOLS)!r})\nimport pythons\n{code}"
    return eval_python(program, env=variables)


def interpreter(folder: Path, minor: str, printed: str) -> None:
    """Create a fake interpreter that prints a reply to the tool's query."""
    folder.mkdir(exist_ok=True)
    path = folder / f"python{minor}"
    path.write_text(f"#!/bin/sh\necho '{printed}'\n")
    path.chmod(0o755)


def described(*version: int | str, usable: bool = True) -> str:
    return json.dumps({"version": version, "usable": usable, "libraries": "", "headers": ""})


def test_newest_usable_release_of_each_version_is_selected(tmp_path: Path) -> None:
    first, second, pyenv = tmp_path / "first", tmp_path / "second", tmp_path / "pyenv"
    installed = pyenv / "versions" / "3.14.11t" / "bin"
    installed.mkdir(parents=True)
    interpreter(first, "3.14", described(3, 14, 2, "final", 0))
    interpreter(second, "3.14", described(3, 14, 10, "final", 0))
    interpreter(installed, "3.14", described(3, 14, 11, "final", 0, usable=False))
    interpreter(first, "3.15", described(3, 15, 0, "candidate", 2))
    interpreter(second, "3.13", "pyenv: python3.13: command not found")
    found = answer(
        "found = pythons.find(['3.13', '3.14', '3.15'])\n"
        "result = {minor: [each.release, str(each.path)] for minor, each in found.items()}",
        PYTHONS=f"{first}:{second}",
        PYENV_ROOT=str(pyenv),
        PATH=str(tmp_path / "empty"),
    )
    assert found == {
        "3.14": ["3.14.10", str(second / "python3.14")],
        "3.15": ["3.15.0rc2", str(first / "python3.15")],
    }


def test_versions_equal_the_classifiers_from_the_oldest_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    supported = answer("result = pythons.supported()")
    assert isinstance(supported, list)
    assert project["requires-python"] == f">={supported[0]}"
    assert "3.14" in supported


def test_unsupported_version_is_refused() -> None:
    done = run_command([sys.executable, str(TOOLS / "pythons.py"), "3.9"])
    assert done.code == 1
    assert done.stderr.startswith("not supported: 3.9; supported: 3.11, ")


def test_silent_suite_is_killed() -> None:
    killed = eval_program("pythons.watch_a_silent_suite", str(TOOLS))
    assert killed == [False, -6]


def test_finished_suite_is_not_killed() -> None:
    ended = answer(
        """
import pathlib, subprocess, tempfile
with tempfile.NamedTemporaryFile() as log:
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"], start_new_session=True)
    result = [pythons.watch(process, pathlib.Path(log.name)), process.returncode]
"""
    )
    assert ended == [True, 3]

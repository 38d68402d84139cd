"""The fixture `no_leak` finds a deliberate leak."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.helpers.subprocess import Result, run_command

ROOT = Path(__file__).parents[2]

LEAKS = {
    "a flag": "interlock.backends.cudnn.benchmark = True",
    "a scope": "interlock.backends.cudnn.flags(enabled=False).__enter__()",
    "a mode": "interlock.no_grad().__enter__()",
    "a mode set": "interlock.set_grad_enabled(False)",
    "a freeze": "globals().update(kept=interlock.backends.frozen()); kept.__enter__()",
}


def run_pytest_on(body: str, folder: Path) -> Result:
    (folder / "test_inner.py").write_text(f"import interlock\n\n\ndef test_inner():\n    {body}\n")
    arguments = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.helpers.state_guard",
    ]
    return run_command([*arguments, "--rootdir", str(folder), str(folder)], env={"PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS.keys())
def test_deliberate_leak_fails_the_test_that_made_it(leak: str, tmp_path: Path) -> None:
    done = run_pytest_on(leak, tmp_path)
    assert done.code == 1, done.stdout + done.stderr
    assert "left something behind" in done.stdout


def test_test_that_restores_everything_passes(tmp_path: Path) -> None:
    done = run_pytest_on("with interlock.no_grad(), interlock.backends.cudnn.flags(): pass", tmp_path)
    assert done.code == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout

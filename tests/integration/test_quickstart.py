"""The quick start trains one network on every device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.helpers.subprocess import run_command

EXAMPLE = Path(__file__).parents[2] / "examples" / "quickstart.py"


def printed(*arguments: str) -> list[str]:
    done = run_command([sys.executable, "-W", "error", str(EXAMPLE), *arguments])
    assert done.code == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("device", ["host", "host:0"])
def test_quickstart_prints_equal_results_on_every_device(device: str) -> None:
    lines = printed("--device", device)
    assert lines == printed()
    assert any(line.startswith("accuracy 9") for line in lines)


def test_device_that_does_not_exist_is_named() -> None:
    done = run_command([sys.executable, str(EXAMPLE), "--device", "nowhere"])
    assert done.code == 1
    assert "nowhere" in done.stderr

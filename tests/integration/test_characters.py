"""The example of a transformer learns the characters of a text, equally on every device."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.helpers.subprocess import run_command

EXAMPLE = Path(__file__).parents[2] / "examples" / "characters.py"


def printed(*arguments: str) -> list[str]:
    done = run_command([sys.executable, "-W", "error", str(EXAMPLE), *arguments])
    assert done.code == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_few_steps_reduce_the_loss_equally_on_every_device() -> None:
    # The loss of the first step is 4.7.
    lines = printed("--steps", "10", "--bound", "3.5")
    assert lines == printed("--steps", "10", "--bound", "3.5", "--device", "host")
    losses = [line for line in lines if line.startswith("step ")]
    assert len(losses) == 10
    # The sample begins with the first characters of the licence, indented by spaces.
    assert lines[11].startswith(" " * 30 + "Ap")


@pytest.mark.slow
def test_all_steps_reach_the_bound_of_the_example() -> None:
    assert any(line.startswith("final loss 1.") for line in printed())


def test_loss_above_the_bound_is_an_error() -> None:
    done = run_command([sys.executable, str(EXAMPLE), "--steps", "1", "--bound", "1.0"])
    assert done.code == 1
    assert "the final loss must be below 1.0, got 4." in done.stderr

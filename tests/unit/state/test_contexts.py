"""Programs over contexts print the same with interlock's scopes and with an oracle over a ContextVar."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import PROGRAMS, run_program

FOLDER = PROGRAMS / "contexts"
PROGRAM_NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "subject")


def output(name: str, subject: str) -> str:
    result = run_program(f"contexts/{name}.py", subject)
    assert result.code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("name", PROGRAM_NAMES)
def test_flag_scopes_print_what_the_oracle_prints(name: str) -> None:
    assert output(name, "flag") == output(name, "oracle")


@pytest.mark.parametrize("name", PROGRAM_NAMES)
def test_mode_scopes_print_what_the_oracle_prints(name: str) -> None:
    assert output(name, "mode") == output(name, "oracle-of-modes")

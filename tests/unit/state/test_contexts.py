"""Programs over contexts print the same with interlock's scopes and with an oracle over a ContextVar."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tests.helpers.subprocess import PROGRAMS, eval_program

FOLDER = PROGRAMS / "contexts"


def programs() -> list[str]:
    """Return the functions of the folder's modules; those of `subject` are what they share."""
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem != "subject":
            functions = [
                each for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)
            ]
            found += [f"{path.stem}.{function.name}" for function in functions]
    return found


def result(name: str, subject: str) -> Any:
    return eval_program(f"contexts.{name}", subject, env={"PYTHONPATH": str(FOLDER)})


@pytest.mark.parametrize("name", programs())
def test_flag_scopes_give_what_the_oracle_gives(name: str) -> None:
    assert result(name, "flag") == result(name, "oracle")


@pytest.mark.parametrize("name", programs())
def test_mode_scopes_give_what_the_oracle_gives(name: str) -> None:
    assert result(name, "mode") == result(name, "oracle-of-modes")

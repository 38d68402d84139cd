"""The fixtures of docs/testing.md find what a test leaves behind, and end it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.helpers.subprocess import run_command

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
LEAKS = """\
import interlock
from interlock import backends


def test_leaves_a_scope_open():
    interlock.no_grad().__enter__()


def test_leaves_a_scope_open_that_changes_nothing():
    assert interlock.is_grad_enabled()
    interlock.enable_grad().__enter__()


def test_leaves_a_flag_changed():
    backends.cudnn.benchmark = True


def test_enters_scopes_until_its_end(enter_scope):
    enter_scope(interlock.no_grad())
    enter_scope(backends.override({"cudnn.benchmark": True}))
    assert not interlock.is_grad_enabled()


def test_begins_with_the_defaults():
    assert interlock.is_grad_enabled()
    assert not backends.cudnn.benchmark
"""


def test_fixtures_report_and_end_what_a_test_leaves_behind(tmp_path: Path) -> None:
    found = re.search(r"^```python\n(# conftest\.py\n.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert found
    (tmp_path / "conftest.py").write_text(found[1])
    (tmp_path / "test_leaks.py").write_text(LEAKS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = run_command(command)
    assert "5 passed, 3 errors" in done.stdout, done.stdout + done.stderr
    errors = re.findall(r"^E +AssertionError: (.*)$", done.stdout, re.MULTILINE)
    assert [error.partition(":")[0] for error in errors] == [
        "changed (before, after)",
        "scopes that were left open",
        "changed (before, after)",
    ]

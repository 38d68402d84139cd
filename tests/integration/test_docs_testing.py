"""The fixtures of docs/testing.md find what a test leaves behind, and end it."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from tests.helpers.subprocess import PROGRAMS, run_command

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def test_fixtures_report_and_end_what_a_test_leaves_behind(tmp_path: Path) -> None:
    found = re.search(r"^```python\n(# conftest\.py\n.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert found
    (tmp_path / "conftest.py").write_text(found[1])
    shutil.copy(PROGRAMS / "integration" / "leaks.py", tmp_path / "test_leaks.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = run_command(command)
    assert "5 passed, 3 errors" in done.stdout, done.stdout + done.stderr
    errors = re.findall(r"^E +AssertionError: (.*)$", done.stdout, re.MULTILINE)
    assert [error.partition(":")[0] for error in errors] == [
        "changed (before, after)",
        "scopes that were left open",
        "changed (before, after)",
    ]
    lines = "entered here was still open at the end of its scope_barrier"
    assert ("INTERLOCK_DEBUG=1" in errors[1], lines in done.stdout) == (True, False)
    assert lines in run_command(command, env={"INTERLOCK_DEBUG": "1"}).stdout

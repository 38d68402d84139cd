"""docs/pytorch_issues.md names the reports and the tests of each problem."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ISSUES = re.findall(
    r"^\| (?!problem|---)(.+) \| (.+) \| (.+) \|$",
    (ROOT / "docs" / "pytorch_issues.md").read_text(),
    re.MULTILINE,
)


@pytest.mark.parametrize(("problem", "reports", "tests"), ISSUES)
def test_issue_names_its_reports_and_links_existing_tests(problem: str, reports: str, tests: str) -> None:
    assert problem.endswith(".")
    for report in reports.split(", "):
        number = r"\[#(\d+)\]\(https://github\.com/pytorch/pytorch/issues/\1\)"
        assert re.fullmatch(rf"none|{number}|[\w.-]+#\d+", report)
    for test in tests.split("<br>"):
        found = re.fullmatch(r"\[`(tests/[\w/]+\.py)::(\w+)`\]\(\.\./\1\)", test)
        assert found is not None
        assert f"def {found[2]}(" in (ROOT / found[1]).read_text()


def test_page_of_issues_has_rows() -> None:
    assert len(ISSUES) >= 50

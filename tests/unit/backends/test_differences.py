"""The list of intentional differences from PyTorch without a recorded case."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DIFFERENCES = json.loads((ROOT / "docs" / "differences.json").read_text())


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference["names"][0])
def test_difference_has_both_behaviours_a_reason_and_a_test(difference: dict[str, object]) -> None:
    assert set(difference) == {"names", "pytorch", "interlock", "reason", "test"}
    assert all(difference.values())
    assert (ROOT / str(difference["test"])).is_file()


def test_every_test_in_the_table_of_issues_exists() -> None:
    page = (ROOT / "docs" / "pytorch_issues.md").read_text()
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert tests
    for path, name in tests:
        assert f"def {name}(" in (ROOT / path).read_text(), (path, name)

"""docs/debugging.md lists the classes of warnings."""

from __future__ import annotations

import re
from pathlib import Path

from interlock import errors

PAGE = Path(__file__).parents[2] / "docs" / "debugging.md"


def test_table_has_each_class_of_warnings_once() -> None:
    (table,) = re.findall(r"^\| warning \| reports \|\n(.*?)\n\n", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    classes = [name for name in errors.__all__ if issubclass(getattr(errors, name), Warning)]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(classes)

"""docs/driver.md lists the methods of a driver that have no default."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_page_lists_the_required_methods_of_a_runtime() -> None:
    source = (ROOT / "rust" / "driver" / "src" / "runtime.rs").read_text(encoding="utf-8")
    methods = re.findall(r"^    (?:unsafe )?fn (\w+)\([^;{]*([;{])", source, re.MULTILINE)
    page = (ROOT / "docs" / "driver.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| subject \| methods \|\n(.*?)\n\n", page, re.DOTALL | re.MULTILINE)
    assert re.findall(r"`(\w+)`", table) == [name for name, end in methods if end == ";"]

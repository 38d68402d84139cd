"""docs/compatibility.md lists every recorded name of PyTorch exactly once."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
RECORDED = ROOT / "tests" / "conformance" / "api" / "names.json"


def test_every_recorded_name_is_listed_once() -> None:
    listed = re.findall(r"^\| `torch\.([\w.]+)` \|", PAGE, re.MULTILINE)
    for module, names in re.findall(r"^### `torch\.?([\w.]*)`\n\n(.+)$", PAGE, re.MULTILINE):
        listed += [".".join(filter(None, (module, name))) for name in re.findall(r"`(\w+)`", names)]
    assert sorted(listed) == sorted(json.loads(RECORDED.read_text())["names"])

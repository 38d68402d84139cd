"""docs/compatibility.md lists every recorded name of PyTorch exactly once, and names that are not planned."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
API = ROOT / "tests" / "conformance" / "api"
RECORDED = json.loads((API / "names.json").read_text())["names"]
NOT_PLANNED = json.loads((API / "not_planned.json").read_text())


def test_every_name_is_listed_once() -> None:
    listed = re.findall(r"^\| `torch\.([\w.]+)` \|", PAGE, re.MULTILINE)
    for module, names in re.findall(r"^### `torch\.?([\w.]*)`\n\n(.+)$", PAGE, re.MULTILINE):
        listed += [".".join(filter(None, (module, name))) for name in re.findall(r"`(\w+)`", names)]
    assert sorted(listed) == sorted([*RECORDED, *NOT_PLANNED])


@pytest.mark.parametrize("name", NOT_PLANNED)
def test_name_that_is_not_planned_does_not_exist(name: str) -> None:
    module, _, attribute = f"interlock.{name}".rpartition(".")
    assert not hasattr(importlib.import_module(module), attribute)
    assert importlib.util.find_spec(f"interlock.{name}") is None

"""docs/migrating.md names only what interlock has."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "migrating.md"
NAMES = sorted(set(re.findall(r"`(interlock\.[\w.]+)`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name: str) -> None:
    value = importlib.import_module("interlock")
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    assert value is not None


def test_names_are_found_in_the_page() -> None:
    assert len(NAMES) >= 40

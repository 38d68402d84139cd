"""README.md and docs/install.md name the versions of the package's metadata."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/install.md"])
def test_page_names_the_required_versions(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    pythons = [each.rpartition(" ")[2] for each in classifiers if "Python :: 3." in each]
    assert f"{rust} or newer" in text
    assert f"CPython {pythons[0]} to {pythons[-1]}" in text

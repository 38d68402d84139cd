"""README.md and docs/install.md name the required versions, and how to build without the tensor runtime."""

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


def test_page_selects_the_build_without_tensors_like_the_demo() -> None:
    option = "--config-settings build-args=--no-default-features"
    assert f"pip install . {option}\n" in (ROOT / "docs/install.md").read_text(encoding="utf-8")
    assert f"$(call DEMO_BUILD,{option})\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    features = tomllib.loads((ROOT / "rust/python/Cargo.toml").read_text())["features"]
    assert features["default"] == ["tensor"]

"""README.md and docs/install.md name the required versions, and how to build without the tensor runtime."""

from __future__ import annotations

import math
import re
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
    features = tomllib.loads((ROOT / "rust/extension/Cargo.toml").read_text())["features"]
    assert features["default"] == ["tensor"]


def test_pages_round_the_measured_times_of_the_builds_up() -> None:
    time = r"(?:(\d+) min )?(\d+) s \(\d+ s of CPU time\)"
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^\| first build, .* \| {time} \| {time} \|$", page, re.MULTILINE)
    minutes, seconds, light_minutes, light_seconds = (int(number or 0) for number in found)
    words = {1: "one minute", 4: "four minutes"}
    complete = words[math.ceil(minutes + seconds / 60)]
    light = words[math.ceil(light_minutes + light_seconds / 60)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"make demo        # builds in {light}:" in readme
    assert f"pip install .    # builds in {complete}," in readme
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"runtime: (\w+ minutes?) on two cores for the first build", makefile) == [
        light,
        complete,
    ]

"""docs/platforms.md is short, its places exist, and the code that depends on the system is at one of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
MOST_LINES = 100
SHORT = {"core": "rust/core/src", "python": "python/interlock"}
# Names of systems, functions that only some systems have, and files of Linux.
DEPENDS = re.compile(r"target_os|\blibc::|sys\.platform|[\"/]proc/|sched_[gs]etaffinity|SIGPIPE|\.dylib")


def places() -> set[Path]:
    """Return the files and folders of the last column."""
    _, _, table = PAGE.partition("## What depends on the system")
    table, _, _ = table.partition("## Compiling")
    rows = re.findall(r"^\|.*\| ([^|]+) \|$", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(rows) > 20
    split = [name.partition("/") for name in named]
    return {ROOT / (SHORT.get(first, first) if slash else first) / rest for first, slash, rest in split}


def sources() -> list[Path]:
    rust = [path for path in (ROOT / "rust").glob("*/src/**/*.rs") if "testing" not in path.parts]
    return sorted([*rust, *(ROOT / "python").rglob("*.py")])


def test_platforms_page_is_short_and_its_places_exist() -> None:
    assert len(PAGE.splitlines()) <= MOST_LINES
    assert [place for place in places() if not place.exists()] == []


def test_platforms_page_has_each_file_that_depends_on_the_system() -> None:
    listed = places()
    found = [path for path in sources() if DEPENDS.search(path.read_text(encoding="utf-8"))]
    assert len(found) > 20
    assert [path for path in found if listed.isdisjoint([path, *path.parents])] == []


@pytest.mark.parametrize("file", ["rust/core/src/base/mod.rs", "rust/capi/src/python.rs"])
def test_crates_refuse_windows_in_a_sentence_that_names_the_page(file: str) -> None:
    source = " ".join((ROOT / file).read_text(encoding="utf-8").replace("\\\n", "").split())
    (sentence,) = re.findall(r'#\[cfg\(not\(unix\)\)\] compile_error!\( "([^"]+)" \);', source)
    assert sentence.startswith("interlock supports Linux and macOS, not Windows, which lacks ")
    assert "docs/platforms.md" in sentence

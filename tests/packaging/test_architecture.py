"""ARCHITECTURE.md is short, and the files and functions that it names exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()
MOST_LINES = 300

# A path, and the names in parentheses behind it.
NAMED = re.compile(r"`([\w.-]+/[\w./-]+)`(?:\s\(((?:`\w+`(?:,\s)?)+)\))?")


def path_of(name: str) -> Path:
    """Return the path of a name: one that begins with a crate is in the source folder of that crate."""
    crate, _, rest = name.partition("/")
    in_crate = ROOT / "rust" / crate / "src" / rest
    return in_crate if in_crate.exists() else ROOT / name


def test_architecture_is_short() -> None:
    assert len(PAGE.splitlines()) <= MOST_LINES


def test_files_in_architecture_exist() -> None:
    paths = [path for path, _ in NAMED.findall(PAGE)]
    assert paths
    assert not [path for path in paths if not path_of(path).exists()]


def test_names_in_architecture_are_defined_in_their_files() -> None:
    named = [(path, name) for path, names in NAMED.findall(PAGE) for name in re.findall(r"\w+", names)]
    assert named
    defined = r"\b(fn|struct|static|def|class) {}\b"
    assert not [
        (path, name) for path, name in named if not re.search(defined.format(name), path_of(path).read_text())
    ]


def section(title: str) -> str:
    """Return the text of the section whose title begins with this."""
    _, _, rest = PAGE.partition(f"\n## {title}")
    return rest.partition("\n## ")[0]


def test_walks_have_as_many_files_as_the_page_says() -> None:
    # An allocation up to the way of observers and misses, from the buffer; a copy within the driver.
    direct = section("A cached allocation").partition("\n4. ")[0].partition("\n1. ")[2]
    files = {path for path, _ in NAMED.findall(direct)}
    assert "Ten files" in section("A cached allocation")
    assert len(files) == 10
    in_driver = {path for path, _ in NAMED.findall(section("A copy")) if path.startswith("cuda/")}
    assert "eight files" in section("A copy")
    assert len(in_driver) == 8

"""tools/words.py, the check of words and test names in `make test`, finds planted lines."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def words() -> ModuleType:
    spec = importlib.util.spec_from_file_location("words", ROOT / "tools" / "words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLANTED = [
    ("a.py", "x = 1  # nobody reads it\n", 1, "nobody"),
    ("a.py", "x = 1\n# A reference that\n# comes\n# to 3.\n", 3, "comes to"),
    ("a.py", '"""Return a name.\n\nThe same for a class.\n"""\n', 3, "The same for"),
    ("a.py", "raise ValueError(f'{name!r} was told')\n", 1, "told"),
    ("a.py", 'assert x, (\n    "the lock is let "\n    "go"\n)\n', 2, "let go"),
    ("a.pyi", "x: int  # That of the caller.\n", 1, "That of"),
    ("a.rs", "/// Returns the thread\n///\n/// for whom it waits.\nfn f() {}\n", 3, "whom"),
    ("a.rs", "let a = '\"'; // It waits in vain.\n", 1, "in vain"),
    ("a.rs", 'fn f<\'a>() -> &\'a str { r#"it "tells" more"# }\n', 1, "tells"),
    ("a.c", "/* Where the memory\n   goes. */\n", 2, "goes"),
    ("a.md", "# A page\n\nIt stops once the\ndevice has\ngone.\n", 4, "has gone"),
    ("Makefile", "test: ## run what anybody runs\n", 1, "anybody"),
]
HARMLESS = [
    ("a.py", "told = tells(goes)  # A foretold word; the same for all, and that of a name.\n"),
    ("a.rs", "fn told(whoever: &str) { goes(whoever) } // Lets the caller go_on.\n"),
]


@pytest.mark.parametrize(("path", "source", "line", "found"), PLANTED)
def test_words_check_finds_a_planted_word(
    words: ModuleType, path: str, source: str, line: int, found: str
) -> None:
    assert [(each.line, each.words) for each in words.findings(path, source)] == [(line, found)]


@pytest.mark.parametrize(("path", "source"), HARMLESS)
def test_words_check_ignores_identifiers_and_similar_text(words: ModuleType, path: str, source: str) -> None:
    assert words.findings(path, source) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", "class TestA:\n    async def {name}(self) -> None: ...\n"),
        ("a.rs", "#[test]\n#[cfg(unix)]\n// A reason.\nfn {name}() {{}}\n"),
    ],
)
def test_words_check_finds_a_long_test_name(words: ModuleType, path: str, source: str) -> None:
    longest = f"test_{'a' * (words.MAX_TEST_NAME - 5)}"
    assert words.findings(path, source.format(name=longest)) == []
    assert [each.text for each in words.findings(path, source.format(name=f"{longest}a"))] == [f"{longest}a"]


def test_words_check_exempts_a_text_in_its_file_only(words: ModuleType) -> None:
    exemption = words.Exemption("a/b.py", "nobody reads", "a test")
    (finding,) = words.findings("a/b.py", "# nobody reads it\n")
    assert words.is_exempt(finding, exemption)
    assert not words.is_exempt(finding._replace(path="a/c.py"), exemption)
    assert not words.is_exempt(finding._replace(text="# nobody writes it"), exemption)
    assert words.is_exempt(finding, words.Exemption("a/", "", "a test"))


def test_words_check_reads_every_folder_of_sources(words: ModuleType) -> None:
    checked = {str(path.relative_to(ROOT)) for path in words.files([])}
    assert {"Makefile", "README.md", "pyproject.toml", "tools/words.py", "tests/conftest.py"} <= checked
    folders = {"rust", "python", "stubs", "tests", "tools", "benchmarks", "examples", "docs"}
    assert folders <= {path.partition("/")[0] for path in checked}

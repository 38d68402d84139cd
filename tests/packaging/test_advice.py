"""Errors of the crates that Rust programs use name Rust's interface; the bindings name Python's."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_build
ROOT = Path(__file__).resolve().parents[2]
CRATES = ("core", "driver", "host", "cuda", "accelerator", "tensor")

ROW = re.compile(r'\(\s*"((?:[^"\\]|\\.)+)",\s*"((?:[^"\\]|\\.)+)",?\s*\)')
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.|\\\n)*"')
# An argument by keyword, a function that Rust lacks, a method of multiprocessing.
PYTHON = re.compile(r"\b[a-z_]+=(?:True|False|None|\.\.\.|')|accelerator\.use\(|spawn")
PATH = re.compile(r"\w::\w")
# Texts of assertions.
ASSERTIONS = ("Rust users write", "every mask comes from", "a model with fewer shared objects")
# Records and texts of tensors, which have Python's syntax in both languages, an argument and a warning.
SHOWN = (
    "requires_grad=True",
    "needs accumulate=",
    "device='{}'",
    "for left=False",
    "accumulate=True has one",
)


def literals() -> set[str]:
    """Return the texts of the crates, each on one line, without comments and unit tests."""
    texts: set[str] = set()
    for crate in CRATES:
        for path in (ROOT / "rust" / crate / "src").rglob("*.rs"):
            source = path.read_text().partition("#[cfg(test)]\nmod tests {")[0]
            code = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith("//"))
            texts |= {re.sub(r"\\\n\s*", "", text) for text in LITERAL.findall(code)}
    return texts


def rows_of_advice() -> list[tuple[str, str]]:
    """Return the phrases of the crates, each with Python's."""
    rows = ROW.findall((ROOT / "rust/python/src/advice.rs").read_text())
    assert len(rows) > 20
    return rows


def test_advice_of_rust_crates_names_the_interface_of_rust() -> None:
    texts = literals()
    assert '"{name} was unregistered"' in texts
    found = {text for text in texts if PYTHON.search(text)}
    assert not {text for text in found if not any(shown in text for shown in SHOWN)}


def test_bindings_replace_each_path_in_an_error() -> None:
    rows = rows_of_advice()
    left = set()
    for text in literals():
        shown = text
        for rust, python in rows:
            shown = shown.replace(rust, python)
        if PATH.search(shown) and not any(known in text for known in ASSERTIONS):
            left.add(text)
    assert not left


def test_phrases_that_the_bindings_replace_are_those_of_the_crates() -> None:
    assert not [rust for rust, _ in rows_of_advice() if not any(rust in text for text in literals())]

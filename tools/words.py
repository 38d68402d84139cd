"""Refuse vague words in comments, docstrings, messages and pages, and test names that are too long.

`words.py [PATH...]` checks the given files and folders, or the whole repository. It prints one line for each
finding and exits with 1 if there is one. In Python, Rust and C it reads comments and string literals but no
identifiers; it reads pages and configuration files as a whole.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["rust", "python", "stubs", "tests", "tools", "benchmarks", "examples", "integrations", "docs"]
CHECKED = [*FOLDERS, "*.md", "*.toml", "Makefile"]
SUFFIXES = (".py", ".pyi", ".rs", ".c", ".h", ".md", ".toml")
MAX_TEST_NAME = 70

# Words that hide the actor ("nobody", "told") or the event ("goes", "comes to").
ANYWHERE = ["nobody", "somebody", "anybody", "whoever", "whom", "told", "tells", "goes", "in vain"]
ANYWHERE += ["lets? go", "letting go", "comes to", "has gone"]
# These are refused only at the beginning of a sentence.
CAPITALIZED = ["The same for", "That of"]
FORBIDDEN = "|".join([f"(?i:{'|'.join(ANYWHERE)})", *CAPITALIZED])
WORDS = re.compile(rf"\b(?:{FORBIDDEN})\b".replace(" ", r"\s+"))
# Most files have no such word even if the markers of comments count as spaces, and are not scanned further.
PERHAPS = re.compile(rf"\b(?:{FORBIDDEN})\b".replace(" ", r"\W+"))

COMMENTS_AND_STRINGS = re.compile(
    r"""//[^\n]*(?:\n[ \t]*//[^\n]*)*"""  # consecutive line comments
    r"""|/\*.*?\*/"""
    r"""|\br(?P<hashes>\#*)".*?"(?P=hashes)"""
    r'''|"(?:[^"\\]|\\.)*"'''
    r"""|'(?:[^'\\\n]|\\[^'\n]+)'""",  # a character, which may be a quotation mark
    re.DOTALL,
)
QUOTES = re.compile(r"""^[A-Za-z]{0,2}["']+|["']+$""")
MARKER = re.compile(r"^[ \t]*(?://[/!]?|#+)", re.MULTILINE)
STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1), getattr(tokenize, "TSTRING_MIDDLE", -1)}
# Tokens between the parts of one text: consecutive comments, or strings that Python concatenates.
BETWEEN = {tokenize.NL, getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)}

PYTHON_TEST = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
RUST_TEST = re.compile(r"#\[test\]\s*(?:(?:#\[[^\]]*\]|//[^\n]*)\s*)*fn (\w+)")


class Exemption(NamedTuple):
    """A text that may stay."""

    path: str
    """A file, or a folder with a slash at its end."""
    text: str
    """A text in the line of the finding; empty for every line."""
    reason: str


EXEMPTIONS = [
    Exemption("tests/models/", "", "copied cases that must keep every byte (tests/checksums.sha256)"),
    Exemption("tools/words.py", "", "the list of the words"),
    Exemption("tests/packaging/test_words.py", "", "the planted lines on which the check must fail"),
]


class Finding(NamedTuple):
    """A refused word or name in a file."""

    path: str
    line: int
    text: str
    words: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words}: {self.text.strip()}"


class Passage(NamedTuple):
    """A text for people and the line on which it begins."""

    line: int
    text: str


def passages_of_python(source: str) -> Iterator[Passage]:
    """Yield comments and string literals, consecutive ones of one kind together."""
    kind, first, last, parts = -1, 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in BETWEEN:
            continue
        current = tokenize.STRING if token.type in STRINGS else token.type
        if current != kind or current not in (tokenize.COMMENT, tokenize.STRING) or token.start[0] > last + 1:
            if parts:
                yield Passage(first, "".join(parts))
            kind, first, last, parts = current, token.start[0], token.start[0], []
        if current in (tokenize.COMMENT, tokenize.STRING):
            text = token.string if current == tokenize.COMMENT else QUOTES.sub("", token.string)
            parts += ["\n" * (token.start[0] - last), text]
            last = token.end[0]
    if parts:
        yield Passage(first, "".join(parts))


def passages_of_rust(source: str) -> Iterator[Passage]:
    """Yield comments and string literals of Rust or C, consecutive line comments together."""
    for found in COMMENTS_AND_STRINGS.finditer(source):
        yield Passage(source.count("\n", 0, found.start()) + 1, found[0])


def passages(path: str, source: str) -> Iterable[Passage]:
    """Return the texts for people in a file."""
    suffix = Path(path).suffix
    if suffix in (".py", ".pyi"):
        return passages_of_python(source)
    if suffix in (".rs", ".c", ".h"):
        return passages_of_rust(source)
    return [Passage(1, source)]


def refused_words(path: str, source: str) -> Iterator[Finding]:
    """Yield the refused words of a file."""
    if PERHAPS.search(source) is None:
        return
    lines = source.splitlines()
    for passage in passages(path, source):
        text = MARKER.sub("", passage.text)
        for found in WORDS.finditer(text):
            line = passage.line + text.count("\n", 0, found.start())
            yield Finding(path, line, lines[line - 1], " ".join(found[0].split()))


def long_names(path: str, source: str) -> Iterator[Finding]:
    """Yield the tests of a file whose names are too long."""
    pattern = {".py": PYTHON_TEST, ".rs": RUST_TEST}.get(Path(path).suffix)
    for found in pattern.finditer(source) if pattern else ():
        if len(found[1]) > MAX_TEST_NAME:
            line = source.count("\n", 0, found.start(1)) + 1
            yield Finding(path, line, found[1], f"a test name of {len(found[1])} characters")


def findings(path: str, source: str) -> list[Finding]:
    """Return the findings in a file, including exempt ones."""
    return [*refused_words(path, source), *long_names(path, source)]


def is_exempt(finding: Finding, exemption: Exemption) -> bool:
    """Return whether a finding may stay for the reason of an exemption."""
    folder = exemption.path.endswith("/") and finding.path.startswith(exemption.path)
    return (folder or finding.path == exemption.path) and exemption.text in finding.text


def files(arguments: list[str]) -> Iterator[Path]:
    """Yield the text files below the given paths, or those of the repository."""
    given = [Path(argument).resolve() for argument in arguments]
    for start in given or [path for pattern in CHECKED for path in sorted(ROOT.glob(pattern))]:
        for path in sorted(start.rglob("*")) if start.is_dir() else [start]:
            folders = path.relative_to(ROOT).parts[:-1]
            if "target" in folders or any(folder.startswith(".") for folder in folders):
                continue
            is_text = path.suffix in SUFFIXES or path.name == "Makefile"
            if is_text and path.is_file() and not path.is_symlink():
                yield path


def main() -> int:
    """Print the findings; return 1 if there are any."""
    found = [
        finding
        for path in files(sys.argv[1:])
        for finding in findings(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    ]
    refused = [finding for finding in found if not any(is_exempt(finding, each) for each in EXEMPTIONS)]
    for finding in refused:
        print(finding)
    if not sys.argv[1:]:
        unused = [each for each in EXEMPTIONS if not any(is_exempt(finding, each) for finding in found)]
        for exemption in unused:
            print(f"unused exemption: {exemption}")
        return 1 if refused or unused else 0
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())

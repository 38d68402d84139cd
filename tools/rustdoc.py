"""Check the rustdoc pages of the facade: each public struct, enum and trait shows an example.

`cargo doc` has to generate the pages first. The facade inlines what it re-exports, so its own pages show
every type that its users need.
"""

import os
import sys
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PAGES = TARGET / "doc" / "interlock"
KINDS = ("struct.", "enum.", "trait.", "union.")
# The tests that a driver of another crate runs. They are behind the feature `testing` of interlock-driver,
# which only the tests of this workspace enable.
TEST_SUITE = "accelerator/driver/testing/"


class Index(HTMLParser):
    """The types that the page of all items links to; it does not list the pages of earlier runs."""

    def __init__(self) -> None:
        super().__init__()
        self.types: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        link = dict(attrs).get("href") or ""
        if tag == "a" and link.rpartition("/")[2].startswith(KINDS) and not link.startswith(("..", "http")):
            self.types.append(link)


class TypePage(HTMLParser):
    """Whether the description of a type has an example; examples of its methods do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.has_example = False
        # How many elements are open from the description on; 0 outside of it.
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        if self._depth and "rust-example-rendered" in classes:
            self.has_example = True
        if tag == "details" and (self._depth or "top-doc" in classes):
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "details" and self._depth:
            self._depth -= 1


def public_types() -> list[str]:
    """Return the pages of the public types of the facade, as paths relative to its folder."""
    index = Index()
    index.feed((PAGES / "all.html").read_text(encoding="utf-8"))
    return sorted({page for page in index.types if not page.startswith(TEST_SUITE)})


def has_example(page: str) -> bool:
    """Return whether the description on a page has an example."""
    parser = TypePage()
    parser.feed((PAGES / page).read_text(encoding="utf-8"))
    return parser.has_example


def main() -> int:
    """Print the types without an example; return 1 if there are some, or if no page is found."""
    types = public_types()
    missing = [page for page in types if not has_example(page)]
    for page in missing:
        print(f"{page}: the description of the type has no example")
    print(f"{len(types) - len(missing)} of {len(types)} public types have an example")
    return 1 if missing or not types else 0


if __name__ == "__main__":
    sys.exit(main())

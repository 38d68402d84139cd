"""Links of the pages: the files exist in the repository, and the headings in their files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:\s]*)#?([^)\s:]*)\)")


def text_of(page: Path) -> str:
    return BLOCK.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub and the site give to the headings of a page."""
    headings = (
        re.sub(r"[^\w\s-]", "", each) for each in re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    )
    return {re.sub(r"\s", "-", each.strip().lower()) for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_a_page_lead_to_files_and_headings(page: Path) -> None:
    for target, anchor in LINK.findall(text_of(page)):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        assert not anchor or file.suffix != ".md" or anchor in anchors(file), f"{target}#{anchor}"


def test_links_are_found() -> None:
    links = [link for page in PAGES for link in LINK.findall(text_of(page))]
    assert len(links) > 200
    assert sum(bool(anchor) for _, anchor in links) > 50

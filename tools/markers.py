"""Files of which one part is generated: the text between two comments with its title."""

from collections.abc import Iterable
from pathlib import Path


def between(path: Path, title: str, lines: Iterable[str], text: str | None = None) -> str:
    """Return the text of a file, or this text for it, with the part between its two markers replaced."""
    comment = "<!-- {} -->" if path.suffix == ".md" else "# {}"
    opening, closing = (comment.format(marker) + "\n" for marker in (f"<{title}>", f"</{title}>"))
    before, found_opening, rest = (text or path.read_text()).partition(opening)
    replaced, found_closing, after = rest.partition(closing)
    if not (found_opening and found_closing):
        raise SystemExit(f"{path}: the markers of <{title}> are missing")
    indent = replaced.rpartition("\n")[2]  # of the closing marker
    return before + opening + "".join(f"{line}\n" for line in lines) + indent + closing + after

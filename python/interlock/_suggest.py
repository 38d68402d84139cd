"""Suggests a known name for a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["closest_match"]

# The smallest `difflib` ratio, from 0 to 1, at which two names count as similar.
_CUTOFF = 0.7


def closest_match(name: str, candidates: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`, ignoring case, or None.

    If exactly one candidate begins with `name`, that candidate is returned.
    """
    names = {candidate.lower(): candidate for candidate in sorted(candidates)}
    lower = name.lower()
    prefixed = [each for each in names if lower and each.startswith(lower)]
    similar = difflib.get_close_matches(lower, names, n=1, cutoff=_CUTOFF)
    found = prefixed if len(prefixed) == 1 else similar
    return names[found[0]] if found else None

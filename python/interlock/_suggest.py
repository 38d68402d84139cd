"""Finds the name that was probably meant by a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["closest_match"]

# The ratio of `difflib`, from 0 to 1, from which on two names are alike.
_CUTOFF = 0.7


def closest_match(name: str, candidates: Iterable[str]) -> str | None:
    """Return the only candidate that begins with `name`, else the most similar one, or None.

    Upper and lower case count as equal.
    """
    names = {candidate.lower(): candidate for candidate in sorted(candidates)}
    lower = name.lower()
    longer = [each for each in names if lower and each.startswith(lower)]
    similar = difflib.get_close_matches(lower, names, n=1, cutoff=_CUTOFF)
    found = longer if len(longer) == 1 else similar
    return names[found[0]] if found else None

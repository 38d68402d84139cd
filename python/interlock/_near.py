"""The name that was meant with a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["near"]

# How much of two names is the same, from 0 to 1, where one may be meant with the other.
_ALIKE = 0.7


def near(name: str, candidates: Iterable[str]) -> str | None:
    """Return the only candidate that begins with a name, or else the one most like it, or None.

    However the two are capitalised.
    """
    names = {candidate.lower(): candidate for candidate in sorted(candidates)}
    small = name.lower()
    longer = [each for each in names if small and each.startswith(small)]
    alike = difflib.get_close_matches(small, names, n=1, cutoff=_ALIKE)
    meant = longer if len(longer) == 1 else alike
    return names[meant[0]] if meant else None

"""Names that a user writes, and the ones that were meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

ALIKE = 0.7
"""How much of two names is the same, from 0 to 1, where one may be meant with the other."""


class WrongUseError(Exception):
    """A command line that asks for nothing there is."""


class UnknownNameError(WrongUseError):
    """A name that nothing has, with the one that may be meant where there is one."""

    def __init__(self, message: str, meant: str | None = None) -> None:
        super().__init__(message if meant is None else f'{message}; did you mean "{meant}"?')


def near(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that is most like a name, however the two are capitalised."""
    written = {candidate.lower(): candidate for candidate in sorted(candidates)}
    found = difflib.get_close_matches(name.lower(), written, n=1, cutoff=ALIKE)
    return written[found[0]] if found else None

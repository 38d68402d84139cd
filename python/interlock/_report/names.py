"""Names that a user writes, and the ones that were meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

ALIKE = 0.7
"""How much of two names is the same, from 0 to 1, where one may be meant with the other."""


class UnknownNameError(Exception):
    """A name that nothing has, with the near one where there is one."""

    def __init__(self, message: str, name: str = "", candidates: Iterable[str] = ()) -> None:
        near = difflib.get_close_matches(name, sorted(candidates), n=1, cutoff=ALIKE)
        super().__init__("; did you mean ".join([message, *near]) + "?" * len(near))

"""Names that a user writes, and the ones that were meant."""

from __future__ import annotations

from collections.abc import Iterable

from interlock._near import near


class UnknownNameError(Exception):
    """A name that nothing has, with the near one where there is one."""

    def __init__(self, message: str, name: str = "", candidates: Iterable[str] = ()) -> None:
        meant = near(name, candidates)
        super().__init__(message if meant is None else f"{message}; did you mean {meant}?")

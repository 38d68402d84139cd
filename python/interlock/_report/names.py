"""Names that a user writes, and the ones that were meant."""

from __future__ import annotations


class WrongUseError(Exception):
    """A command line that asks for nothing there is."""


class UnknownNameError(WrongUseError):
    """A name that nothing has, with the one that may be meant where there is one."""

    def __init__(self, message: str, meant: str | None = None) -> None:
        super().__init__(message if meant is None else f'{message}; did you mean "{meant}"?')

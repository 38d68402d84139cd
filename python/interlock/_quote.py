"""Quotes values of the caller in error messages."""

from __future__ import annotations

__all__ = ["quoted", "shown"]

# As many characters of an argument as the messages of the extension module repeat.
_LONGEST = 100


def shown(value: object) -> str:
    """Return the repr of an argument for a message, bounded in length."""
    return _shortened(repr(value))


def quoted(text: str) -> str:
    """Return a text in double quotes, bounded in length, as the extension module shows it."""
    return f'"{_shortened(repr(text)[1:-1])}"'


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

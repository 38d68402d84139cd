"""When the report is coloured, and how."""

from __future__ import annotations

import enum
import os
from typing import TextIO


class Choice(enum.StrEnum):
    """What somebody asks for."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Style(enum.StrEnum):
    """How a piece of text looks; the values are what terminals take."""

    PLAIN = ""
    TITLE = "1"
    FAINT = "2"
    PROBLEM = "31"
    SET = "36"


def are_wanted(choice: Choice, stream: TextIO) -> bool:
    """Return whether what is written to a stream is to be coloured."""
    if choice is not Choice.AUTO:
        return choice is Choice.ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def painted(text: str, style: Style) -> str:
    """Return a piece of text with what makes a terminal show it in a style."""
    return f"\x1b[{style}m{text}\x1b[0m" if text and style else text

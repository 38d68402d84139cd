"""Registers flags of an enumeration and of paths."""

import enum
from pathlib import Path

from interlock import backends


class Color(enum.IntEnum):
    AUTO = 1
    NEVER = 2


def is_short(paths):
    return len(paths) < 3


backends.register("typed.color", Color.AUTO, doc="When output is coloured.")
backends.register("typed.paths", [Path("a")], doc="Where files | folders are.", validator=is_short)

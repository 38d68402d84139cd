"""Names of parametrized tests that are equal in every process, as pytest-xdist requires."""

from __future__ import annotations

import re

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def stable_repr(value: object) -> str:
    """Return the representation of an object without its address."""
    return ADDRESS.sub("", repr(value))

"""How plans and errors count and name things."""

from __future__ import annotations

from collections.abc import Collection

from interlock.backends.xeon import _numbers

__all__ = ["counted", "instances"]


def counted(count: int, noun: str) -> str:
    """Return the number with its noun: `1 core`, `2 cores`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def instances(indexes: Collection[int]) -> str:
    """Return the instances by their numbers: `instance 0`, `instances 0-3`."""
    return f"instance{'' if len(indexes) == 1 else 's'} {_numbers.write(indexes)}"

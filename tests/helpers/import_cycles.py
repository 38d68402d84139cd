"""Cycles of imports."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the members of one cycle in order; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []

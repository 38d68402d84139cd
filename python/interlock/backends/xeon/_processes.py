"""Processes that instances have started: as a tree, and when they end."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Collection, Generator, Iterator
from pathlib import Path

__all__ = ["adopting_orphans", "below", "ended_children"]

# Numbers of the kernel's prctl.
_SET_CHILD_SUBREAPER = 36
_GET_CHILD_SUBREAPER = 37


@contextlib.contextmanager
def adopting_orphans() -> Generator[None, None, None]:
    """Let this process inherit children of instances that have gone, to reap them.

    The first process of a container, which would inherit them else, often reaps nothing, and then their
    group would seem to live.
    """
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        yield
        return
    before = ctypes.c_int(0)
    prctl(_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


def ended_children() -> Iterator[int]:
    """Yield each child that has ended, which must be reaped before the next is asked for."""
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            yield ended.si_pid


def below(groups: Collection[int]) -> set[int]:
    """Return what these process groups have started, and what that has started, whatever group it is in."""
    every = tuple(_every())
    found = {process for process, _, group in every if group in groups}
    generation = found
    while generation:
        generation = {process for process, parent, _ in every if parent in generation} - found
        found |= generation
    return found


def _every() -> Iterator[tuple[int, int, int]]:
    """Yield each process of this machine with its parent and its group."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # The name, which stands before, may hold anything, also a bracket.
            _, parent, group, *_ = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            yield int(folder.name), int(parent), int(group)

"""Which line wrote which flag."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlock._core import backends as _native


class Write(NamedTuple):
    """One write of one flag."""

    name: str
    """The dotted name; of a view, the names of the nodes that it shows are written."""
    value: Any
    """What was written; None where `dropped`."""
    dropped: bool
    """Whether what was assigned was dropped (`del`, `reset`, `restore`)."""
    set_by: str
    """`file:line`."""


def writes() -> list[Write]:
    """Return the last writes of flags, of all threads, the oldest first.

    To open a scope is no write; to assign a flag inside of one that decides it is. At most a thousand are
    kept, and none unless the process was started with `INTERLOCK_DEBUG=1`. So it shows which library changes
    flags when it is imported.
    """
    return [Write(*write) for write in _native.written()]

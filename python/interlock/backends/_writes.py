"""Which line wrote which flag."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlock._core import backends as _native


class Write(NamedTuple):
    """One write of one flag."""

    name: str
    """The dotted name; of a view, the names of the nodes that it shows are written."""
    value: Any
    """What was written; None where what was assigned was dropped."""
    set_by: str
    """`file:line`."""


def writes() -> list[Write]:
    """Return the last writes of flags without a scope, of all threads, the oldest first.

    At most a thousand are kept, and none unless the process was started with `INTERLOCK_DEBUG=1`. So it shows
    which library changes flags when it is imported.
    """
    return [Write(*write) for write in _native.written()]

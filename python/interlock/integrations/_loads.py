"""Whether shared libraries were loaded."""

from __future__ import annotations

import sys

from interlock._core import state


def number_of_loads() -> object:
    """Return a value that changes when a shared library is loaded or unloaded.

    Where the C library does not count that, it changes with the number of imported modules.
    """
    return state.number_of_loads() or len(sys.modules)

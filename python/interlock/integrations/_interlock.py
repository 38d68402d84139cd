"""The thread pool of interlock itself, as a setting: `interlock.num_threads`."""

from __future__ import annotations

from functools import cache

import interlock
from interlock.integrations._conversions import positive
from interlock.integrations._thread_pools import FAMILY_OF_THREADS
from interlock.settings._libraries import wrap_writers
from interlock.settings._observer import Observer
from interlock.settings._setting import Setting

IMPORTED = None
PACKAGES = ()


def install(observer: Observer) -> list[Setting]:
    """Return the setting, and wrap the function that writes it."""
    rows = [setting()]
    wrap_writers(observer, rows)
    return rows


@cache
def setting() -> Setting:
    """Return the setting."""
    return Setting(
        "interlock.num_threads",
        get=interlock.get_num_threads,
        set=interlock.set_num_threads,
        convert=positive,
        writers=("interlock.set_num_threads",),
        family=FAMILY_OF_THREADS,
        doc="The number of threads of an operation on tensors of interlock.",
        note="A write is passed on to OpenMP runtimes, for this thread, and to MKL.",
    )

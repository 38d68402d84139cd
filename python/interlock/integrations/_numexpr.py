"""The thread pool of numexpr, as a setting: `numexpr.num_threads`."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from interlock.errors import SettingValueError
from interlock.integrations._conversions import positive
from interlock.settings._libraries import wrap_writers
from interlock.settings._observer import Observer
from interlock.settings._setting import Setting

IMPORTED = "numexpr"
PACKAGES = ("numexpr",)


def install(observer: Observer) -> list[Setting]:
    """Return the setting of the imported numexpr, and wrap the functions that write it."""
    rows = [setting()]
    wrap_writers(observer, rows)
    return rows


@cache
def setting() -> Setting:
    """Return the setting; numexpr is imported."""
    return Setting(
        "numexpr.num_threads",
        get=lambda: int(sys.modules["numexpr"].get_num_threads()),
        set=_set,
        convert=positive,
        writers=("numexpr.set_num_threads", "numexpr.utils.set_num_threads"),
        doc="The number of threads of an expression.",
        note="At most NUMEXPR_MAX_THREADS, which numexpr reads at its import.",
    )


def _set(value: int) -> None:
    numexpr: Any = sys.modules["numexpr"]
    most = numexpr.MAX_THREADS
    if value > most:
        # numexpr itself prints this to standard error, and keeps its number.
        raise SettingValueError(
            f"numexpr accepts at most {most} threads: NUMEXPR_MAX_THREADS, which it reads at its import"
        )
    numexpr.set_num_threads(value)

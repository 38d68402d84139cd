"""Settings of other libraries: who writes them, scopes that hold them, and copies of all.

`enable` makes the settings of a library known, such as `torch.backends.cudnn.benchmark`. A setting of the
process stays one: its value is the same for all threads, and a scope can only hold it exclusively.
"""

from __future__ import annotations

from interlock._homes import set_home
from interlock._lazy import list_exports
from interlock.settings._explain import Explanation, explain, names, writes
from interlock.settings._libraries import Enabled, disable, enable, register
from interlock.settings._override import override, pin
from interlock.settings._setting import Extent, Setting, Unreadable
from interlock.settings._snapshot import Difference, Snapshot, diff, restore, snapshot
from interlock.settings._writes import Watch, Write, watch

__all__ = [
    "Difference",
    "Enabled",
    "Explanation",
    "Extent",
    "Setting",
    "Snapshot",
    "Unreadable",
    "Watch",
    "Write",
    "diff",
    "disable",
    "enable",
    "explain",
    "names",
    "override",
    "pin",
    "register",
    "restore",
    "snapshot",
    "watch",
    "writes",
]

set_home(
    __name__,
    *(Difference, Enabled, Explanation, Extent, Setting, Snapshot, Unreadable, Watch, Write),
    *(override, pin),
)
list_exports(globals())

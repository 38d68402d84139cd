"""Thread pools of the libraries in a process: the CPUs that they may use, their sizes, and scopes for these.

BLAS libraries, OpenMP runtimes, PyTorch and others start as many threads as the machine has CPUs, in each
process. `budget` computes how many this process may use, and `limits` sets the pools to it.
"""

from __future__ import annotations

from interlock._homes import set_home
from interlock._lazy import list_exports
from interlock.threads._budget import Budget, Reason, budget
from interlock.threads._limits import Refusal, limits, set_limits
from interlock.threads._oversubscription import Load, Oversubscription, oversubscription
from interlock.threads._pools import Pool, pools

__all__ = [
    "Budget",
    "Load",
    "Oversubscription",
    "Pool",
    "Reason",
    "Refusal",
    "budget",
    "limits",
    "oversubscription",
    "pools",
    "set_limits",
]

set_home(__name__, Budget, Load, Oversubscription, Pool, Reason, Refusal, limits)
list_exports(globals())

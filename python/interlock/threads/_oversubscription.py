"""Finds pools whose threads exceed the CPUs of this process."""

from __future__ import annotations

import threading
import warnings
from typing import NamedTuple

from interlock._quote import counted, shown
from interlock.errors import ArgumentError, ThreadPoolWarning
from interlock.settings._origin import caller
from interlock.threads._budget import Budget, budget, check_workers
from interlock.threads._pools import START, Pool, listed

# Their pools are shared: calls of several threads wait for each other.
_SHARED = ("openblas", "numexpr")


class Load(NamedTuple):
    """The threads that may run at one time in one pool."""

    pool: str
    """The name of the pool."""
    size: int
    """The size of the pool."""
    threads: int
    """The threads that run if all callers use the pool at one time."""


class Oversubscription(NamedTuple):
    """A report, which is true if more threads than CPUs may run at one time in a pool."""

    budget: Budget
    """The CPUs of this process, with their reasons."""
    callers: int
    """The threads of the program that may call the libraries at one time."""
    loads: tuple[Load, ...]
    """The pools, the one with the most threads first."""

    def __bool__(self) -> bool:
        return any(each.threads > self.budget for each in self.loads)

    @property
    def limit(self) -> int:
        """The size of pools for which the callers do not exceed the budget; at least 1."""
        return max(1, self.budget // self.callers)

    def __str__(self) -> str:
        if not self:
            return f"no pool exceeds {counted(self.budget, 'CPU')} with {counted(self.callers, 'caller')}"
        found = [each for each in self.loads if each.threads > self.budget]
        listed = ", ".join(f"{each.pool} {each.threads} (size {each.size})" for each in found)
        hint = (
            f"use limits({self.limit})"
            if self.limit < max(each.size for each in found)
            else "use fewer callers"
        )
        return (
            f"more threads than {counted(self.budget, 'CPU')} may run with "
            f"{counted(self.callers, 'caller')}: {listed}; {hint}"
        )


def oversubscription(
    callers: int | None = None, *, workers: int | None = None, warn: bool = True
) -> Oversubscription:
    """Report pools in which more threads may run at one time than this process has CPUs.

    Each thread that calls a library may start as many threads as the pool has; the pools of OpenBLAS with
    pthreads and of numexpr are shared by the callers.

    Args:
        callers: The threads of the program that call the libraries at one time; None for all threads that
            Python has started, which are too many if some only wait.
        workers: The argument of `budget`.
        warn: Whether to warn with a `ThreadPoolWarning`, too.

    Returns:
        A report with the threads of each pool, which is true if one exceeds the budget.

    Raises:
        TypeError: `callers` is not an int.
        ArgumentError: `callers` is less than 1.
        UnsupportedError: threadpoolctl 3.8 or newer is missing: `pip install 'threadpoolctl>=3.8'`.

    Example:
        >>> from interlock import threads
        >>> with threads.limits(1, on_refusal="ignore"):
        ...     bool(threads.oversubscription(callers=1))
        False

    """
    if callers is None:
        callers = threading.active_count()
    elif not isinstance(callers, int) or isinstance(callers, bool):
        raise TypeError(f"oversubscription: callers must be a positive int or None, got {shown(callers)}")
    if callers < 1:
        raise ArgumentError(f"oversubscription: callers must be a positive int or None, got {shown(callers)}")
    check_workers("oversubscription", workers)
    return report(budget(workers), callers, listed("oversubscription"), warn=warn)


def report(found: Budget, callers: int, listed: tuple[Pool, ...], *, warn: bool) -> Oversubscription:
    """Return the report of pools that are listed already."""
    # A pool of the extent `start` reads its size from a variable, and may not exist.
    loads = [_load(each, callers) for each in listed if each.size is not None and each.extent != START]
    made = Oversubscription(found, callers, tuple(sorted(loads, key=lambda load: -load.threads)))
    if warn and made:
        origin = caller()
        warnings.warn_explicit(f"oversubscription: {made}", ThreadPoolWarning, origin.file, origin.line)
    return made


def _load(pool: Pool, callers: int) -> Load:
    size = pool.size or 1
    is_shared = pool.extent == "process" and pool.name.partition(".")[0] in _SHARED
    return Load(pool.name, size, size + callers - 1 if is_shared else size * callers)

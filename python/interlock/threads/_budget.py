"""How many CPUs this process may use, and why."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, Self, SupportsIndex

from interlock._cgroup import quotas
from interlock._quote import counted, shown
from interlock.errors import ArgumentError
from interlock.threads._workers import Workers, workers as _workers


class Reason(NamedTuple):
    """One input of a budget, with its reason."""

    input: str
    """Where it comes from: `affinity`, the file of a quota, an environment variable, or a scheduler."""
    text: str
    """The reason for the limit, or why the input is ignored."""
    cpus: float | None
    """The CPUs that remain for this process after this input; None if it is ignored."""

    def __str__(self) -> str:
        return f"{self.input}: {self.text}"


class Budget(int):
    """A number of CPUs, which is an int, with its reasons. `budget` returns it.

    Args:
        value: The number of CPUs.
        reasons: The inputs, in the order in which they were applied.

    """

    reasons: tuple[Reason, ...]
    """The inputs, in the order in which they were applied."""

    def __new__(cls, value: SupportsIndex = 0, reasons: tuple[Reason, ...] = ()) -> Self:
        try:
            made = super().__new__(cls, value)
        except TypeError:
            raise TypeError(f"Budget: value must be an int, got {shown(value)}") from None
        made.reasons = reasons
        return made

    def explain(self) -> str:
        """Return the number and its reasons as a text for people.

        Example:
            >>> from interlock import threads
            >>> print(threads.Budget(2, (threads.Reason("affinity", "2 of 8 CPUs", 2.0),)).explain())
            2 CPUs
              affinity: 2 of 8 CPUs

        """
        lines = [counted(int(self), "CPU"), *(f"  {each}" for each in self.reasons)]
        return "\n".join(lines)


def check_workers(function: str, workers: object) -> None:
    """Raise unless the argument `workers` of a function is a positive int or None."""
    if workers is None:
        return
    wanted = f"{function}: workers must be a positive int or None"
    if not isinstance(workers, int) or isinstance(workers, bool):
        raise TypeError(f"{wanted}, got {type(workers).__name__}")
    if workers < 1:
        raise ArgumentError(f"{wanted}, got {shown(workers)}")


def budget(workers: int | None = None, *, root: str | os.PathLike[str] = "/") -> Budget:
    """Return the number of CPUs that this process may use, with the reasons.

    It is the least of the CPUs of the affinity mask and the CPU quotas of the control groups, divided by the
    processes that share them: ranks of torchrun and workers of pytest-xdist. A worker of Dask, Ray or joblib
    has as many CPUs as its scheduler gave it. Fractions are rounded down, because a quota of 1.5 CPUs
    suspends two busy threads; the result is at least 1.

    Args:
        workers: The number of processes on this machine that share the CPUs, which replaces what launchers
            and schedulers say; None to use that.
        root: The folder with the files of Linux, `proc` and `sys`; tests pass another one.

    Returns:
        An int with the attribute `reasons`. An input with an invalid value, such as a negative variable, is
        ignored, and its reason says so.

    Raises:
        TypeError: `workers` is not an int, or `root` is not a path.
        ArgumentError: `workers` is less than 1.

    Example:
        >>> from interlock import threads
        >>> threads.budget() >= threads.budget(workers=2) >= 1
        True
        >>> threads.budget(workers=2).reasons[-1].input
        'workers'

    """
    check_workers("budget", workers)
    if not isinstance(root, str | os.PathLike):
        raise TypeError(f"budget: root must be a path, got {type(root).__name__}")
    reasons = []
    cpus: Fraction | None = None
    for input, text, limit in _limits(Path(root)):
        if limit is not None:
            cpus = limit if cpus is None else min(cpus, limit)
        reasons.append(Reason(input, text, None if limit is None or cpus is None else float(cpus)))
    assert cpus is not None, "the machine has CPUs"
    said = (
        _workers(os.environ)
        if workers is None
        else [Workers("workers", f"{workers} process{'' if workers == 1 else 'es'}", workers)]
    )
    for input, text, divisor, share in said:
        is_used = divisor > 1 or share is not None or workers is not None
        cpus /= divisor
        if share is not None:
            cpus = min(cpus, Fraction(share))
        if is_used or text.startswith("ignored"):
            reasons.append(Reason(input, text, float(cpus) if is_used else None))
    return Budget(max(1, math.floor(cpus)), tuple(reasons))


def _limits(root: Path) -> Iterator[tuple[str, str, Fraction | None]]:
    """Yield each limit of the system: its input, its reason, and the CPUs that it allows."""
    machine = os.cpu_count() or 1
    # macOS has no affinity.
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else machine
    yield "affinity", f"{allowed} of {counted(machine, 'CPU')}", Fraction(allowed)
    # Since Python 3.13, which accepts another number from the user.
    count = getattr(os, "process_cpu_count", lambda: None)()
    if count is not None and count != allowed:
        text = f"{counted(count, 'CPU')}, or the option -X cpu_count of Python"
        yield "PYTHON_CPU_COUNT", text, Fraction(count)
    for file, cpus, problem in quotas(root):
        yield file, f"a quota of {counted(float(cpus), 'CPU')}" if cpus is not None else str(problem), cpus

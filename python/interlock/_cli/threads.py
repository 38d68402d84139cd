"""The command `threads`: the CPUs that this process may use, and the thread pools of its libraries."""

from __future__ import annotations

from dataclasses import dataclass

from interlock import threads
from interlock._console import Block, Cell, Fields, Row, Section, Style, Table
from interlock.errors import UnsupportedError
from interlock.threads._oversubscription import report


@dataclass(frozen=True)
class Allowed:
    """The CPUs that this process may use, and why."""

    cpus: int
    reasons: tuple[threads.Reason, ...]


@dataclass(frozen=True)
class Threads:
    """The contents of the command."""

    budget: Allowed
    pools: tuple[threads.Pool, ...]
    problem: str | None
    """Why the pools are not known, or which of them exceed the budget."""


def collect() -> Threads:
    """Collect the budget and the pools of the libraries that are loaded."""
    budget = threads.budget()
    allowed = Allowed(int(budget), budget.reasons)
    try:
        found = threads.pools()
    except UnsupportedError as error:
        return Threads(allowed, (), str(error))
    # The threads of the command itself call nothing.
    loads = report(budget, 1, found, warn=False)
    return Threads(allowed, found, str(loads) if loads else None)


def render(collected: Threads) -> tuple[Section, ...]:
    """Render the budget, the pools and the problem."""
    budget = Fields(
        (
            ("CPUs", Cell(str(collected.budget.cpus))),
            *((reason.input, Cell(reason.text)) for reason in collected.budget.reasons),
        )
    )
    sections = [Section("Budget", (budget,)), Section("Thread pools", _pools(collected))]
    return tuple(sections)


def _pools(collected: Threads) -> tuple[Block, ...]:
    problem = () if collected.problem is None else (Cell(collected.problem, Style.PROBLEM),)
    if not collected.pools:
        return problem
    rows = (
        Row(
            (
                Cell(pool.name, no_wrap=True),
                Cell("-" if pool.size is None else str(pool.size)),
                Cell(pool.extent),
                Cell(pool.set_by, no_wrap=True),
                Cell(pool.library),
                Cell(pool.file or "-", no_wrap=True),
            ),
            (Cell(pool.note, Style.DIM),) if pool.note else (),
        )
        for pool in collected.pools
    )
    columns = ("pool", "threads", "extent", "set by", "library", "file")
    return (Table(columns, tuple(rows)), *problem)

"""Renders a plan as text and as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence

from interlock._console import Cell, Layout, Row, Table
from interlock._launcher.messages import instances_text
from interlock._launcher.plan import Instance, Plan
from interlock._launcher.topology import format_cpulist
from interlock._quote import counted

__all__ = ["FORMAT", "as_document", "as_json", "as_text"]

# The version of the JSON document. It increases with every incompatible change.
FORMAT = 1


def as_document(plan: Plan) -> dict[str, object]:
    """Return the plan as a JSON object, whose keys docs/launcher.md documents."""
    topology = plan.topology
    return {
        "format": FORMAT,
        "machine": {
            "logical_cores": len(topology.cores),
            "physical_cores": len({core.physical for core in topology.cores}),
            "nodes": sorted(_nodes(plan)),
            "allowed_cores": sorted(topology.allowed),
            "memory_nodes": sorted(topology.memory_nodes),
            "cpu_quota": topology.quota,
        },
        "pinned": plan.pinned,
        "instances": [
            {
                "index": instance.index,
                "cores": list(instance.cores),
                "nodes": list(instance.nodes),
                "memory_nodes": list(instance.memory_nodes),
                "environment": dict(instance.environment),
                "command": list(instance.command),
                "log": instance.log,
            }
            for instance in plan.instances
        ],
        "notes": [*plan.warnings, *plan.verbose_notes],
    }


def as_json(plan: Plan) -> str:
    """Return the plan as one JSON document."""
    return json.dumps(as_document(plan), indent=2)


def as_text(plan: Plan, width: int | None) -> str:
    """Return the plan as text.

    Args:
        plan: The plan.
        width: The maximum number of columns of a line, which only longer words exceed; None means no limit.

    """
    return "\n".join(_lines(plan, Layout(width)))


def _lines(plan: Plan, layout: Layout) -> Iterator[str]:
    yield from _machine(plan, layout)
    yield ""
    yield from _table(plan, layout)
    yield from _commands(plan.instances, layout.width)
    yield from _environment(plan.instances)
    logs = [instance.log for instance in plan.instances if instance.log is not None]
    yield from _section("logs", logs)
    notes = (*plan.warnings, *plan.verbose_notes)
    if notes:
        yield from ("", "notes")
        for note in notes:
            yield from layout.wrapped(note, "  - ")


def _machine(plan: Plan, layout: Layout) -> Iterator[str]:
    topology = plan.topology
    physical = {core.physical for core in topology.cores}
    text = (
        f"{counted(len(topology.cores), 'logical core')} of "
        f"{counted(len(physical), 'physical core')} on {counted(len(_nodes(plan)), 'node')}; "
        f"available: {format_cpulist(topology.allowed)}"
    )
    yield from layout.wrapped(text, "machine    ")
    used = sum(len(instance.cores) for instance in plan.instances)
    where = f" on {counted(used, 'core')}" if plan.pinned else ", not pinned to cores"
    yield f"plan       {counted(len(plan.instances), 'instance')}{where}"


def _table(plan: Plan, layout: Layout) -> Iterator[str]:
    """Yield a table of the instances: their cores or, if they are not pinned, their numbers of threads."""
    if plan.pinned:
        columns: tuple[str, ...] = ("instance", "count", "nodes", "memory", "cores")
        rows = map(_row, plan.instances)
    else:
        columns = ("instance", "threads", "memory")
        rows = map(_row_without_cores, plan.instances)
    cells = tuple(Row(tuple(map(Cell, row))) for row in rows)
    yield from layout.table(Table(columns, cells, indent=0, right_aligned=True, wraps_last=True))


def _row(instance: Instance) -> tuple[str, ...]:
    index, count = str(instance.index), str(len(instance.cores))
    return index, count, format_cpulist(instance.nodes), _memory(instance), format_cpulist(instance.cores)


def _row_without_cores(instance: Instance) -> tuple[str, ...]:
    threads = instance.environment.get("OMP_NUM_THREADS", "as set")
    return str(instance.index), threads, _memory(instance)


def _memory(instance: Instance) -> str:
    return format_cpulist(instance.memory_nodes) or "any"


def _commands(instances: Sequence[Instance], width: int | None) -> Iterator[str]:
    """Yield each command with the instances that run it. Commands differ only in their memory nodes."""
    commands: dict[tuple[str, ...], list[int]] = {}
    for instance in instances:
        commands.setdefault(instance.command, []).append(instance.index)
    for command, indexes in commands.items():
        yield from ("", "command" if len(commands) == 1 else f"command of {instances_text(indexes)}")
        line = "  "
        for word in map(shlex.quote, command):
            # Reserve two columns for the backslash of a continued line.
            if line.strip() and width is not None and len(line) + len(word) > width - 2:
                yield f"{line}\\"
                line = "    "
            line += f"{word} "
        yield line.rstrip()


def _environment(instances: Sequence[Instance]) -> Iterator[str]:
    """Yield the variables, with the names of the instances if only some of them set a variable."""
    variables: dict[tuple[str, str], list[int]] = {}
    for instance in instances:
        for name, value in instance.environment.items():
            variables.setdefault((name, value), []).append(instance.index)
    lines: list[str] = []
    for (name, value), indexes in sorted(variables.items()):
        suffix = "" if len(indexes) == len(instances) else f"  ({instances_text(indexes)})"
        lines.append(f"{name}={shlex.quote(value)}{suffix}")
    yield from _section("environment", lines)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    indented = [f"  {line}" for line in lines]
    if indented:
        yield from ("", title, *indented)


def _nodes(plan: Plan) -> set[int]:
    return {core.node for core in plan.topology.cores} | plan.topology.memory_nodes

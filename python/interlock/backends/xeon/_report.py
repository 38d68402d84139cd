"""A plan as people read it, and as programs do."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from interlock.backends.xeon import _numbers
from interlock.backends.xeon._plan import Instance, Plan

__all__ = ["FORMAT", "as_document", "as_json", "as_text"]

# Grows with every change that a program which reads the document could stumble over.
FORMAT = 1

_WIDTH = 80
_MARK = "\0"


def as_document(plan: Plan) -> dict[str, object]:
    """Return the plan as what JSON can hold; docs/launcher.md says what each name stands for."""
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
        "notes": list(plan.notes),
    }


def as_json(plan: Plan) -> str:
    """Return the plan as one JSON document."""
    return json.dumps(as_document(plan), indent=2)


def as_text(plan: Plan) -> str:
    """Return the plan for people, in lines of up to 80 columns; only words that are longer themselves are."""
    return "\n".join(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield from _machine(plan)
    yield ""
    yield from _table(plan)
    yield from _commands(plan.instances)
    yield from _environment(plan.instances)
    logs = [instance.log for instance in plan.instances if instance.log is not None]
    yield from _section("logs", logs)
    if plan.notes:
        yield from ("", "notes")
        for note in plan.notes:
            yield from _wrapped(note, "  - ", "    ")


def _machine(plan: Plan) -> Iterator[str]:
    topology = plan.topology
    physical = {core.physical for core in topology.cores}
    text = (
        f"{_counted(len(topology.cores), 'logical core')} of {_counted(len(physical), 'physical core')} "
        f"on {_counted(len(_nodes(plan)), 'node')}; may be used: {_numbers.write(topology.allowed)}"
    )
    yield from _wrapped(text, "machine    ", " " * 11)
    used = sum(len(instance.cores) for instance in plan.instances)
    pinned = "" if plan.pinned else ", not pinned to them"
    counted = _counted(len(plan.instances), "instance")
    yield f"plan       {counted} on {_counted(used, 'core')}{pinned}"


def _table(plan: Plan) -> Iterator[str]:
    rows = [("instance", "count", "nodes", "memory", "cores")]
    for instance in plan.instances:
        memory = _numbers.write(instance.memory_nodes) or "any"
        count = str(len(instance.cores))
        nodes = _numbers.write(instance.nodes)
        rows.append((str(instance.index), count, nodes, memory, _numbers.write(instance.cores)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for *narrow, cores in rows:
        cells = (cell.rjust(width) for cell, width in zip(narrow, widths, strict=True))
        before = "  ".join(cells) + "  "
        yield from _wrapped(cores, before, " " * len(before))


def _commands(instances: Sequence[Instance]) -> Iterator[str]:
    """Yield each command with the instances that run it: they differ in memory nodes only."""
    commands: dict[tuple[str, ...], list[int]] = {}
    for instance in instances:
        commands.setdefault(instance.command, []).append(instance.index)
    for command, indexes in commands.items():
        yield from ("", "command" if len(commands) == 1 else f"command of {_named(indexes)}")
        line = "  "
        for word in map(shlex.quote, command):
            # Two columns stay free for the mark of a line that goes on.
            if line.strip() and len(line) + len(word) > _WIDTH - 2:
                yield f"{line}\\"
                line = "    "
            line += f"{word} "
        yield line.rstrip()


def _environment(instances: Sequence[Instance]) -> Iterator[str]:
    """Yield the variables, with the instances that get them where not all do."""
    variables: dict[tuple[str, str], list[int]] = {}
    for instance in instances:
        for name, value in instance.environment.items():
            variables.setdefault((name, value), []).append(instance.index)
    lines: list[str] = []
    for (name, value), indexes in sorted(variables.items()):
        who = "" if len(indexes) == len(instances) else f"  ({_named(indexes)})"
        lines.append(f"{name}={shlex.quote(value)}{who}")
    yield from _section("environment", lines)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    indented = [f"  {line}" for line in lines]
    if indented:
        yield from ("", title, *indented)


def _nodes(plan: Plan) -> set[int]:
    return {core.node for core in plan.topology.cores} | plan.topology.memory_nodes


def _named(indexes: Sequence[int]) -> str:
    return f"instance{'' if len(indexes) == 1 else 's'} {_numbers.write(indexes)}"


def _wrapped(text: str, first: str, following: str) -> list[str]:
    """Break lines at spaces, and in lists of numbers after commas: a mark stands there meanwhile."""
    lines = textwrap.wrap(
        re.sub(r",(?=[0-9])", f",{_MARK} ", text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(f"{_MARK} ", "").replace(_MARK, "") for line in lines]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

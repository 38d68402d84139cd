"""A plan as people read it, and as programs do."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from interlock.backends.xeon import _numbers, _words
from interlock.backends.xeon._plan import Instance, Plan

__all__ = ["FORMAT", "as_document", "as_json", "as_text"]

# Grows with every change that a program which reads the document could stumble over.
FORMAT = 1

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
        "notes": [*plan.notes, *plan.asides],
    }


def as_json(plan: Plan) -> str:
    """Return the plan as one JSON document."""
    return json.dumps(as_document(plan), indent=2)


def as_text(plan: Plan, width: int | None) -> str:
    """Return the plan for people, in lines of up to so many columns; only words that are longer are.

    None is any number of columns.
    """
    return "\n".join(_lines(plan, width))


def _lines(plan: Plan, width: int | None) -> Iterator[str]:
    yield from _machine(plan, width)
    yield ""
    yield from _table(plan, width)
    yield from _commands(plan.instances, width)
    yield from _environment(plan.instances)
    logs = [instance.log for instance in plan.instances if instance.log is not None]
    yield from _section("logs", logs)
    notes = (*plan.notes, *plan.asides)
    if notes:
        yield from ("", "notes")
        for note in notes:
            yield from _wrapped(note, width, "  - ", "    ")


def _machine(plan: Plan, width: int | None) -> Iterator[str]:
    topology = plan.topology
    physical = {core.physical for core in topology.cores}
    text = (
        f"{_words.counted(len(topology.cores), 'logical core')} of "
        f"{_words.counted(len(physical), 'physical core')} on {_words.counted(len(_nodes(plan)), 'node')}; "
        f"may be used: {_numbers.write(topology.allowed)}"
    )
    yield from _wrapped(text, width, "machine    ", " " * 11)
    used = sum(len(instance.cores) for instance in plan.instances)
    where = f" on {_words.counted(used, 'core')}" if plan.pinned else ", not pinned to cores"
    yield f"plan       {_words.counted(len(plan.instances), 'instance')}{where}"


def _table(plan: Plan, width: int | None) -> Iterator[str]:
    """Yield what each instance gets; where nothing is pinned, cores only say how many threads."""
    if plan.pinned:
        rows = [("instance", "count", "nodes", "memory", "cores"), *map(_row, plan.instances)]
    else:
        rows = [("instance", "threads", "memory"), *map(_row_without_cores, plan.instances)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for *narrow, last in rows:
        cells = (cell.rjust(columns) for cell, columns in zip(narrow, widths, strict=False))
        before = "  ".join(cells) + "  "
        yield from _wrapped(last, width, before, " " * len(before))


def _row(instance: Instance) -> tuple[str, ...]:
    index, count = str(instance.index), str(len(instance.cores))
    return index, count, _numbers.write(instance.nodes), _memory(instance), _numbers.write(instance.cores)


def _row_without_cores(instance: Instance) -> tuple[str, ...]:
    threads = instance.environment.get("OMP_NUM_THREADS", "as set")
    return str(instance.index), threads, _memory(instance)


def _memory(instance: Instance) -> str:
    return _numbers.write(instance.memory_nodes) or "any"


def _commands(instances: Sequence[Instance], width: int | None) -> Iterator[str]:
    """Yield each command with the instances that run it: they differ in memory nodes only."""
    commands: dict[tuple[str, ...], list[int]] = {}
    for instance in instances:
        commands.setdefault(instance.command, []).append(instance.index)
    for command, indexes in commands.items():
        yield from ("", "command" if len(commands) == 1 else f"command of {_words.instances(indexes)}")
        line = "  "
        for word in map(shlex.quote, command):
            # Two columns stay free for the mark of a line that goes on.
            if line.strip() and width is not None and len(line) + len(word) > width - 2:
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
        who = "" if len(indexes) == len(instances) else f"  ({_words.instances(indexes)})"
        lines.append(f"{name}={shlex.quote(value)}{who}")
    yield from _section("environment", lines)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    indented = [f"  {line}" for line in lines]
    if indented:
        yield from ("", title, *indented)


def _nodes(plan: Plan) -> set[int]:
    return {core.node for core in plan.topology.cores} | plan.topology.memory_nodes


def _wrapped(text: str, width: int | None, first: str, following: str) -> list[str]:
    """Break lines at spaces, and in lists of numbers after commas: a mark stands there meanwhile."""
    if width is None:
        return [first + text]
    lines = textwrap.wrap(
        re.sub(r",(?=[0-9])", f",{_MARK} ", text),
        width,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(f"{_MARK} ", "").replace(_MARK, "") for line in lines]

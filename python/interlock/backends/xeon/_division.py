"""Which cores each instance gets."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from interlock.backends.xeon import _numbers, _words
from interlock.backends.xeon._options import LATENCY_CORES, Options
from interlock.backends.xeon._topology import LogicalCore, Topology

__all__ = ["PlanError", "divide", "mark"]

# What tells a launcher below this one that it is one of an outer one's, whose cores are divided already.
_MARK = "RUN_CPU_DIVIDED"

# The most that a rank has.
_DIGITS = 9

_Cores = tuple[LogicalCore, ...]


class PlanError(ValueError):
    """There is no plan: the machine does not have what the options ask for."""


def divide(
    topology: Topology, options: Options, environment: Mapping[str, str]
) -> tuple[dict[int, _Cores], list[str]]:
    """Return the cores of each instance by its number, and what a person should know about them.

    Raises `PlanError`.
    """
    notes: list[str] = []
    rank, ranks = (0, 1) if options.rank is not None else _outer(environment)
    pool = _within_quota(_pool(topology, options), topology.quota, options, ranks, notes)
    if ranks > 1:
        pool = _slice(pool, rank, ranks, notes)
    groups = dict(enumerate(_groups(pool, options)))
    if options.rank is not None:
        if options.rank not in groups:
            raise PlanError(
                f"--rank {options.rank} is beyond the {_words.counted(len(groups), 'instance')} of this "
                f"plan; ranks go from 0 to {len(groups) - 1}"
            )
        groups = {options.rank: groups[options.rank]}
    _note_what_is_odd(pool, groups, options, notes)
    return groups, notes


def _pool(topology: Topology, options: Options) -> _Cores:
    """Return the cores that the options let instances use."""
    if options.core_list is not None:
        return _listed(topology, options.core_list)
    cores = topology.usable(logical=options.use_logical_core)
    if options.node_id is not None:
        nodes = sorted({core.node for core in cores})
        cores = tuple(core for core in cores if core.node == options.node_id)
        if not cores:
            raise PlanError(
                f"--node-id {options.node_id} has no core that may be used; "
                f"nodes with cores are {_numbers.write(nodes)}"
            )
    if not cores:
        raise PlanError("there is no core that may be used")
    return cores


def _listed(topology: Topology, numbers: Sequence[int]) -> _Cores:
    """Return the listed cores by number, which is how PyTorch takes them, too."""
    by_number = {core.number: core for core in topology.cores}
    for number in numbers:
        if number not in topology.allowed:
            why = "may not be used by this process" if number in by_number else "is not there or offline"
            raise PlanError(
                f"core {number} of --core-list {why}; cores that may be used are "
                f"{_numbers.write(topology.allowed)}"
            )
    return tuple(by_number[number] for number in sorted(numbers))


def mark(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that keeps launchers below this one from dividing for the same rank again."""
    ranks = [environment.get(name, "") for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE")]
    return {_MARK: "/".join(ranks)} if all(ranks) else {}


def _outer(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return which of how many launchers this is: what torchrun and others like it tell their children."""
    if _MARK in environment and mark(environment) == {_MARK: environment[_MARK]}:
        return 0, 1
    size = _count(environment, "LOCAL_WORLD_SIZE", least=1)
    rank = _count(environment, "LOCAL_RANK", least=0)
    if rank is None:
        if size is not None and size > 1:
            raise PlanError(f"LOCAL_WORLD_SIZE is {size} and LOCAL_RANK is not set; set both or neither")
        return 0, 1
    if rank >= (size or 1):
        told = f"LOCAL_WORLD_SIZE is {size}" if size else "LOCAL_WORLD_SIZE is not set, which counts as 1"
        raise PlanError(f"LOCAL_RANK is {rank} and {told}; the rank must be less")
    return rank, size or 1


def _count(environment: Mapping[str, str], name: str, *, least: int) -> int | None:
    text = environment.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS and int(text) >= least):
        raise PlanError(
            f"{name} is {reprlib.repr(text)}; it must be a whole number of at least {least}, "
            f"with at most {_DIGITS} digits"
        )
    return int(text)


def _within_quota(
    pool: _Cores, quota: float | None, options: Options, ranks: int, notes: list[str]
) -> _Cores:
    """Return as many cores as control groups grant the time of, unless the options name a number."""
    if quota is None:
        return pool
    granted = max(1, int(quota))
    each = LATENCY_CORES if options.latency_mode else options.ncores_per_instance
    told = f"control groups grant the time of {quota:g} cores"
    if options.core_list is not None or (each and options.ninstances):
        count = options.ninstances or len(pool) // (each or 1)
        wanted = count * (each or len(pool) // count)
        if wanted > granted:
            notes.append(f"{told}, and the options ask for {wanted}")
        return pool
    # At least what was asked for by number.
    least = (each or options.ninstances or 1) * ranks
    limit = max(granted, least)
    if granted < len(pool):
        why = "so" if least <= granted else f"and the options ask for at least {least}:"
        notes.append(f"{told}, {why} {min(limit, len(pool))} of {len(pool)} are used")
    if limit >= len(pool):
        return pool
    if not options.an_instance_per_node:
        return pool[:limit]
    # One of each node after the other, so that the instances stay alike.
    turns = [core for turn in zip_longest(*_by_node(pool)) for core in turn if core is not None]
    kept = set(turns[:limit])
    return tuple(core for core in pool if core in kept)


def _slice(pool: _Cores, rank: int, ranks: int, notes: list[str]) -> _Cores:
    """Return the part of the cores that falls to this one of the launchers that an outer one started."""
    each = len(pool) // ranks
    if each == 0:
        raise PlanError(
            f"LOCAL_WORLD_SIZE is {ranks} and there are only {_described(pool)}; each needs at least one"
        )
    part = pool[rank * each : (rank + 1) * each]
    notes.append(f"LOCAL_RANK {rank} of {ranks} takes {_described(part)} of {len(pool)}")
    return part


def _groups(pool: _Cores, options: Options) -> list[_Cores]:
    if options.an_instance_per_node:
        return _by_node(pool)
    count = options.ninstances
    each = LATENCY_CORES if options.latency_mode else options.ncores_per_instance
    if count is None and each is None:
        return [pool]
    if each is None:
        each = len(pool) // (count or 1)
        if each == 0:
            raise PlanError(
                f"--ninstances {count} is more than the {_described(pool)}; each needs at least one"
            )
    parts = _by_node(pool) if options.skip_cross_node_cores else [pool]
    # What is left at the end of a part is too little for an instance.
    groups = [part[start : start + each] for part in parts for start in range(0, len(part) - each + 1, each)]
    if groups and (count is None or count <= len(groups)):
        return groups[:count]
    asked = "--latency-mode" if options.latency_mode else f"--ncores-per-instance {each}"
    if count is not None:
        asked = f"--ninstances {count} with {asked}"
    within = " on one node each" if options.skip_cross_node_cores else ""
    raise PlanError(
        f"{asked} needs {_words.counted((count or 1) * each, 'core')}{within}; of {_described(pool)} "
        f"there can be {_words.counted(len(groups), 'such instance')}"
    )


def _note_what_is_odd(pool: _Cores, groups: Mapping[int, _Cores], options: Options, notes: list[str]) -> None:
    used = {core.number for group in groups.values() for core in group}
    unused = [core.number for core in pool if core.number not in used]
    if unused and options.rank is None:
        verb = "is" if len(unused) == 1 else "are"
        notes.append(f"{_words.counted(len(unused), 'core')} {verb} left over: {_numbers.write(unused)}")
    across = [index for index, group in groups.items() if len({core.node for core in group}) > 1]
    if across and (len(groups) > 1 or options.rank is not None):
        verb = "has" if len(across) == 1 else "have"
        avoid = "" if options.ncores_per_instance is None else "; --skip-cross-node-cores avoids that"
        notes.append(f"{_words.instances(across)} {verb} cores of more than one node{avoid}")


def _by_node(cores: _Cores) -> list[_Cores]:
    nodes = sorted({core.node for core in cores})
    return [tuple(core for core in cores if core.node == node) for node in nodes]


def _described(cores: _Cores) -> str:
    return f"{_words.counted(len(cores), 'core')} ({_numbers.write(core.number for core in cores)})"

"""The plan: what is run where. It is made of what is known, and asks nothing of the machine."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from dataclasses import dataclass

from interlock.backends.xeon import _division, _environment, _numbers
from interlock.backends.xeon._division import PlanError
from interlock.backends.xeon._found import Found
from interlock.backends.xeon._options import Options
from interlock.backends.xeon._topology import LogicalCore, Topology

__all__ = ["Instance", "Plan", "PlanError", "make"]

# A file's name has at most 255 bytes.
_LONGEST_LIST = 100


@dataclass(frozen=True)
class Instance:
    """One process of the plan."""

    index: int
    cores: tuple[int, ...]
    # The nodes of the cores.
    nodes: tuple[int, ...]
    # The nodes to which numactl binds memory; none where it does not.
    memory_nodes: tuple[int, ...]
    # What differs from the launcher's own environment.
    environment: Mapping[str, str]
    command: tuple[str, ...]
    # The file for its output; None is the launcher's own output.
    log: str | None


@dataclass(frozen=True)
class Plan:
    """What a launch does."""

    topology: Topology
    instances: tuple[Instance, ...]
    # Whether instances are pinned to their cores.
    pinned: bool
    # What a person should know.
    notes: tuple[str, ...]
    # What only a person who looks at the plan wants to know: what was not asked for and is not there.
    asides: tuple[str, ...]
    # What is run, and by whom: a file by Python, a program by the system, or a module.
    program: str
    runs_python_file: bool
    runs_program: bool


def make(
    topology: Topology,
    options: Options,
    environment: Mapping[str, str],
    found: Found,
    *,
    python: str,
    stamp: str,
) -> Plan:
    """Return the plan for these options; `stamp` is part of the names of log files.

    Raises `PlanError` where the machine does not have what they ask for.
    """
    groups, notes = _division.divide(topology, options, environment)
    shared = _environment.changes(options, environment, found)
    bound = _bound(topology, options, groups, found, notes)
    threads = environment.get("OMP_NUM_THREADS")
    if threads is not None and any(threads != str(len(group)) for group in groups.values()):
        notes.append(f"OMP_NUM_THREADS is set already and stays {threads!r}")
    # What is not pinned finds all cores again, and has to take its part of them again.
    mark = {} if options.disable_taskset else _division.mark(environment)
    program = _program(options, python)
    instances: list[Instance] = []
    for index, group in groups.items():
        cores = tuple(core.number for core in group)
        nodes = bound.get(index, ())
        prefix = (found.numactl, f"--membind={_numbers.write(nodes)}") if found.numactl and nodes else ()
        own = {} if threads is not None else {"OMP_NUM_THREADS": str(len(cores))}
        instances.append(
            Instance(
                index,
                cores,
                tuple(sorted({core.node for core in group})),
                nodes,
                own | mark | shared.variables,
                (*prefix, *program),
                _log(options, stamp, index, cores),
            )
        )
    return Plan(
        topology,
        tuple(instances),
        not options.disable_taskset,
        (*notes, *shared.notes),
        tuple(shared.asides),
        options.program,
        not (options.module or options.no_python),
        options.no_python,
    )


def _program(options: Options, python: str) -> tuple[str, ...]:
    before = () if options.no_python else (python, "-u", *(["-m"] if options.module else []))
    return (*before, options.program, *options.arguments)


def _bound(
    topology: Topology,
    options: Options,
    groups: Mapping[int, tuple[LogicalCore, ...]],
    found: Found,
    notes: list[str],
) -> dict[int, tuple[int, ...]]:
    """Return to which nodes the memory of each instance is bound.

    Where only one node has memory there is nothing to choose.
    """
    if options.disable_numactl or len(topology.memory_nodes) < 2:
        return {}
    if found.numactl is None:
        why = "is not installed" if found.numactl_refuses is None else f"fails here ({found.numactl_refuses})"
        notes.append(f"numactl {why}, so memory is not bound to nodes")
        return {}
    bound: dict[int, tuple[int, ...]] = {}
    for index, group in groups.items():
        nodes = {core.node for core in group}
        bound[index] = tuple(sorted(nodes & topology.memory_nodes))
        if not bound[index]:
            notes.append(
                f"the memory of instance {index} is not bound: there is none that may be used on "
                f"node {_numbers.write(nodes)}"
            )
    return bound


def _log(options: Options, stamp: str, index: int, cores: tuple[int, ...]) -> str | None:
    if options.log_path is None:
        return None
    listed = _numbers.write(cores).replace(",", "_")
    if len(listed) > _LONGEST_LIST:
        listed = f"{len(cores)}_from_{min(cores)}"
    prefix = "run" if options.log_file_prefix is None else options.log_file_prefix
    name = f"{prefix}_{stamp}_instance_{index}_cores_{listed}.log"
    return os.path.join(options.log_path, name)

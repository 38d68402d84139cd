"""The plan: which instances run, on which cores, with which environment and command.

It is made from what is known, and asks nothing of the machine.
"""

from __future__ import annotations

import os.path
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from interlock._launcher.args import LATENCY_CORES, Options
from interlock._launcher.discovery import Discovered, preloads
from interlock._launcher.render import counted, instances_text
from interlock._launcher.topology import LogicalCore, Topology, format_cpulist, parse_int

__all__ = ["Instance", "Plan", "PlanError", "make", "nesting_marker", "partition_cores"]

_KMP_AFFINITY = "granularity=fine,compact,1,0"
_KMP_BLOCKTIME = "1"
_MALLOC_CONF = "oversize_threshold:1,background_thread:true,metadata_thp:auto"

# The variable by which a nested launcher recognizes that an outer one has divided the cores already.
_NESTING_VARIABLE = "RUN_CPU_DIVIDED"

_Cores = tuple[LogicalCore, ...]

# The most digits of a rank.
_RANK_DIGITS = 9

# A file's name has at most 255 bytes.
_LONGEST_LIST = 100


class PlanError(ValueError):
    """There is no plan: the machine does not have what the options ask for."""


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
    # Shown before a launch and with the plan.
    warnings: tuple[str, ...]
    # Shown with the plan only: what was not asked for and is not installed.
    verbose_notes: tuple[str, ...]
    # What is run: a file or a module by Python, or a program by the system.
    program: str
    runs_python_file: bool
    runs_program: bool


@dataclass(frozen=True)
class EnvironmentChanges:
    """The variables that all instances get, with warnings and notes about them."""

    variables: dict[str, str] = field(default_factory=dict[str, str])
    warnings: list[str] = field(default_factory=list[str])
    verbose_notes: list[str] = field(default_factory=list[str])


def make(
    topology: Topology,
    options: Options,
    environment: Mapping[str, str],
    found: Discovered,
    *,
    python: str,
    stamp: str,
) -> Plan:
    """Return the plan for these options; `stamp` is part of the names of log files.

    Raises `PlanError` where the machine does not have what they ask for.
    """
    groups, warnings = partition_cores(topology, options, environment)
    shared = environment_changes(options, environment, found)
    bound = _bound(topology, options, groups, found, warnings)
    threads = environment.get("OMP_NUM_THREADS")
    if threads is not None and any(threads != str(len(group)) for group in groups.values()):
        warnings.append(f"OMP_NUM_THREADS is set already and stays {threads!r}")
    # What is not pinned finds all cores again, and has to take its part of them again.
    mark = {} if options.disable_taskset else nesting_marker(environment)
    program = _program(options, python)
    instances: list[Instance] = []
    for index, group in groups.items():
        cores = tuple(core.number for core in group)
        nodes = bound.get(index, ())
        prefix = (found.numactl, f"--membind={format_cpulist(nodes)}") if found.numactl and nodes else ()
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
        (*warnings, *shared.warnings),
        tuple(shared.verbose_notes),
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
    found: Discovered,
    warnings: list[str],
) -> dict[int, tuple[int, ...]]:
    """Return to which nodes the memory of each instance is bound.

    Where only one node has memory there is nothing to choose.
    """
    if options.disable_numactl or len(topology.memory_nodes) < 2:
        return {}
    if found.numactl is None:
        why = "is not installed" if found.numactl_refuses is None else f"fails here ({found.numactl_refuses})"
        warnings.append(f"numactl {why}, so memory is not bound to nodes")
        return {}
    bound: dict[int, tuple[int, ...]] = {}
    for index, group in groups.items():
        nodes = {core.node for core in group}
        bound[index] = tuple(sorted(nodes & topology.memory_nodes))
        if not bound[index]:
            warnings.append(
                f"the memory of instance {index} is not bound: there is none that may be used on "
                f"node {format_cpulist(nodes)}"
            )
    return bound


def _log(options: Options, stamp: str, index: int, cores: tuple[int, ...]) -> str | None:
    if options.log_path is None:
        return None
    listed = format_cpulist(cores).replace(",", "_")
    if len(listed) > _LONGEST_LIST:
        listed = f"{len(cores)}_from_{min(cores)}"
    prefix = "run" if options.log_file_prefix is None else options.log_file_prefix
    name = f"{prefix}_{stamp}_instance_{index}_cores_{listed}.log"
    return os.path.join(options.log_path, name)


def partition_cores(
    topology: Topology, options: Options, environment: Mapping[str, str]
) -> tuple[dict[int, _Cores], list[str]]:
    """Return the cores of each instance by its number, and warnings about them.

    Raises `PlanError`.
    """
    warnings: list[str] = []
    rank, ranks = (0, 1) if options.rank is not None else _outer_rank(environment)
    pool = _within_quota(_pool(topology, options), topology.quota, options, ranks, warnings)
    if ranks > 1:
        pool = _slice(pool, rank, ranks, warnings)
    groups = dict(enumerate(_groups(pool, options)))
    if options.rank is not None:
        if options.rank not in groups:
            raise PlanError(
                f"--rank {options.rank} is beyond the {counted(len(groups), 'instance')} of this "
                f"plan; ranks go from 0 to {len(groups) - 1}"
            )
        groups = {options.rank: groups[options.rank]}
    _add_warnings(pool, groups, options, warnings)
    return groups, warnings


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
                f"nodes with cores are {format_cpulist(nodes)}"
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
                f"{format_cpulist(topology.allowed)}"
            )
    return tuple(by_number[number] for number in sorted(numbers))


def nesting_marker(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that keeps launchers below this one from dividing for the same rank again."""
    ranks = [environment.get(name, "") for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE")]
    return {_NESTING_VARIABLE: "/".join(ranks)} if all(ranks) else {}


def _outer_rank(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return which of how many launchers this is: what torchrun and others like it tell their children."""
    nested = {_NESTING_VARIABLE: environment.get(_NESTING_VARIABLE, "")}
    if nesting_marker(environment) == nested:
        return 0, 1
    size = _count(environment, "LOCAL_WORLD_SIZE", least=1)
    rank = _count(environment, "LOCAL_RANK", least=0)
    if rank is None:
        if size is not None and size > 1:
            raise PlanError(f"LOCAL_WORLD_SIZE is {size} and LOCAL_RANK is not set; set both or neither")
        return 0, 1
    if rank >= (size or 1):
        known = f"LOCAL_WORLD_SIZE is {size}" if size else "LOCAL_WORLD_SIZE is not set, which counts as 1"
        raise PlanError(f"LOCAL_RANK is {rank} and {known}; the rank must be less")
    return rank, size or 1


def _count(environment: Mapping[str, str], name: str, *, least: int) -> int | None:
    text = environment.get(name, "")
    if not text:
        return None
    number = parse_int(text, minimum=least, digits=_RANK_DIGITS)
    if number is None:
        raise PlanError(
            f"{name} is {reprlib.repr(text)}; it must be a whole number of at least {least}, "
            f"with at most {_RANK_DIGITS} digits"
        )
    return number


def _within_quota(
    pool: _Cores, quota: float | None, options: Options, ranks: int, warnings: list[str]
) -> _Cores:
    """Return as many cores as control groups grant the time of, unless the options name a number."""
    if quota is None:
        return pool
    granted = max(1, int(quota))
    each = LATENCY_CORES if options.latency_mode else options.ncores_per_instance
    grant = f"control groups grant the time of {quota:g} cores"
    if options.core_list is not None or (each and options.ninstances):
        count = options.ninstances or len(pool) // (each or 1)
        wanted = count * (each or len(pool) // count)
        if wanted > granted:
            warnings.append(f"{grant}, and the options ask for {wanted}")
        return pool
    # At least what was asked for by number.
    least = (each or options.ninstances or 1) * ranks
    limit = max(granted, least)
    if granted < len(pool):
        why = "so" if least <= granted else f"and the options ask for at least {least}:"
        warnings.append(f"{grant}, {why} {min(limit, len(pool))} of {len(pool)} are used")
    if limit >= len(pool):
        return pool
    if not options.an_instance_per_node:
        return pool[:limit]
    # One of each node after the other, so that the instances stay alike.
    turns = [core for turn in zip_longest(*_by_node(pool)) for core in turn if core is not None]
    kept = set(turns[:limit])
    return tuple(core for core in pool if core in kept)


def _slice(pool: _Cores, rank: int, ranks: int, warnings: list[str]) -> _Cores:
    """Return the part of the cores that falls to this one of the launchers that an outer one started."""
    each = len(pool) // ranks
    if each == 0:
        raise PlanError(
            f"LOCAL_WORLD_SIZE is {ranks} and there are only {_described(pool)}; each needs at least one"
        )
    part = pool[rank * each : (rank + 1) * each]
    warnings.append(f"LOCAL_RANK {rank} of {ranks} takes {_described(part)} of {len(pool)}")
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
        f"{asked} needs {counted((count or 1) * each, 'core')}{within}; of {_described(pool)} "
        f"there can be {counted(len(groups), 'such instance')}"
    )


def _add_warnings(pool: _Cores, groups: Mapping[int, _Cores], options: Options, warnings: list[str]) -> None:
    used = {core.number for group in groups.values() for core in group}
    unused = [core.number for core in pool if core.number not in used]
    if unused and options.rank is None:
        verb = "is" if len(unused) == 1 else "are"
        warnings.append(f"{counted(len(unused), 'core')} {verb} left over: {format_cpulist(unused)}")
    across = [index for index, group in groups.items() if len({core.node for core in group}) > 1]
    if across and (len(groups) > 1 or options.rank is not None):
        verb = "has" if len(across) == 1 else "have"
        avoid = "" if options.ncores_per_instance is None else "; --skip-cross-node-cores avoids that"
        warnings.append(f"{instances_text(across)} {verb} cores of more than one node{avoid}")


def _by_node(cores: _Cores) -> list[_Cores]:
    nodes = sorted({core.node for core in cores})
    return [tuple(core for core in cores if core.node == node) for node in nodes]


def _described(cores: _Cores) -> str:
    return f"{counted(len(cores), 'core')} ({format_cpulist(core.number for core in cores)})"


def environment_changes(
    options: Options, environment: Mapping[str, str], found: Discovered
) -> EnvironmentChanges:
    """Return what all instances get. A variable that is set already stays; only LD_PRELOAD is added to."""
    changed = EnvironmentChanges()
    changed.warnings.extend(
        f"{entry} of LD_PRELOAD does not exist and is taken out" for entry in found.missing_preloads
    )
    kept = [entry for entry in preloads(environment) if entry not in found.missing_preloads]
    added: list[str] = []
    wanted: dict[str, str] = {}
    if _allocator(options, found, kept, added, changed.warnings) == "jemalloc":
        wanted["MALLOC_CONF"] = _MALLOC_CONF
    if not options.disable_iomp:
        if _preload("iomp5", found, kept, added):
            if _places_threads(options):
                wanted["KMP_AFFINITY"] = _KMP_AFFINITY
            wanted["KMP_BLOCKTIME"] = _KMP_BLOCKTIME
        else:
            absence = _absence("iomp5", found)
            changed.verbose_notes.append(f"{absence}: programs use the OpenMP runtime that they bring")
    for name, value in wanted.items():
        if name not in environment:
            changed.variables[name] = value
        elif environment[name] != value:
            changed.warnings.append(f"{name} is set already and stays {environment[name]!r}")
    if added or found.missing_preloads:
        changed.variables["LD_PRELOAD"] = ":".join([*added, *kept])
    return changed


def _allocator(
    options: Options, found: Discovered, kept: list[str], added: list[str], warnings: list[str]
) -> str | None:
    """Preload the allocator that is asked for, or else the first of the two that there is."""
    if options.use_default_allocator:
        return None
    asked = "tcmalloc" if options.enable_tcmalloc else "jemalloc" if options.enable_jemalloc else None
    given = [file for entry in kept if "malloc" in (file := entry.rpartition("/")[2])]
    if given and not asked:
        # A preloaded allocator is the user's choice: mimalloc, or another build of these two.
        return "jemalloc" if given[0].startswith("libjemalloc.so") else None
    for name in [asked] if asked else ["tcmalloc", "jemalloc"]:
        if _preload(name, found, kept, added):
            return name
    if asked:
        warnings.append(f"--enable-{asked}: {_absence(asked, found)}, so the system's allocator stays")
    return None


def _absence(name: str, found: Discovered) -> str:
    """Return why a library is not preloaded."""
    if name not in found.not_preloadable:
        return f"lib{name}.so is not found"
    return (
        f"{found.not_preloadable[name]!r} can't be preloaded, for LD_PRELOAD is divided at spaces and colons"
    )


def _preload(name: str, found: Discovered, kept: list[str], added: list[str]) -> bool:
    """Return whether this library is preloaded, by LD_PRELOAD as it is set or from now on."""
    if any(entry.rpartition("/")[2].startswith(f"lib{name}.so") for entry in kept):
        return True
    if name in found.libraries:
        added.insert(0, found.libraries[name])
        return True
    return False


def _places_threads(options: Options) -> bool:
    """Return whether Intel's runtime is to bind threads to the cores of their instance, closely packed.

    An instance that is not pinned would get the first cores of the machine, as all others would, and one
    with all logical cores would leave out hyper-threads.
    """
    has_all = options.use_logical_core and options.node_id is None and options.core_list is None
    return not options.disable_taskset and not has_all

"""Computes the plan: the instances, and the cores, environment and command of each.

The functions are pure: they use the topology and the discovered libraries and do not access the system.
"""

from __future__ import annotations

import os.path
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from interlock._launcher.args import LATENCY_CORES, Options
from interlock._launcher.discovery import Discovered, preloads
from interlock._launcher.messages import instances_text
from interlock._launcher.topology import LogicalCore, Topology, format_cpulist, parse_int
from interlock._quote import counted

__all__ = ["Instance", "Plan", "PlanError", "make", "nesting_marker", "partition_cores"]

_KMP_AFFINITY = "granularity=fine,compact,1,0"
_KMP_BLOCKTIME = "1"
_MALLOC_CONF = "oversize_threshold:1,background_thread:true,metadata_thp:auto"

# An outer launcher sets this variable, so that a nested one does not divide the cores again.
_NESTING_VARIABLE = "RUN_CPU_DIVIDED"

_Cores = tuple[LogicalCore, ...]

# The maximum number of digits of a rank.
_RANK_DIGITS = 9

# The maximum length of the list of cores in the name of a log file. File names have at most 255 bytes.
_MAX_CORES_IN_NAME = 100


class PlanError(ValueError):
    """The options require more than the machine has, so there is no plan."""


@dataclass(frozen=True)
class Instance:
    """A process of the plan."""

    index: int
    cores: tuple[int, ...]
    # The nodes of the cores.
    nodes: tuple[int, ...]
    # The nodes to which numactl binds memory; empty if it does not.
    memory_nodes: tuple[int, ...]
    # Variables that are set in addition to the environment of the launcher.
    environment: Mapping[str, str]
    command: tuple[str, ...]
    # The file for its output; None means the output of the launcher.
    log: str | None


@dataclass(frozen=True)
class Plan:
    """The instances of a launch, and messages about them."""

    topology: Topology
    instances: tuple[Instance, ...]
    # Whether instances are pinned to their cores.
    pinned: bool
    # Printed before a launch and with the plan.
    warnings: tuple[str, ...]
    # Printed with the plan only: optional libraries that are not installed.
    verbose_notes: tuple[str, ...]
    # The Python file, module or executable.
    program: str
    runs_python_file: bool
    runs_program: bool


@dataclass(frozen=True)
class EnvironmentChanges:
    """The variables that are set for all instances, with warnings and notes about them."""

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
    """Compute the plan for the options.

    Args:
        topology: The cores and nodes of the machine.
        options: The parsed command line.
        environment: The environment of the launcher.
        found: The discovered libraries.
        python: The Python interpreter that runs Python programs.
        stamp: A time stamp for the names of log files.

    Raises:
        PlanError: The options require more than the machine has.

    """
    groups, warnings = partition_cores(topology, options, environment)
    shared = environment_changes(options, environment, found)
    bound = _bind_memory(topology, options, groups, found, warnings)
    threads = environment.get("OMP_NUM_THREADS")
    if threads is not None and any(threads != str(len(group)) for group in groups.values()):
        warnings.append(f"OMP_NUM_THREADS is already set to {threads!r} and is not changed")
    # A nested launcher in an instance that is not pinned sees all cores, so it must divide them again.
    marker = {} if options.disable_taskset else nesting_marker(environment)
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
                own | marker | shared.variables,
                (*prefix, *program),
                _log_path(options, stamp, index, cores),
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
    interpreter = () if options.no_python else (python, "-u", *(["-m"] if options.module else []))
    return (*interpreter, options.program, *options.arguments)


def _bind_memory(
    topology: Topology,
    options: Options,
    groups: Mapping[int, tuple[LogicalCore, ...]],
    found: Discovered,
    warnings: list[str],
) -> dict[int, tuple[int, ...]]:
    """Return the memory nodes to which each instance is bound, by index.

    Empty if only one node has memory or numactl cannot be used.
    """
    if options.disable_numactl or len(topology.memory_nodes) < 2:
        return {}
    if found.numactl is None:
        reason = "is not installed" if found.numactl_error is None else f"fails ({found.numactl_error})"
        warnings.append(f"numactl {reason}, so memory is not bound to nodes")
        return {}
    bound: dict[int, tuple[int, ...]] = {}
    for index, group in groups.items():
        nodes = {core.node for core in group}
        bound[index] = tuple(sorted(nodes & topology.memory_nodes))
        if not bound[index]:
            warnings.append(
                f"the memory of instance {index} is not bound: node {format_cpulist(nodes)} has no memory "
                "that this process may use"
            )
    return bound


def _log_path(options: Options, stamp: str, index: int, cores: tuple[int, ...]) -> str | None:
    if options.log_path is None:
        return None
    listed = format_cpulist(cores).replace(",", "_")
    if len(listed) > _MAX_CORES_IN_NAME:
        listed = f"{len(cores)}_from_{min(cores)}"
    prefix = "run" if options.log_file_prefix is None else options.log_file_prefix
    name = f"{prefix}_{stamp}_instance_{index}_cores_{listed}.log"
    return os.path.join(options.log_path, name)


def partition_cores(
    topology: Topology, options: Options, environment: Mapping[str, str]
) -> tuple[dict[int, _Cores], list[str]]:
    """Assign cores to instances.

    Returns:
        The cores of each instance by index, and warnings.

    Raises:
        PlanError: There are not enough cores.

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
                f"--rank {options.rank} is out of range for {counted(len(groups), 'instance')}; "
                f"valid ranks are from 0 to {len(groups) - 1}"
            )
        groups = {options.rank: groups[options.rank]}
    _add_warnings(pool, groups, options, warnings)
    return groups, warnings


def _pool(topology: Topology, options: Options) -> _Cores:
    """Return the cores that the options allow."""
    if options.core_list is not None:
        return _listed(topology, options.core_list)
    cores = topology.usable(logical=options.use_logical_core)
    if options.node_id is not None:
        nodes = sorted({core.node for core in cores})
        cores = tuple(core for core in cores if core.node == options.node_id)
        if not cores:
            raise PlanError(
                f"--node-id {options.node_id} has no core that this process may use; "
                f"nodes with cores are {format_cpulist(nodes)}"
            )
    if not cores:
        raise PlanError("there is no core that this process may use")
    return cores


def _listed(topology: Topology, numbers: Sequence[int]) -> _Cores:
    """Return the listed cores in ascending order, as PyTorch's launcher does."""
    by_number = {core.number: core for core in topology.cores}
    for number in numbers:
        if number not in topology.allowed:
            reason = (
                "may not be used by this process" if number in by_number else "does not exist or is offline"
            )
            raise PlanError(
                f"core {number} of --core-list {reason}; available cores are "
                f"{format_cpulist(topology.allowed)}"
            )
    return tuple(by_number[number] for number in sorted(numbers))


def nesting_marker(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that prevents nested launchers from dividing the cores for the same rank again."""
    ranks = [environment.get(name, "") for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE")]
    return {_NESTING_VARIABLE: "/".join(ranks)} if all(ranks) else {}


def _outer_rank(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the local rank and world size that torchrun or a similar program has set."""
    nested = {_NESTING_VARIABLE: environment.get(_NESTING_VARIABLE, "")}
    if nesting_marker(environment) == nested:
        return 0, 1
    size = _read_count(environment, "LOCAL_WORLD_SIZE", minimum=1)
    rank = _read_count(environment, "LOCAL_RANK", minimum=0)
    if rank is None:
        if size is not None and size > 1:
            raise PlanError(f"LOCAL_WORLD_SIZE is {size} and LOCAL_RANK is not set; set both or neither")
        return 0, 1
    if rank >= (size or 1):
        limit = f"LOCAL_WORLD_SIZE is {size}" if size else "LOCAL_WORLD_SIZE is not set, which means 1"
        raise PlanError(f"LOCAL_RANK is {rank} and {limit}; the rank must be smaller")
    return rank, size or 1


def _read_count(environment: Mapping[str, str], name: str, *, minimum: int) -> int | None:
    text = environment.get(name, "")
    if not text:
        return None
    number = parse_int(text, minimum=minimum, digits=_RANK_DIGITS)
    if number is None:
        raise PlanError(
            f"{name} is {reprlib.repr(text)}; it must be an integer of at least {minimum}, "
            f"with at most {_RANK_DIGITS} digits"
        )
    return number


def _within_quota(
    pool: _Cores, quota: float | None, options: Options, ranks: int, warnings: list[str]
) -> _Cores:
    """Limit the cores to the CPU quota of the control groups, unless the options give a number."""
    if quota is None:
        return pool
    granted = max(1, int(quota))
    each, sizes = _cores_of_all(options), options.sizes
    quota_text = f"the CPU quota of the control groups is {quota:g} cores"
    if options.core_list is not None or sizes:
        count = options.ninstances or len(pool) // (each or 1)
        wanted = sum(sizes) if sizes else count * (each or len(pool) // count)
        if wanted > granted:
            warnings.append(f"{quota_text}, and the options request {wanted}")
        return pool
    # The quota does not reduce a number that the options request.
    least = (each or options.ninstances or 1) * ranks
    limit = max(granted, least)
    if granted < len(pool):
        reason = "so" if least <= granted else f"and the options request at least {least}:"
        warnings.append(f"{quota_text}, {reason} {min(limit, len(pool))} of {len(pool)} are used")
    if limit >= len(pool):
        return pool
    if not options.one_instance_per_node:
        return pool[:limit]
    # Take cores from the nodes in turn, so that all instances have about the same number.
    interleaved = [core for turn in zip_longest(*_by_node(pool)) for core in turn if core is not None]
    selected = set(interleaved[:limit])
    return tuple(core for core in pool if core in selected)


def _slice(pool: _Cores, rank: int, ranks: int, warnings: list[str]) -> _Cores:
    """Return the share of the cores for one local rank."""
    each = len(pool) // ranks
    if each == 0:
        raise PlanError(
            f"LOCAL_WORLD_SIZE is {ranks} and there are only {_describe(pool)}; each rank needs one"
        )
    part = pool[rank * each : (rank + 1) * each]
    warnings.append(f"LOCAL_RANK {rank} of {ranks} uses {_describe(part)} of {len(pool)}")
    return part


def _groups(pool: _Cores, options: Options) -> list[_Cores]:
    if options.one_instance_per_node:
        return _by_node(pool)
    count = options.ninstances
    each = _cores_of_all(options)
    if count is None and options.ncores_per_instance is None and each is None:
        return [pool]
    if options.ncores_per_instance is not None and len(options.ncores_per_instance) > 1:
        return _groups_of_sizes(pool, options.ncores_per_instance, options)
    if each is None and options.skip_cross_node_cores:
        return _first_nodes(pool, count or 1)
    if each is None:
        each = len(pool) // (count or 1)
        if each == 0:
            raise PlanError(f"--ninstances {count} is more than {_describe(pool)}; each instance needs one")
    parts = _by_node(pool) if options.skip_cross_node_cores else [pool]
    # The remaining cores of a part are too few for an instance.
    groups = [part[start : start + each] for part in parts for start in range(0, len(part) - each + 1, each)]
    rest = pool[len(groups) * each :]
    if options.latency_mode and rest and not options.skip_cross_node_cores:
        # This mode uses all cores.
        groups.append(rest)
    if groups and (count is None or count <= len(groups)):
        return groups[:count]
    requested = "--latency-mode" if options.latency_mode else f"--ncores-per-instance {each}"
    if count is not None:
        requested = f"--ninstances {count} with {requested}"
    within = " on one node each" if options.skip_cross_node_cores else ""
    raise PlanError(
        f"{requested} needs {counted((count or 1) * each, 'core')}{within}; {_describe(pool)} "
        f"are enough for {counted(len(groups), 'instance')}"
    )


def _cores_of_all(options: Options) -> int | None:
    """Return the number of cores that all instances have, if the options give one."""
    if options.latency_mode:
        return LATENCY_CORES
    numbers = options.ncores_per_instance
    return numbers[0] if numbers is not None and len(numbers) == 1 else None


def _groups_of_sizes(pool: _Cores, sizes: Sequence[int], options: Options) -> list[_Cores]:
    """Return instances with these numbers of cores: of one node each, if cores of two are to be avoided."""
    requested = f"--ncores-per-instance {' '.join(map(str, sizes))}"
    if not options.skip_cross_node_cores:
        if sum(sizes) > len(pool):
            raise PlanError(f"{requested} needs {counted(sum(sizes), 'core')}; there are {_describe(pool)}")
        starts = [sum(sizes[:index]) for index in range(len(sizes))]
        return [pool[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    nodes = _by_node(pool)
    if len(sizes) > len(nodes):
        raise PlanError(
            f"{requested} with --skip-cross-node-cores needs a node for each instance; "
            f"there are {counted(len(nodes), 'node')} with cores"
        )
    for size, node in zip(sizes, nodes, strict=False):
        if size > len(node):
            raise PlanError(
                f"{requested} with --skip-cross-node-cores needs {counted(size, 'core')} of node "
                f"{node[0].node}, which has {_describe(node)}"
            )
    return [node[:size] for size, node in zip(sizes, nodes, strict=False)]


def _first_nodes(pool: _Cores, count: int) -> list[_Cores]:
    """Return one instance for each of the first nodes."""
    nodes = _by_node(pool)
    if count > len(nodes):
        raise PlanError(
            f"--ninstances {count} with --skip-cross-node-cores needs a node for each instance; "
            f"there are {counted(len(nodes), 'node')} with cores"
        )
    return nodes[:count]


def _add_warnings(pool: _Cores, groups: Mapping[int, _Cores], options: Options, warnings: list[str]) -> None:
    used = {core.number for group in groups.values() for core in group}
    unused = [core.number for core in pool if core.number not in used]
    if unused and options.rank is None:
        verb = "is" if len(unused) == 1 else "are"
        warnings.append(f"{counted(len(unused), 'core')} {verb} unused: {format_cpulist(unused)}")
    across = [index for index, group in groups.items() if len({core.node for core in group}) > 1]
    if across and (len(groups) > 1 or options.rank is not None):
        verb = "has" if len(across) == 1 else "have"
        hint = "" if options.ncores_per_instance is None else "; --skip-cross-node-cores avoids this"
        warnings.append(f"{instances_text(across)} {verb} cores of more than one node{hint}")


def _by_node(cores: _Cores) -> list[_Cores]:
    nodes = sorted({core.node for core in cores})
    return [tuple(core for core in cores if core.node == node) for node in nodes]


def _describe(cores: _Cores) -> str:
    return f"{counted(len(cores), 'core')} ({format_cpulist(core.number for core in cores)})"


def environment_changes(
    options: Options, environment: Mapping[str, str], found: Discovered
) -> EnvironmentChanges:
    """Return the variables to set for all instances.

    A variable that is already set is not changed, except that libraries are added to LD_PRELOAD.
    """
    changed = EnvironmentChanges()
    changed.warnings.extend(
        f"{entry} in LD_PRELOAD does not exist and is removed" for entry in found.missing_preloads
    )
    existing = [entry for entry in preloads(environment) if entry not in found.missing_preloads]
    added: list[str] = []
    wanted: dict[str, str] = {}
    if _allocator(options, found, existing, added, changed.warnings) == "jemalloc":
        wanted["MALLOC_CONF"] = _MALLOC_CONF
    if not options.disable_iomp:
        if _preload("iomp5", found, existing, added):
            if _sets_kmp_affinity(options):
                wanted["KMP_AFFINITY"] = _KMP_AFFINITY
            wanted["KMP_BLOCKTIME"] = _KMP_BLOCKTIME
        else:
            absence = _absence("iomp5", found)
            changed.verbose_notes.append(f"{absence}: programs use their own OpenMP runtime")
    for name, value in wanted.items():
        if name not in environment:
            changed.variables[name] = value
        elif environment[name] != value:
            changed.warnings.append(f"{name} is already set to {environment[name]!r} and is not changed")
    if added or found.missing_preloads:
        changed.variables["LD_PRELOAD"] = ":".join([*added, *existing])
    return changed


def _allocator(
    options: Options, found: Discovered, existing: list[str], added: list[str], warnings: list[str]
) -> str | None:
    """Preload the requested allocator, or else the first that is installed, and return its name."""
    if options.use_default_allocator:
        return None
    requested = "tcmalloc" if options.enable_tcmalloc else "jemalloc" if options.enable_jemalloc else None
    preloaded = [file for entry in existing if "malloc" in (file := entry.rpartition("/")[2])]
    if preloaded and not requested:
        # The user has preloaded an allocator: mimalloc, or another build of these two.
        return "jemalloc" if preloaded[0].startswith("libjemalloc.so") else None
    for name in [requested] if requested else ["tcmalloc", "jemalloc"]:
        if _preload(name, found, existing, added):
            return name
    if requested:
        absence = _absence(requested, found)
        warnings.append(f"--enable-{requested}: {absence}, so the system allocator is used")
    return None


def _absence(name: str, found: Discovered) -> str:
    """Return why a library cannot be preloaded."""
    if name not in found.not_preloadable:
        return f"lib{name}.so was not found"
    return f"{found.not_preloadable[name]!r} cannot be preloaded: LD_PRELOAD is split at spaces and colons"


def _preload(name: str, found: Discovered, existing: list[str], added: list[str]) -> bool:
    """Add a library to the preloaded ones unless LD_PRELOAD has it. Return whether it is preloaded."""
    if any(entry.rpartition("/")[2].startswith(f"lib{name}.so") for entry in existing):
        return True
    if name in found.libraries:
        added.insert(0, found.libraries[name])
        return True
    return False


def _sets_kmp_affinity(options: Options) -> bool:
    """Return whether to set KMP_AFFINITY, with which Intel's runtime binds threads to consecutive cores.

    Without pinning, all instances would use the first cores of the machine. With all logical cores, an
    instance would leave hyper-threads unused.
    """
    has_all = options.use_logical_core and options.node_id is None and options.core_list is None
    return not options.disable_taskset and not has_all

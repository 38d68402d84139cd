"""Reads the cores and NUMA nodes of this machine, and which of them this process may use.

Everything is read from files in a root folder, so that tests can supply the files of other machines. Affinity
and control groups limit what the process may use.
"""

from __future__ import annotations

import contextlib
import os.path
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from interlock._cgroup import quotas

__all__ = ["LogicalCore", "Topology", "TopologyError", "format_cpulist", "parse_cpulist", "parse_int", "read"]


class TopologyError(Exception):
    """The topology of the machine cannot be read."""


@dataclass(frozen=True)
class LogicalCore:
    """A logical core: a core, or one of its hyper-threads."""

    number: int
    # The lowest online logical core of the same physical core.
    physical: int
    socket: int
    node: int


@dataclass(frozen=True)
class Topology:
    """The cores and NUMA nodes of the machine, and which of them this process may use."""

    # The online cores, in ascending order.
    cores: tuple[LogicalCore, ...]
    allowed: frozenset[int]
    # The nodes with memory that this process may use.
    memory_nodes: frozenset[int]
    # The CPU quota of the control groups, in cores.
    quota: float | None = None

    def usable(self, *, logical: bool) -> tuple[LogicalCore, ...]:
        """Return the cores that this process may use, ordered by node and physical core.

        Args:
            logical: Whether to return all logical cores, or only the first one of each physical core.

        """
        order = [core for core in self.cores if core.number in self.allowed]
        order.sort(key=lambda core: (core.node, core.physical, core.number))
        if logical:
            return tuple(order)
        first: dict[int, LogicalCore] = {}
        for core in order:
            first.setdefault(core.physical, core)
        return tuple(first.values())


def read(root: Path, affinity: Collection[int] | None = None) -> Topology:
    """Read the topology from the files of the kernel.

    Args:
        root: The folder that contains `proc` and `sys`.
        affinity: The cores on which this thread may run; None reads them from `proc/self/status`.

    Raises:
        TopologyError: There is no `sys/devices/system/cpu`.

    """
    folder = root / "sys" / "devices" / "system" / "cpu"
    if not os.path.isdir(folder):
        raise TopologyError("this launcher needs Linux: /sys/devices/system/cpu does not exist")
    nodes = _nodes(folder.parent / "node")
    node_of = {number: node for node, numbers in nodes.items() for number in numbers}
    online = _list(folder / "online") or _folders(folder, "cpu")
    cores = tuple(_core(folder, number, node_of.get(number, 0)) for number in sorted(set(online)))
    allowed = frozenset(core.number for core in cores)
    status = _status(root)
    for limit in (
        frozenset(affinity) if affinity is not None else status.get("Cpus_allowed_list"),
        _cpuset_cores(root),
    ):
        # Ignore a limit that excludes all cores.
        allowed = (allowed & limit or allowed) if limit else allowed
    with_memory = _with_memory(folder.parent / "node", nodes)
    for limit in (status.get("Mems_allowed_list"), _cpuset_memory_nodes(root)):
        with_memory = with_memory & limit if limit else with_memory
    return Topology(cores, allowed, with_memory, _cpu_quota(root))


def _core(folder: Path, number: int, node: int) -> LogicalCore:
    details = folder / f"cpu{number}" / "topology"
    siblings = _list(details / "thread_siblings_list") or _list(details / "core_cpus_list")
    socket = _list(details / "physical_package_id")
    return LogicalCore(number, min((*siblings, number)), socket[0] if socket else 0, node)


def _nodes(folder: Path) -> dict[int, tuple[int, ...]]:
    """Return the logical cores of each node. Without NUMA support there is one node, with all cores."""
    found = _list(folder / "online") or _folders(folder, "node") or (0,)
    return {node: _list(folder / f"node{node}" / "cpulist") for node in found}


def _with_memory(folder: Path, nodes: Collection[int]) -> frozenset[int]:
    with_memory = _list(folder / "has_memory")
    if with_memory:
        return frozenset(with_memory)
    empty = {
        node
        for node in nodes
        if re.search(r"MemTotal:\s+0 kB", _read_text(folder / f"node{node}" / "meminfo"))
    }
    return frozenset(nodes) - empty


def _status(root: Path) -> dict[str, frozenset[int]]:
    """Return the allowed cores and memory nodes in `proc/self/status`, by the name of the line."""
    lines = (line.partition(":") for line in _read_text(root / "proc" / "self" / "status").splitlines())
    return {name: frozenset(_parsed(text)) for name, _, text in lines if name.endswith("_allowed_list")}


def _folders(folder: Path, prefix: str) -> tuple[int, ...]:
    def numbers() -> Iterator[int]:
        for path in folder.glob(f"{prefix}[0-9]*"):
            number = parse_int(path.name.removeprefix(prefix))
            if number is not None and _read_text(path / "online").strip() != "0":
                yield number

    return tuple(sorted(numbers()))


def _list(path: Path) -> tuple[int, ...]:
    return _parsed(_read_text(path))


def _parsed(text: str) -> tuple[int, ...]:
    try:
        return parse_cpulist(text)
    except ValueError:
        return ()


def _read_text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _cpu_quota(root: Path) -> float | None:
    """Return the smallest CPU quota of the control groups of this process in cores, or None."""
    return min((float(each.cpus) for each in quotas(root) if each.cpus is not None), default=None)


def _cpuset_cores(root: Path) -> frozenset[int] | None:
    """Return the logical cores of the effective cpuset, or None if there is no cpuset."""
    return _cpuset(root, ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"))


def _cpuset_memory_nodes(root: Path) -> frozenset[int] | None:
    """Return the memory nodes of the effective cpuset, or None if there is no cpuset."""
    return _cpuset(root, ("cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"))


def _cpuset(root: Path, names: tuple[str, ...]) -> frozenset[int] | None:
    for folder in _cpuset_folders(root):
        for name in names:
            with contextlib.suppress(ValueError):
                numbers = parse_cpulist(_read_text(folder / name))
                if numbers:
                    return frozenset(numbers)
    return None


def _cpuset_folders(root: Path) -> Iterator[Path]:
    """Yield the folders of the process's control group of cpusets and its ancestors, the innermost first.

    In a container the path often is that of the host and does not exist; some of its ancestors do, at least
    the root of the mount.
    """
    mounted = root / "sys" / "fs" / "cgroup"
    for line in _read_text(root / "proc" / "self" / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            mounts = [mounted, mounted / "unified"]
        elif "cpuset" in controllers.split(","):
            mounts = [mounted / name for name in dict.fromkeys((controllers, "cpuset"))]
        else:
            continue
        inner = PurePosixPath(path.lstrip("/"))
        # The path of a group outside of the cgroup namespace begins with ".."; it has no folder here.
        folders = [PurePosixPath()] if ".." in inner.parts else [inner, *inner.parents]
        for mount in mounts:
            yield from (mount / folder for folder in folders)


_RANGE = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")

# The kernel supports at most 8192 logical cores; a much larger number is an error.
_NUMBER_LIMIT = 1 << 16


def parse_cpulist(text: str) -> tuple[int, ...]:
    """Return the numbers of a list such as `0,4-7`, in the order of the list.

    Raises:
        ValueError: A part is neither a number nor a range. The message contains it.

    """
    if not text.strip():
        return ()
    numbers: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part.strip()!r} is neither a number nor a range such as 0-3")
        first, last = parse_int(match[1]), parse_int(match[2] or match[1])
        if first is None or last is None or max(first, last) >= _NUMBER_LIMIT:
            raise ValueError(f"{match[2] or match[1]} is too large: numbers go up to {_NUMBER_LIMIT - 1}")
        if last < first:
            raise ValueError(f"the range {part.strip()!r} ends before it begins")
        numbers.extend(range(first, last + 1))
    return tuple(numbers)


def format_cpulist(numbers: Iterable[int]) -> str:
    """Return numbers as a list such as `0,4-7`, in ascending order."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


_INT = re.compile(r"-?[0-9]+")


def parse_int(text: str, *, minimum: int = 0, digits: int = 18) -> int | None:
    """Return a decimal integer of at least `minimum` and at most `digits` digits, or None for other text."""
    if not _INT.fullmatch(text) or len(text.lstrip("-")) > digits:
        return None
    number = int(text)
    return number if number >= minimum else None

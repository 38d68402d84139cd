"""The cores and memory nodes of this machine, and those that this process may use, as the kernel lists them.

Everything is read from files below a root folder, so that tests can supply the files of other machines. The
limits are those of the process's affinity and of its control groups.
"""

from __future__ import annotations

import contextlib
import os.path
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

__all__ = ["LogicalCore", "Topology", "TopologyError", "format_cpulist", "parse_cpulist", "parse_int", "read"]


class TopologyError(Exception):
    """The machine does not tell what it has."""


@dataclass(frozen=True)
class LogicalCore:
    """What the kernel runs one thread on: a core, or one of its hyper-threads."""

    number: int
    # The lowest logical core that is online of the same physical core.
    physical: int
    socket: int
    node: int


@dataclass(frozen=True)
class Topology:
    """What the machine has, and what of it this process may use."""

    # Those that are online, by number.
    cores: tuple[LogicalCore, ...]
    allowed: frozenset[int]
    # Nodes with memory that this process may use.
    memory_nodes: frozenset[int]
    # To how many cores' worth of time control groups hold this process.
    quota: float | None = None

    def usable(self, *, logical: bool) -> tuple[LogicalCore, ...]:
        """Return the cores that may be used, node by node.

        Logical cores of one physical core lie side by side, so that as few instances as possible share one.
        Otherwise the first that may be used stands for a physical core.
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
    """Read the topology; `affinity` is where this thread may run, and None asks the files for that, too.

    Raises `TopologyError` where the kernel has no such files.
    """
    folder = root / "sys" / "devices" / "system" / "cpu"
    if not os.path.isdir(folder):
        raise TopologyError("this launcher needs Linux: it reads /sys/devices/system/cpu, which is not there")
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
        # A file that contradicts all others says nothing.
        allowed = (allowed & limit or allowed) if limit else allowed
    with_memory = _with_memory(folder.parent / "node", nodes)
    for limit in (status.get("Mems_allowed_list"), _cpuset_memory_nodes(root)):
        with_memory = with_memory & limit if limit else with_memory
    return Topology(cores, allowed, with_memory, _cpu_quota(root))


def _core(folder: Path, number: int, node: int) -> LogicalCore:
    about = folder / f"cpu{number}" / "topology"
    siblings = _list(about / "thread_siblings_list") or _list(about / "core_cpus_list")
    socket = _list(about / "physical_package_id")
    return LogicalCore(number, min((*siblings, number)), socket[0] if socket else 0, node)


def _nodes(folder: Path) -> dict[int, tuple[int, ...]]:
    """Return the logical cores of each node; a kernel without nodes has one with all of them."""
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
    """Return the lists in the status of this process, by their names."""
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
    """Return to how many cores' worth of time this process is held, or None where it is to none.

    Groups around the process's own count as well: the tightest decides.
    """
    shares = [share for folder in _cgroup_folders(root, "cpu") for share in _cpu_shares(folder)]
    return min(shares, default=None)


def _cpuset_cores(root: Path) -> frozenset[int] | None:
    """Return the logical cores of the cpuset in force, or None where there is no cpuset."""
    return _cpuset(root, ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"))


def _cpuset_memory_nodes(root: Path) -> frozenset[int] | None:
    """Return the memory nodes of the cpuset in force, or None where there is no cpuset."""
    return _cpuset(root, ("cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"))


def _cpuset(root: Path, names: tuple[str, ...]) -> frozenset[int] | None:
    for folder in _cgroup_folders(root, "cpuset"):
        for name in names:
            with contextlib.suppress(ValueError):
                numbers = parse_cpulist(_read_text(folder / name))
                if numbers:
                    return frozenset(numbers)
    return None


def _cpu_shares(folder: Path) -> Iterator[float]:
    """Yield what a group of version 2 or 1 says; where there is no limit, the number is `max` or -1."""
    together = _read_text(folder / "cpu.max").split()
    apart = [_read_text(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    for words in (together, apart):
        if len(words) == 2:
            time, period = parse_int(words[0]), parse_int(words[1], minimum=1)
            if time is not None and period is not None:
                yield time / period


def _cgroup_folders(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the process's group and of those around it, the innermost first.

    A container often shows a path of the host that is not there: then the groups around it, up to the root
    of what is mounted, are what there is.
    """
    mounted = root / "sys" / "fs" / "cgroup"
    for line in _read_text(root / "proc" / "self" / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            mounts = [mounted, mounted / "unified"]
        elif controller in controllers.split(","):
            mounts = [mounted / name for name in dict.fromkeys((controllers, controller))]
        else:
            continue
        inner = PurePosixPath(path.lstrip("/"))
        # A group outside of the namespace of this process begins with "..", and is in no folder here.
        folders = [PurePosixPath()] if ".." in inner.parts else [inner, *inner.parents]
        for mount in mounts:
            yield from (mount / folder for folder in folders)


_RANGE = re.compile(r"\s*([0-9]+)\s*(?:-\s*([0-9]+)\s*)?")

# The kernel numbers at most 8192 logical cores; a range that is far longer is a slip.
_END_OF_NUMBERS = 1 << 16


def parse_cpulist(text: str) -> tuple[int, ...]:
    """Return the numbers of a list in the order in which it names them.

    Raises ValueError, with the part that is no number and no range.
    """
    if not text.strip():
        return ()
    numbers: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part.strip()!r} is neither a number nor a range such as 0-3")
        first, last = parse_int(match[1]), parse_int(match[2] or match[1])
        if first is None or last is None or max(first, last) >= _END_OF_NUMBERS:
            raise ValueError(f"{match[2] or match[1]} is too large: numbers go up to {_END_OF_NUMBERS - 1}")
        if last < first:
            raise ValueError(f"the range {part.strip()!r} ends before it begins")
        numbers.extend(range(first, last + 1))
    return tuple(numbers)


def format_cpulist(numbers: Iterable[int]) -> str:
    """Return the shortest list of these numbers, in ascending order."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


_INT = re.compile(r"-?[0-9]+")


def parse_int(text: str, *, minimum: int = 0, digits: int = 18) -> int | None:
    """Return a decimal integer of at least `minimum` with at most so many digits, or None for other text."""
    if not _INT.fullmatch(text) or len(text.lstrip("-")) > digits:
        return None
    number = int(text)
    return number if number >= minimum else None

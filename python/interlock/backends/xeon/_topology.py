"""Which cores and memory nodes this machine has and this process may use, as the kernel tells it.

Everything is read from files below a root folder, so that tests can hand in those of other machines.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from interlock.backends.xeon import _cgroup, _numbers

__all__ = ["LogicalCore", "Topology", "TopologyError", "read"]


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
        _cgroup.cores(root),
    ):
        # A file that contradicts all others says nothing.
        allowed = (allowed & limit or allowed) if limit else allowed
    with_memory = _with_memory(folder.parent / "node", nodes)
    for limit in (status.get("Mems_allowed_list"), _cgroup.memory_nodes(root)):
        with_memory = with_memory & limit if limit else with_memory
    return Topology(cores, allowed, with_memory, _cgroup.quota(root))


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
    told = _list(folder / "has_memory")
    if told:
        return frozenset(told)
    empty = {
        node for node in nodes if re.search(r"MemTotal:\s+0 kB", _text(folder / f"node{node}" / "meminfo"))
    }
    return frozenset(nodes) - empty


def _status(root: Path) -> dict[str, frozenset[int]]:
    """Return the lists in the status of this process, by their names."""
    lines = (line.partition(":") for line in _text(root / "proc" / "self" / "status").splitlines())
    return {name: frozenset(_parsed(text)) for name, _, text in lines if name.endswith("_allowed_list")}


def _folders(folder: Path, prefix: str) -> tuple[int, ...]:
    def numbers() -> Iterator[int]:
        for path in folder.glob(f"{prefix}[0-9]*"):
            if path.name.removeprefix(prefix).isdecimal() and _text(path / "online").strip() != "0":
                yield int(path.name.removeprefix(prefix))

    return tuple(sorted(numbers()))


def _list(path: Path) -> tuple[int, ...]:
    return _parsed(_text(path))


def _parsed(text: str) -> tuple[int, ...]:
    try:
        return _numbers.parse(text)
    except ValueError:
        return ()


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

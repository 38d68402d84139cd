"""What the control groups of this process allow: cores, memory nodes and processor time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from interlock.backends.xeon import _numbers

__all__ = ["cores", "memory_nodes", "quota"]


def quota(root: Path) -> float | None:
    """Return to how many cores' worth of time this process is held, or None where it is to none.

    Groups around the process's own count as well: the tightest decides.
    """
    shares = [share for folder in _groups(root, "cpu") for share in _shares(folder)]
    return min(shares, default=None)


def cores(root: Path) -> frozenset[int] | None:
    """Return the logical cores of the cpuset in force, or None where there is no cpuset."""
    return _set(root, ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"))


def memory_nodes(root: Path) -> frozenset[int] | None:
    """Return the memory nodes of the cpuset in force, or None where there is no cpuset."""
    return _set(root, ("cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"))


def _set(root: Path, names: tuple[str, ...]) -> frozenset[int] | None:
    for folder in _groups(root, "cpuset"):
        for name in names:
            with contextlib.suppress(ValueError):
                numbers = _numbers.parse(_text(folder / name))
                if numbers:
                    return frozenset(numbers)
    return None


def _shares(folder: Path) -> Iterator[float]:
    """Yield what a group of version 2 or 1 says; where there is no limit, the number is `max` or -1."""
    together = _text(folder / "cpu.max").split()
    apart = [_text(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    for words in (together, apart):
        if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]) > 0:
            yield int(words[0]) / int(words[1])


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the process's group and of those around it, the innermost first.

    A container often shows a path of the host that is not there: then the groups around it, up to the root
    of what is mounted, are what there is.
    """
    mounted = root / "sys" / "fs" / "cgroup"
    for line in _text(root / "proc" / "self" / "cgroup").splitlines():
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


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

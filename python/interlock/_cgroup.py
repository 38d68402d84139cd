"""The CPU quota of the control groups of this process, read from files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from interlock._quote import quoted

# The octal escapes of spaces and backslashes in /proc/self/mountinfo.
_ESCAPE = re.compile(r"\\([0-7]{3})")
# Containers may hide /proc/self/mountinfo; these are the mount points of all distributions.
_DEFAULT_MOUNTS = {2: "/sys/fs/cgroup", 1: "/sys/fs/cgroup/cpu"}


# The kernel stores numbers of 64 bits.
_LARGEST = 2**64 - 1


class Quota(NamedTuple):
    """The CPU quota of one group, or the reason why its files are ignored."""

    file: str
    """The file, without the folder in which tests create files."""
    cpus: Fraction | None
    """The quota divided by the period."""
    problem: str | None = None
    """Why the file is ignored."""


class _Mount(NamedTuple):
    version: int
    root: PurePosixPath
    """The group at the mount point, as paths of groups name it."""
    point: PurePosixPath


def quotas(root: Path) -> list[Quota]:
    """Return the quotas of the groups of this process and of their parents, the innermost first.

    Groups without a quota are left out. Linux only; elsewhere the files do not exist.

    Args:
        root: The folder that contains `proc` and `sys`.

    """
    try:
        text = (root / "proc/self/cgroup").read_text(errors="replace")
    except OSError:
        return []
    found: list[Quota] = []
    mounts = _mounts(root)
    for line in text.splitlines():
        hierarchy, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if not colon or not path.startswith("/"):
            found.append(Quota("/proc/self/cgroup", None, f"ignored: unexpected line {quoted(line)}"))
        elif hierarchy == "0" and not controllers:
            found += _of_group(root, mounts.get(2), PurePosixPath(path))
        elif "cpu" in controllers.split(","):
            found += _of_group(root, mounts.get(1), PurePosixPath(path))
    return found


def _mounts(root: Path) -> dict[int, _Mount]:
    """Return where the hierarchy of version 2, and that of version 1 with the CPU controller, are mounted."""
    try:
        text = (root / "proc/self/mountinfo").read_text(errors="replace")
    except OSError:
        return {
            version: _Mount(version, PurePosixPath("/"), PurePosixPath(point))
            for version, point in _DEFAULT_MOUNTS.items()
        }
    found: dict[int, _Mount] = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        version = 2 if kind[0] == "cgroup2" else 1
        if version == 2 or "cpu" in kind[2].split(","):
            mount = _Mount(version, PurePosixPath(_unescape(fields[3])), PurePosixPath(_unescape(fields[4])))
            found.setdefault(version, mount)
    return found


def _unescape(path: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), path)


def _of_group(root: Path, mount: _Mount | None, group: PurePosixPath) -> Iterator[Quota]:
    if mount is None:
        return
    # In a container the mount may begin at the container's group, or show other groups than the path names.
    inside = group.relative_to(mount.root) if group.is_relative_to(mount.root) else PurePosixPath()
    if ".." in inside.parts:
        inside = PurePosixPath()
    folder = mount.point / inside
    read = _version_2 if mount.version == 2 else _version_1
    while True:
        quota = read(root, folder)
        if quota is not None:
            yield quota
        if folder in (mount.point, folder.parent):
            return
        folder = folder.parent


def _read(root: Path, file: PurePosixPath) -> str | None:
    """Return the text of a file; None if it does not exist or cannot be read."""
    try:
        return (root / file.relative_to("/")).read_text(errors="replace").strip()
    except OSError:
        return None


def _version_2(root: Path, folder: PurePosixPath) -> Quota | None:
    file = folder / "cpu.max"
    text = _read(root, file)
    if text is None:
        return None
    quota, _, period = text.partition(" ")
    if quota == "max":
        return None
    return _quota(str(file), quota, period or "100000", text)


def _version_1(root: Path, folder: PurePosixPath) -> Quota | None:
    file = folder / "cpu.cfs_quota_us"
    quota, period = _read(root, file), _read(root, folder / "cpu.cfs_period_us")
    if quota is None or quota == "-1":
        return None
    return _quota(str(file), quota, "100000" if period is None else period, f"{quota} {period}")


def _quota(file: str, quota: str, period: str, text: str) -> Quota:
    try:
        microseconds = int(quota), int(period)
    except ValueError:
        microseconds = (0, 0)
    if min(microseconds) < 1 or max(microseconds) > _LARGEST:
        problem = f"ignored: a quota and a period in microseconds are expected, got {quoted(text)}"
        return Quota(file, None, problem)
    return Quota(file, Fraction(*microseconds))

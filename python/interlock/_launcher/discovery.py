"""Searches this machine for libraries to preload and for numactl."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Discovered", "discover", "preloads"]

# The file names of each library. Runtime packages of Linux distributions install only the versioned names.
_FILES = {
    "iomp5": ("libiomp5.so",),
    "tcmalloc": ("libtcmalloc.so", "libtcmalloc.so.4"),
    "jemalloc": ("libjemalloc.so", "libjemalloc.so.2"),
}
_SYSTEM_FOLDERS = ("usr/local/lib", "usr/local/lib64", "usr/lib", "usr/lib64")

# A numactl that hangs must not block the launcher.
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class Discovered:
    """The libraries and the numactl that the planner can use."""

    # Paths by library: `iomp5`, `tcmalloc` and `jemalloc`.
    libraries: Mapping[str, str] = field(default_factory=dict[str, str])
    # Paths of libraries whose only path contains a separator of LD_PRELOAD.
    not_preloadable: Mapping[str, str] = field(default_factory=dict[str, str])
    numactl: str | None = None
    # The error of an installed numactl that cannot be used.
    numactl_error: str | None = None
    # Entries of LD_PRELOAD that name no file.
    missing_preloads: tuple[str, ...] = ()


def discover(
    environment: Mapping[str, str],
    *,
    root: Path,
    prefix: Path,
    multiarch: str | None,
    memory_nodes: Collection[int],
) -> Discovered:
    """Search for libraries and numactl. numactl is tried if there is more than one memory node."""
    folders = tuple(_folders(environment, root, prefix, multiarch))
    paths = {name: tuple(_paths(name, folders)) for name in _FILES}
    libraries = {
        name: path for name in _FILES if (path := next(filter(_can_be_preloaded, paths[name]), None))
    }
    others = {name: paths[name][0] for name in _FILES if paths[name] and name not in libraries}
    missing = tuple(entry for entry in preloads(environment) if _is_missing(entry))
    numactl = shutil.which("numactl", path=environment.get("PATH")) if len(memory_nodes) > 1 else None
    error = None if numactl is None else _try_numactl(numactl, min(memory_nodes), environment)
    return Discovered(
        libraries=libraries,
        not_preloadable=others,
        numactl=None if error else numactl,
        numactl_error=error,
        missing_preloads=missing,
    )


def preloads(environment: Mapping[str, str]) -> list[str]:
    """Return the entries of LD_PRELOAD, which colons and spaces separate."""
    return environment.get("LD_PRELOAD", "").replace(":", " ").split()


def _is_missing(entry: str) -> bool:
    # The loader searches for a name without a slash, and expands $LIB, $ORIGIN and $PLATFORM.
    return "/" in entry and "$" not in entry and not os.path.exists(entry)


def _folders(
    environment: Mapping[str, str], root: Path, prefix: Path, multiarch: str | None
) -> Iterator[Path]:
    for variable in ("CONDA_PREFIX", "VIRTUAL_ENV"):
        if environment.get(variable):
            yield Path(environment[variable]) / "lib"
    yield prefix / "lib"
    if environment.get("HOME"):
        yield Path(environment["HOME"]) / ".local" / "lib"
    for folder in _SYSTEM_FOLDERS:
        yield root / folder
        if multiarch and folder.endswith("lib"):
            yield root / folder / multiarch


def _paths(name: str, folders: tuple[Path, ...]) -> Iterator[str]:
    for folder in folders:
        for file in _FILES[name]:
            # Unlike `Path.is_file`, this returns False if permission is denied.
            if os.path.isfile(folder / file):
                yield str(folder / file)


def _can_be_preloaded(path: str) -> bool:
    """Return whether LD_PRELOAD can contain a path: it must not contain a colon or a space."""
    return not any(separator in path for separator in ": ")


def _try_numactl(numactl: str, node: int, environment: Mapping[str, str]) -> str | None:
    """Return why numactl cannot bind memory, or None if it can. Containers often forbid `set_mempolicy`."""
    try:
        result = subprocess.run(
            [numactl, f"--membind={node}", "true"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if result.returncode == 0:
        return None
    message = result.stderr.decode(errors="replace").split("\n", 1)[0].strip()
    return message or f"exit status {result.returncode}"

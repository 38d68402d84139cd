"""Looks for what helps a program on this machine: libraries to preload, and numactl."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Discovered", "discover", "preloads"]

# What each library is called in a file system; packages of distributions without headers have only the
# names with a number.
_FILES = {
    "iomp5": ("libiomp5.so",),
    "tcmalloc": ("libtcmalloc.so", "libtcmalloc.so.4"),
    "jemalloc": ("libjemalloc.so", "libjemalloc.so.2"),
}
_SYSTEM = ("usr/local/lib", "usr/local/lib64", "usr/lib", "usr/lib64")

# A numactl that does not answer must not block the launcher.
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class Discovered:
    """The installed libraries and numactl. The planner needs no other files of the machine."""

    # By the names `iomp5`, `tcmalloc` and `jemalloc`.
    libraries: Mapping[str, str] = field(default_factory=dict[str, str])
    # By the same names, those that are only where LD_PRELOAD can't name them.
    not_preloadable: Mapping[str, str] = field(default_factory=dict[str, str])
    numactl: str | None = None
    # Why numactl, which is installed, can't be used.
    numactl_refuses: str | None = None
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
    """Look for libraries and for numactl, which is tried where there are memory nodes to choose between."""
    places = tuple(_places(environment, root, prefix, multiarch))
    paths = {name: tuple(_paths(name, places)) for name in _FILES}
    libraries = {
        name: path for name in _FILES if (path := next(filter(_can_be_preloaded, paths[name]), None))
    }
    others = {name: paths[name][0] for name in _FILES if paths[name] and name not in libraries}
    missing = tuple(entry for entry in preloads(environment) if _is_missing(entry))
    numactl = shutil.which("numactl", path=environment.get("PATH")) if len(memory_nodes) > 1 else None
    refuses = None if numactl is None else _refusal(numactl, min(memory_nodes), environment)
    return Discovered(
        libraries=libraries,
        not_preloadable=others,
        numactl=None if refuses else numactl,
        numactl_refuses=refuses,
        missing_preloads=missing,
    )


def preloads(environment: Mapping[str, str]) -> list[str]:
    """Return the entries of LD_PRELOAD, which the loader divides at colons and at spaces."""
    return environment.get("LD_PRELOAD", "").replace(":", " ").split()


def _is_missing(entry: str) -> bool:
    # The loader itself looks for a plain name, and puts folders in the place of $LIB, $ORIGIN and $PLATFORM.
    return "/" in entry and "$" not in entry and not os.path.exists(entry)


def _places(
    environment: Mapping[str, str], root: Path, prefix: Path, multiarch: str | None
) -> Iterator[Path]:
    for variable in ("CONDA_PREFIX", "VIRTUAL_ENV"):
        if environment.get(variable):
            yield Path(environment[variable]) / "lib"
    yield prefix / "lib"
    if environment.get("HOME"):
        yield Path(environment["HOME"]) / ".local" / "lib"
    for folder in _SYSTEM:
        yield root / folder
        if multiarch and folder.endswith("lib"):
            yield root / folder / multiarch


def _paths(name: str, places: tuple[Path, ...]) -> Iterator[str]:
    for folder in places:
        for file in _FILES[name]:
            # Unlike a Path, this says no where it may not look.
            if os.path.isfile(folder / file):
                yield str(folder / file)


def _can_be_preloaded(path: str) -> bool:
    """Return whether LD_PRELOAD can name a path, which has neither of the characters that divide it."""
    return not any(divider in path for divider in ": ")


def _refusal(numactl: str, node: int, environment: Mapping[str, str]) -> str | None:
    """Return why numactl may not bind memory here: containers often forbid the call."""
    try:
        tried = subprocess.run(
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
    if tried.returncode == 0:
        return None
    message = tried.stderr.decode(errors="replace").split("\n", 1)[0].strip()
    return message or f"it ended with {tried.returncode}"

"""The vendor libraries that this process finds, and the OpenMP runtimes that it has loaded."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.backends import libraries as _libraries, openmp
from interlock.errors import LibraryNotFoundError


@dataclass(frozen=True)
class Library:
    """A vendor library, and what is wrong with it."""

    name: str
    path: str | None
    source: str | None
    is_loaded: bool
    version: str | None
    problem: str | None


@dataclass(frozen=True)
class Runtime:
    """An OpenMP runtime of this process."""

    name: str
    path: str
    version: str | None
    threads: int | None


def libraries(*, load: bool) -> tuple[Library, ...]:
    """Return what the search finds of each library. Only with `load` are those loaded that it finds."""
    return tuple(_library(name, load) for name in _libraries.NAMES)


def _library(name: str, load: bool) -> Library:
    """Return what the search finds of one library."""
    path = source = version = problem = None
    is_loaded = False
    try:
        found = _libraries.find(name)
        path, source, is_loaded, version = found.path, found.source, found.is_loaded, found.version
        if load and path is not None:
            found = _libraries.load(name)
            path, source, is_loaded, version = found.path, found.source, found.is_loaded, found.version
    except LibraryNotFoundError as error:
        problem = str(error)
    return Library(name, path, None if source is None else str(source), is_loaded, version, problem)


def runtimes() -> tuple[Runtime, ...]:
    """Return the OpenMP runtimes that are loaded."""
    return tuple(Runtime(*runtime) for runtime in openmp.runtimes())

"""The vendor libraries that this process finds, and the OpenMP runtimes that it has loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    # All are looked for first: one that is loaded brings others, of which the search then says no more.
    found = tuple(_found(name) for name in _libraries.NAMES)
    if not load:
        return found
    return tuple(library if library.path is None else _loaded(library) for library in found)


def _found(name: str) -> Library:
    try:
        return _described(_libraries.find(name))
    except LibraryNotFoundError as error:
        return Library(name, None, None, False, None, problem=str(error))


def _loaded(library: Library) -> Library:
    try:
        loaded = _described(_libraries.load(library.name))
    except LibraryNotFoundError as error:
        return replace(library, problem=str(error))
    return replace(loaded, source=library.source) if loaded.path == library.path else loaded


def _described(found: _libraries.Library) -> Library:
    source = None if found.source is None else str(found.source)
    return Library(found.name, found.path, source, found.is_loaded, found.version, None)


def runtimes() -> tuple[Runtime, ...]:
    """Return the OpenMP runtimes that are loaded."""
    return tuple(Runtime(*runtime) for runtime in openmp.runtimes())

"""Finds and loads vendor libraries, such as cuDNN, and reports their paths and versions.

interlock is not linked to vendor libraries, and importing it loads none. A library is searched in this order:
the path that the user gives, the libraries that are already loaded, the installed Python packages (NVIDIA's
wheels, and the `lib` folder of the installation for Intel's), the folders of the environment
(`LD_LIBRARY_PATH`, `CUDA_HOME`, `CUDA_PATH`, `CONDA_PREFIX`), and the folders of the system.

The user gives a path in `INTERLOCK_<NAME>_PATH`, such as `INTERLOCK_CUDNN_PATH`, or as an argument of `load`.
It is the library's file or the folder that contains it. Such a path is authoritative: if it cannot be used,
`LibraryPathError` is raised and the search does not continue.
"""

from __future__ import annotations

import enum
import sys
from os import PathLike
from typing import NamedTuple

from interlock._core import backends as _native
from interlock._quoting_enum import QuotingEnum

__all__ = ["NAMES", "Library", "Source", "find", "load"]

#: The names that `find` and `load` accept.
NAMES: tuple[str, ...] = tuple(_native.library_names())


class Source(QuotingEnum, enum.StrEnum):
    """How a library was found, in the order of the search."""

    EXPLICIT = "explicit"
    LOADED = "loaded"
    PACKAGES = "packages"
    ENVIRONMENT = "environment"
    SYSTEM = "system"


class Library(NamedTuple):
    """A vendor library: its path, how it was found, whether it is loaded, and its version."""

    name: str
    """The name in programs and environment variables: `cudnn`."""
    title: str
    """The vendor's spelling of the name: `cuDNN`."""
    path: str | None
    """The file that is loaded, or that `load` would try first; None if none was found."""
    source: Source | None
    """How the file was found; None if none was found."""
    is_loaded: bool
    """Whether the library is loaded in this process, by interlock or by other code."""
    version: str | None
    """The version, such as `9.28.0`; None unless it is loaded and can be queried without side effects."""


def find(name: str) -> Library:
    """Search for a library without loading it.

    Args:
        name: One of `NAMES`.

    Raises:
        UnknownLibraryError: `name` is not one of `NAMES`.
        LibraryPathError: The path that the user gave is not that of the library.
        TypeError: `name` is not a str.

    Example:
        >>> from interlock.backends import libraries
        >>> libraries.find("cudnn").title
        'cuDNN'

    """
    return _to_library(_native.find_library(name))


def load(name: str, path: str | PathLike[str] | None = None) -> Library:
    """Load a library if it is not loaded yet, and return it with its version.

    A loaded library is never unloaded. Loading MKL queries its version; as the first call of an MKL function,
    the query determines which OpenMP runtime MKL uses in this process.

    Args:
        name: One of `NAMES`.
        path: The library's file or the folder that contains it. It has precedence over the environment
            variable. Loading a file runs its constructors, and its functions are called with the vendor's
            signatures, so another library than the named one can crash the process.

    Raises:
        UnknownLibraryError: `name` is not one of `NAMES`.
        LibraryNotFoundError: The library was not found or cannot be loaded.
        LibraryPathError: The path that the user gave cannot be loaded, or another file of the library is
            already loaded.
        TypeError: `name` is not a str, or `path` is neither a path nor None.

    """
    return _to_library(_native.load_library(name, path))


def _to_library(found: tuple[str, str, str | None, str | None, bool, str | None]) -> Library:
    name, title, path, source, is_loaded, version = found
    return Library(name, title, path, None if source is None else Source(source), is_loaded, version)


sys.modules[__name__].__class__ = _native.LibrariesModule

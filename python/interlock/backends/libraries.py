"""Vendor libraries: which of them are here, where, and in which version.

Nothing is linked to them and importing interlock loads none. A library is looked for in this order: the path
that the user gives, what is loaded already, next to Python's packages (NVIDIA's wheels, the `lib` of the
installation for Intel's), where the environment points to (`LD_LIBRARY_PATH`, `CUDA_HOME`, `CUDA_PATH`,
`CONDA_PREFIX`), the system's folders.

A user gives a path with `INTERLOCK_<NAME>_PATH`, such as `INTERLOCK_CUDNN_PATH`, or to `load`. It names the
library's file or a folder with it. If it can't be used that is a `LibraryPathError`; no other library is
taken in its place.
"""

from __future__ import annotations

import enum
import sys
from os import PathLike
from typing import NamedTuple

from interlock._core import backends as _native

__all__ = ["NAMES", "Library", "Source", "find", "load"]

#: What `find` and `load` take.
NAMES: tuple[str, ...] = tuple(_native.library_names())


class Source(enum.StrEnum):
    """What led to a library, in the order of the search."""

    GIVEN = "given"
    LOADED = "loaded"
    PACKAGES = "packages"
    ENVIRONMENT = "environment"
    SYSTEM = "system"


class Library(NamedTuple):
    """What is known of a vendor library in this process."""

    name: str
    """The word for it in programs and variables: `cudnn`."""
    title: str
    """Its name as its makers write it: `cuDNN`."""
    path: str | None
    """The file that is loaded, or that would be tried first; None where none is found."""
    source: Source | None
    """What led to that file."""
    is_loaded: bool
    """Whether it is in this process, whoever loaded it."""
    version: str | None
    """What it answers, such as `9.28.0`; None unless it is loaded and can be asked without changing it."""


def find(name: str) -> Library:
    """Tell what is known of a library without loading it.

    Raises `UnknownLibraryError` for other names than those of `NAMES`, `LibraryPathError` where the user gave
    a path at which the library is not.

    >>> from interlock.backends import libraries
    >>> libraries.find("cudnn").title
    'cuDNN'
    """
    return _to_library(_native.find_library(name))


def load(name: str, path: str | PathLike[str] | None = None) -> Library:
    """Load a library, unless that is done, and tell what is known of it then.

    `path` is stronger than the variable. A loaded library stays. As the first function of MKL that is called,
    the question for its version decides which OpenMP runtime MKL uses in this process.

    Raises `LibraryNotFoundError` where there is none that can be loaded, `LibraryPathError` where the one
    that was given can't be, or another one was loaded before, `UnknownLibraryError` for other names than
    those of `NAMES`.

    Loading a file runs its constructors, and its functions are called as the vendor declares them. So `path`
    must name a release of this library; another file can crash the process.
    """
    return _to_library(_native.load_library(name, path))


def _to_library(told: tuple[str, str, str | None, str | None, bool, str | None]) -> Library:
    name, title, path, source, is_loaded, version = told
    return Library(name, title, path, None if source is None else Source(source), is_loaded, version)


sys.modules[__name__].__class__ = _native.LibrariesModule

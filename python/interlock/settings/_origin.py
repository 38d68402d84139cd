"""The code that made a write: file, line, function and distribution."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import NamedTuple

# Frames of these modules run on behalf of their callers.
_PASSED_ON = (
    "interlock.settings",
    "interlock.integrations",
    "interlock._scope_decorator",
    "contextlib",
    "functools",
)
_IMPORT_SYSTEM = "importlib._bootstrap"


class Origin(NamedTuple):
    """A line of code that wrote a setting or entered a scope."""

    file: str
    line: int
    function: str
    module: str
    thread: str
    at_import: bool
    group: str | None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


# Whether a module is in one of some packages: each frame of a stack is looked up.
_found: dict[tuple[str, tuple[str, ...]], bool] = {}


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    found = _found.get((module, packages))
    if found is None:
        found = any(module == package or module.startswith(f"{package}.") for package in packages)
        _found[module, packages] = found
    return found


def _name(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def caller(packages: tuple[str, ...] = (), groups: Sequence[tuple[str, str]] = ()) -> Origin:
    """Return the innermost frame that is neither of this package nor of the library that is written.

    Args:
        packages: The packages of the library. Its innermost frame is returned if no other code is on the
            stack.
        groups: Pairs of a package and a name. The origin has the name of the first whose package is on the
            stack between the write and the returned frame.

    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None and _is_in(_name(frame), _PASSED_ON):
        frame = frame.f_back
    assert frame is not None
    found, group = frame, None
    while frame is not None:
        module = _name(frame)
        # Code that a compiler generates has no module, or the name of a file that does not exist.
        is_generated = not module or frame.f_code.co_filename.startswith("<eval_with_key>")
        if not is_generated and not _is_in(module, packages) and not _is_in(module, _PASSED_ON):
            found = frame
            break
        if groups and group is None:
            group = next((name for package, name in groups if _is_in(module, (package,))), None)
        frame = frame.f_back
    return Origin(
        found.f_code.co_filename,
        found.f_lineno,
        found.f_code.co_qualname,
        _name(found),
        threading.current_thread().name,
        _is_importing(found),
        group,
    )


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if _name(frame) == _IMPORT_SYSTEM:
            return True
        frame = frame.f_back
    return False


# The distributions of each top module; None until they are first needed.
_distributions: Mapping[str, list[str]] | None = None


def distribution(module: str) -> str | None:
    """Return the name of the installed distribution that contains a module; None if there is none."""
    global _distributions
    if _distributions is None:
        from importlib.metadata import packages_distributions

        _distributions = packages_distributions()
    names = _distributions.get(module.partition(".")[0])
    return names[0] if names else None

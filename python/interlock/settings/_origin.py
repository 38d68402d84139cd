"""The code that made a write: file, line, function and distribution."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from interlock._core.state import CALL_FOR_CALLERS

if TYPE_CHECKING:
    from importlib.metadata import PackagePath

# Frames of these modules run on behalf of their callers.
_PASSED_ON = (
    "interlock.settings",
    "interlock.integrations",
    "interlock.threads",
    "interlock._pytest",
    "interlock._scope_decorator",
    *CALL_FOR_CALLERS,
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


# Each frame of a stack is looked up.
@cache
def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


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


def of_function(function: Callable[..., object]) -> Origin:
    """Return the line of a decorated function, which an event loop or a thread pool may call."""
    plain: Any = function
    while hasattr(plain, "__wrapped__"):
        plain = plain.__wrapped__
    code = getattr(plain, "__code__", None)
    if code is None:
        return caller()
    thread = threading.current_thread().name
    return Origin(
        code.co_filename, code.co_firstlineno, code.co_qualname, plain.__module__, thread, False, None
    )


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if _name(frame) == _IMPORT_SYSTEM:
            return True
        frame = frame.f_back
    return False


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Return the distributions of each top module."""
    from importlib import metadata

    return metadata.packages_distributions()


@cache
def distribution(module: str, file: str) -> str | None:
    """Return the name of the installed distribution that contains a module; None if there is none.

    Args:
        module: The name of the module. A program may have a module with the name of an installed one.
        file: The file of the module, which selects one of several distributions that share a namespace.

    """
    names = list(dict.fromkeys(_distributions().get(module.partition(".")[0], ())))
    if not os.path.isfile(file):
        # Code that was generated at run time.
        return names[0] if names else None
    path = os.path.realpath(file)
    return next((name for name in names if _contains(name, path)), None)


def _contains(name: str, file: str) -> bool:
    from importlib import metadata

    found = metadata.distribution(name)
    if found.files is None:
        # A package of a Linux distribution may have no list of its files.
        return _is_below(file, str(found.locate_file("")))
    if any(each.name == os.path.basename(file) and _is_at(each, file) for each in found.files):
        return True
    # An editable installation lists only files that refer to the folder of its sources.
    source = json.loads(found.read_text("direct_url.json") or "{}")
    is_editable = source.get("dir_info", {}).get("editable", False)
    return is_editable and _is_below(file, unquote(urlsplit(source["url"]).path))


def _is_at(listed: PackagePath, file: str) -> bool:
    return os.path.realpath(str(listed.locate())) == file


def _is_below(file: str, folder: str) -> bool:
    return file.startswith(os.path.join(os.path.realpath(folder), ""))

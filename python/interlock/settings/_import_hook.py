"""Runs a function when a module is imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec as _find_spec
from types import ModuleType
from typing import TypeAlias

from interlock._quote import warn_program
from interlock.errors import SettingWarning
from interlock.settings._locks import call_registering

_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
# What is called, and may return what is called afterwards without a lock.
Waiting: TypeAlias = Callable[[], Callable[[], None] | None]

_waiting: dict[str, list[Waiting]] = {}
# Called at each use of this package: native libraries are loaded without an import that could be waited for.
finders: list[Callable[[], None]] = []


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that are waited for with the other finders, and extends their loaders."""

    def __init__(self) -> None:
        self._searched: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> importlib.machinery.ModuleSpec | None:
        # `find_spec` below asks this finder again.
        if fullname not in _waiting or fullname in self._searched:
            return None
        self._searched.add(fullname)
        try:
            spec = _find_spec(fullname)
        finally:
            self._searched.discard(fullname)
        if spec is not None and spec.loader is not None:
            _run_after_import(spec.loader, fullname)
        return spec


def _run_after_import(loader: importlib.abc.Loader, name: str) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        if module.__name__ != name:
            # All modules of a zip file have one loader.
            execute(module)
            return
        if vars(loader).get("exec_module") is exec_module:
            del loader.exec_module
        execute(module)
        try:
            run(name)
        except Exception as error:
            message = f"the settings of {name} are not known: {type(error).__name__}: {error}"
            warn_program(message, SettingWarning)

    # Warnings of a module at its import skip the frames of the import system, of which this is one.
    exec_module.__code__ = exec_module.__code__.replace(co_filename=_IMPORT_SYSTEM)
    try:
        loader.exec_module = exec_module  # type: ignore[method-assign]
    except AttributeError:
        # A loader with slots: the module is found at the next use of this package, see `run_imported`.
        return


_finder = _Finder()


def on_import(name: str, function: Waiting) -> None:
    """Run a function once the import of a module has ended, or now if it has, and then what it returns."""
    call_registering("enable", _wait, name, function)
    run_imported()


def _wait(name: str, function: Waiting) -> None:
    _waiting.setdefault(name, []).append(function)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def cancel(name: str, function: Waiting) -> None:
    """Call a function no longer that waits for a module."""
    call_registering("disable", _cancel, name, function)


def _cancel(name: str, function: Waiting) -> None:
    functions = _waiting.get(name, [])
    if function in functions:
        functions.remove(function)
    if not functions:
        _waiting.pop(name, None)
    if not _waiting and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def run(name: str) -> None:
    """Run the functions that wait for a module, and then what they return."""
    for function in call_registering(f"the settings of {name}", _run, name):
        function()


def _run(name: str) -> list[Callable[[], None]]:
    later = []
    for function in list(_waiting.get(name, [])):
        _cancel(name, function)
        later.append(function())
    return [each for each in later if each is not None]


def is_imported(name: str) -> bool:
    """Return whether the import of a module has ended."""
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


def run_imported() -> None:
    """Run the functions that wait for modules which are imported, and those that look for settings."""
    for name in list(_waiting):
        if is_imported(name):
            run(name)
    for find in tuple(finders):
        find()

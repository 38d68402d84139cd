"""The setup hook of Ray's workers, which Ray uploads as a module of its own. Needs no other package.

It does not import interlock, which would delay each worker: a worker that imports interlock reads the state
itself. Before a library is imported whose settings the state has, interlock is imported, if it is installed.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class _ImportsInterlockFirst(importlib.abc.MetaPathFinder):
    """Finds no module, but imports interlock before the first module of some names."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._names or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        try:
            importlib.import_module("interlock")
        except ImportError:
            return None
        # interlock has added a finder, which the import in progress would not query.
        return importlib.util.find_spec(fullname)


def install() -> None:
    """Set the variables of the state that the node does not set itself, and wait for imports."""
    try:
        state = json.loads(os.environ["INTERLOCK_STATE"])
    except (KeyError, ValueError):
        # interlock warns of a malformed state when it is imported.
        return
    if not isinstance(state, dict):
        return
    _set_variables(state)
    settings = state.get("settings")
    if isinstance(settings, dict):
        names = frozenset(name.partition(".")[0] for name in settings) - sys.modules.keys()
        if names:
            sys.meta_path.insert(0, _ImportsInterlockFirst(names))


def _set_variables(state: dict[str, Any]) -> None:
    threads, environment, driver = (state.get(name) for name in ("threads", "environment", "variables"))
    wanted = dict(environment) if isinstance(environment, dict) else {}
    if isinstance(threads, int):
        wanted = dict.fromkeys(_THREADS, str(threads)) | wanted
    of_driver = driver if isinstance(driver, dict) else {}
    for name, value in wanted.items():
        own = os.environ.get(name)
        if isinstance(value, str) and (own is None or own == of_driver.get(name)):
            os.environ[name] = value

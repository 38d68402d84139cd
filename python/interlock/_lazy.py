"""Names of public modules: imports at their first use, which forks do not interrupt, and `dir`."""

from __future__ import annotations

import os
import sys
import time
from _thread import get_ident

from interlock._features import attribute_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any, Final

_TIMEOUT: Final = 1.0
"""The longest time in seconds that a fork waits: an import may itself wait for the thread that forks."""

_importing: list[tuple[int, str]] = []
"""The threads that import a module at its first use, each with the module."""


def import_lazily(
    module: dict[str, Any],
    names: Mapping[str, str],
    prepare: Callable[[str, ModuleType], bool] = lambda name, module: False,
) -> None:
    """Import names of a module at their first use, because `import interlock` should be fast.

    The source of the module imports them for type checkers. They are in `dir` of the module.

    CPython caches no attribute of a module with `__getattr__`, and each access takes 40 ns more. So a module
    of fast functions, such as `accelerator`, imports all its names. The attributes of `backends`, which is
    not a plain module, are never cached.

    Args:
        module: The namespace of the module.
        names: For each name, the submodule that defines it. A submodule itself has its own name.
        prepare: Called with the name of a submodule and the submodule, if code that interrupts its import
            uses it, such as a signal handler. Returns whether the code can use it.

    """

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise attribute_error(module["__name__"], name)
        path = f"{module['__name__']}.{names[name]}"
        own = (get_ident(), path)
        value: Any
        if own in _importing and path in sys.modules:
            # This code interrupts the import. `import_module` would fail where it interrupts `import_module`.
            value = sys.modules[path]
        else:
            from importlib import import_module

            _importing.append(own)
            try:
                value = import_module(path)
            finally:
                _importing.remove(own)
        is_module = name == names[name]
        if not _is_interrupted(value):
            module[name] = value if is_module else getattr(value, name)
            return module[name]
        # Not stored: the import may still fail, and the next use repeats it.
        if is_module and prepare(name, value):
            return value
        if not is_module and name in vars(value):
            return getattr(value, name)
        raise interruption(module["__name__"], name)

    module["__getattr__"] = __getattr__
    list_exports(module)


def interruption(module: str, name: str) -> AttributeError:
    """Return the error for a name of a module that code uses which interrupts the import of the name."""
    return AttributeError(
        f"{module}.{name} is used by code that interrupts its import, such as a signal handler; "
        "use the name once before"
    )


def list_exports(module: dict[str, Any]) -> None:
    """Let `dir` of a module list its public names, and not those that its source imports."""
    module["__dir__"] = lambda: sorted({*module["__all__"], *(name for name in module if name[0] == "_")})


def _is_interrupted(module: ModuleType) -> bool:
    """Return whether a thread imports the module; after `import_module` returned it, this thread."""
    return getattr(module.__spec__, "_initializing", False)


def _wait_for_other_threads() -> None:
    """Wait until no other thread imports: a forked child would wait for such an import forever."""
    own, end = get_ident(), time.monotonic() + _TIMEOUT
    while _others_import(own) and time.monotonic() < end:
        time.sleep(0.001)


def _others_import(own: int) -> bool:
    """Return whether a thread other than this one imports a module of interlock."""
    if _importing:
        return any(thread != own for thread, _ in _importing)
    # Modules that statements import.
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("interlock.")]
    return any(_is_interrupted(module) for module in modules)


def _forget_other_threads() -> None:
    own = get_ident()
    _importing[:] = [each for each in _importing if each[0] == own]


os.register_at_fork(before=_wait_for_other_threads, after_in_child=_forget_other_threads)

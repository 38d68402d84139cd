"""Names of public modules: imports at their first use, which forks do not interrupt, and homes of types."""

from __future__ import annotations

import os
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

_importing: list[int] = []
"""The threads that import a module, each as often as its imports are nested."""


def import_lazily(
    module: dict[str, Any],
    names: Mapping[str, str],
    prepare: Callable[[str, ModuleType], None] | None = None,
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
            uses it, such as a signal handler.

    """

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise attribute_error(module["__name__"], name)
        from importlib import import_module

        _importing.append(get_ident())
        try:
            value: Any = import_module(f"{module['__name__']}.{names[name]}")
        finally:
            _importing.remove(get_ident())
        if name == names[name]:
            if prepare is not None and _is_interrupted(value):
                prepare(name, value)
        else:
            if _is_interrupted(value) and name not in vars(value):
                raise AttributeError(
                    f"{module['__name__']}.{name} is used by code that interrupts its import, such as a "
                    "signal handler; use the name once before"
                )
            value = getattr(value, name)
        module[name] = value
        return value

    module["__getattr__"] = __getattr__
    list_exports(module)


def list_exports(module: dict[str, Any]) -> None:
    """Let `dir` of a module list its public names, and not those that its source imports."""
    module["__dir__"] = lambda: sorted({*module["__all__"], *(name for name in module if name[0] == "_")})


def _is_interrupted(module: ModuleType) -> bool:
    """Return whether this thread imports the module: another thread would have waited for the import."""
    return getattr(module.__spec__, "_initializing", False)


def set_home(module: str, *types: type) -> None:
    """Give types the name of the public module that exports them.

    `typing.get_type_hints` evaluates the annotations of a type in the module that it names. That module lacks
    the names which the annotations use, so they are evaluated before.

    Args:
        module: The name of the public module.
        types: The types, which another module defines.

    """
    from typing import get_type_hints

    for each in types:
        each.__annotations__ = hints = get_type_hints(each, include_extras=True)
        for field in getattr(each, "__dataclass_fields__", {}).values():
            field.type = hints[field.name]
        each.__module__ = module


def _wait_for_other_threads() -> None:
    """Wait until no other thread imports: a forked child would wait for such an import forever."""
    own, end = get_ident(), time.monotonic() + _TIMEOUT
    while any(thread != own for thread in _importing) and time.monotonic() < end:
        time.sleep(0.001)


def _forget_other_threads() -> None:
    own = get_ident()
    _importing[:] = [thread for thread in _importing if thread == own]


os.register_at_fork(before=_wait_for_other_threads, after_in_child=_forget_other_threads)

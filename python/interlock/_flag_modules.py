"""Modules of flags whose import is interrupted by code that reads them, such as a signal handler."""

from __future__ import annotations

from interlock._core import backends as _native
from interlock._lazy import interruption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def add_flags(name: str, module: ModuleType) -> bool:
    """Add its flags to a module of `interlock.backends`, and return True; its own last lines would do so."""
    for owner, flags_of in _native.CLASSES.items():
        parent, _, attribute = owner.rpartition(".")
        if parent == name:
            vars(module).setdefault(attribute, flags_of())
    module.__class__ = _native.CLASSES[name]
    return True


class _Backends(_native.BackendsModule):
    """`interlock.backends` until its last line changes the class: its modules have only flags."""

    def __getattr__(self, name: str) -> Any:
        if name not in _native.CLASSES:
            raise interruption("interlock.backends", name)
        from types import ModuleType

        module = ModuleType(f"{self.__name__}.{name}")
        add_flags(name, module)
        return module


def add_flags_of_all(name: str, module: ModuleType) -> bool:
    """Add all flags to `interlock.backends`, and return whether it is the module."""
    if name != "backends":
        return False
    # Its own last line may have set the class already.
    if not isinstance(module, _native.BackendsModule):
        module.__class__ = _Backends
    return True

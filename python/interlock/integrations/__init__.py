"""The settings of other libraries. Each has a module, which does not import the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from interlock.integrations import asgi as asgi, torch as torch

__all__ = ["asgi", "torch"]


def __getattr__(name: str) -> ModuleType:
    """Import the module of a library on its first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from importlib import import_module

    return import_module(f"{__name__}.{name}")

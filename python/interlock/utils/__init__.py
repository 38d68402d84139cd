"""Utilities, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock.utils import deterministic, hooks

if TYPE_CHECKING:
    from types import ModuleType

    from interlock.utils import checkpoint

__all__ = ["checkpoint", "deterministic", "hooks"]


def __getattr__(name: str) -> ModuleType:
    """Import `checkpoint` on first use, so that `import interlock` does not import contextvars."""
    if name != "checkpoint":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), "checkpoint"})

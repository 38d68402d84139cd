"""Utilities, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock._features import HAS_TENSORS, attribute_error, remove_missing
from interlock.utils import deterministic

if TYPE_CHECKING or HAS_TENSORS:
    from interlock.utils import hooks

if TYPE_CHECKING:
    from types import ModuleType

    from interlock.utils import checkpoint

__all__ = ["checkpoint", "deterministic", "hooks"]


def __getattr__(name: str) -> ModuleType:
    """Import `checkpoint` on first use, so that `import interlock` does not import contextvars."""
    if name not in _LAZY:
        raise attribute_error(__name__, name)
    from importlib import import_module

    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


_LAZY = frozenset({"checkpoint"} if HAS_TENSORS else ())
remove_missing(globals(), _LAZY)

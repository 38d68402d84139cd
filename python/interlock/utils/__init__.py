"""Utilities, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlock._features import HAS_TENSORS, remove_missing
from interlock._lazy import import_lazily as _import_lazily
from interlock.utils import deterministic

if TYPE_CHECKING:
    from interlock.utils import checkpoint, hooks

__all__ = ["checkpoint", "deterministic", "hooks"]

_LAZY = {"checkpoint": "checkpoint", "hooks": "hooks"} if HAS_TENSORS else {}
_import_lazily(globals(), _LAZY)
remove_missing(globals(), frozenset(_LAZY))

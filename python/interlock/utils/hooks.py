"""Handles of hooks."""

from interlock._core.tensor import RemovableHandle

__all__ = ["RemovableHandle"]

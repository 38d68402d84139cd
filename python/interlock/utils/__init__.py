"""Utilities, under PyTorch's names."""

from interlock.utils import deterministic, hooks

__all__ = ["deterministic", "hooks"]

"""Utilities, under PyTorch's names."""

from interlock.utils import hooks

__all__ = ["hooks"]

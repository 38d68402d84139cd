"""Functions of neural networks, under PyTorch's names. There are no modules here: see `functional`."""

from interlock.nn import functional

__all__ = ["functional"]

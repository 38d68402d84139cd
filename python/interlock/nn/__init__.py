"""Functions of neural networks and parameters, under PyTorch's names. There are no modules here: see `functional`."""

from interlock.nn import functional
from interlock.nn._parameter import Parameter

__all__ = ["Parameter", "functional"]

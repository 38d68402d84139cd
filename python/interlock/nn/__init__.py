"""Functions and parameters of neural networks, under PyTorch's names. There are no modules here."""

from interlock.nn import functional, parameter
from interlock.nn.parameter import Parameter

__all__ = ["Parameter", "functional", "parameter"]

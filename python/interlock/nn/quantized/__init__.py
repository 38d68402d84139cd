"""Functions of neural networks on quantized tensors."""

from interlock.nn.quantized import functional

__all__ = ["functional"]

"""Functions of `torch.ao.nn.quantized.functional` for quantized tensors of interlock."""

from interlock._core.tensor import quantized_linear

__all__ = ["linear", "quantized_linear"]

linear = quantized_linear

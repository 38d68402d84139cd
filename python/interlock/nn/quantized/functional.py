"""Functions of `torch.ao.nn.quantized.functional` for quantized tensors of interlock."""

from interlock._core.tensor import quantized_linear as linear

__all__ = ["linear"]

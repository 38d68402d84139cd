"""The autograd graph: its nodes, and hooks of the tensors that they save."""

from __future__ import annotations

from interlock._core.accelerator import device
from interlock._core.tensor import Node, Tensor, saved_tensors_hooks

__all__ = ["Node", "save_on_cpu", "saved_tensors_hooks"]


class save_on_cpu(saved_tensors_hooks):
    """Store the tensors that operations save for the backward pass in CPU memory.

    A context manager. Each tensor is copied back to its device when the backward pass needs it.

    Args:
        pin_memory: Whether the copies are in pinned memory, so that they are asynchronous.

    Example:
        >>> import interlock
        >>> x = interlock.ones(2, requires_grad=True)
        >>> with interlock.autograd.graph.save_on_cpu():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 2.])

    """

    def __new__(cls, pin_memory: bool = False) -> save_on_cpu:
        """Create the hooks."""
        if not isinstance(pin_memory, bool):
            raise TypeError(f"save_on_cpu: pin_memory must be a bool, got {type(pin_memory).__name__}")

        def pack(tensor: Tensor) -> tuple[device, Tensor]:
            copy = tensor.cpu() if tensor.device.type != "cpu" else tensor
            return tensor.device, copy.pin_memory() if pin_memory else copy

        def unpack(packed: tuple[device, Tensor]) -> Tensor:
            original, copy = packed
            return copy.to(original, non_blocking=pin_memory)

        return super().__new__(cls, pack, unpack)

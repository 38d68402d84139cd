"""Trainable parameters."""

from __future__ import annotations

from interlock._arguments import as_bool
from interlock._core.tensor import Tensor, empty

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A trainable tensor: a leaf that requires grad.

    Operations on it return plain tensors.

    Args:
        data: The tensor whose memory the parameter shares. None means a tensor without elements.
        requires_grad: Whether gradients are computed for it.

    Raises:
        DTypeError: `requires_grad` is True for a dtype that is not floating point.
        TypeError: `data` is not a tensor, or `requires_grad` is not a bool.

    Example:
        >>> import interlock
        >>> weight = interlock.nn.Parameter(interlock.ones(2))
        >>> weight
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
        >>> isinstance(weight, interlock.Tensor)
        True

    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Create a parameter."""
        if data is None:
            data = empty(0)
        elif not isinstance(data, Tensor):
            raise TypeError(f"Parameter: data must be a Tensor or None, got {type(data).__name__}")
        requires_grad = as_bool("Parameter: requires_grad", requires_grad)
        parameter: Parameter = super().__new__(cls, data)
        return parameter.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

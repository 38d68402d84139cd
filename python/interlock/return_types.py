"""The named tuples that operations with two results return, under PyTorch's names.

A build without the tensor runtime lacks this module.

Example:
    >>> import interlock
    >>> result = interlock.tensor([3, 1, 2]).sort()
    >>> result.values, result.indices
    (tensor([1, 2, 3]), tensor([1, 2, 0]))

"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)

if TYPE_CHECKING:
    from interlock._core.tensor import Tensor

__all__ = ["aminmax", "max", "median", "min", "sort", "topk"]


def _text(result: tuple[Tensor, ...], names: tuple[str, ...]) -> str:
    """Return the text of a result, with one line for each field, as PyTorch shows it."""
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(names, result, strict=True))
    return f"interlock.return_types.{type(result).__name__}(\n{fields})"


class max(NamedTuple):
    """The maxima along a dimension, and their indices."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class median(NamedTuple):
    """The medians along a dimension, and their indices."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class min(NamedTuple):
    """The minima along a dimension, and their indices."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class aminmax(NamedTuple):
    """The minimum and the maximum."""

    min: Tensor
    max: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class sort(NamedTuple):
    """The sorted elements along a dimension, and their indices."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class topk(NamedTuple):
    """The largest or smallest elements along a dimension, and their indices."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)

"""The named tuples that operations with several results return, under PyTorch's names.

A build without the tensor runtime lacks this module.

Example:
    >>> import interlock
    >>> result = interlock.tensor([3, 1, 2]).sort()
    >>> result.values, result.indices
    (tensor([1, 2, 3]), tensor([1, 2, 0]))

"""

from __future__ import annotations

from typing import NamedTuple

import interlock._requires_tensors  # noqa: F401 (raises ImportError in a build without tensors)
from interlock._core.tensor import Tensor

__all__ = [
    "aminmax",
    "linalg_cholesky_ex",
    "linalg_eigh",
    "linalg_inv_ex",
    "linalg_lu",
    "linalg_lu_factor",
    "linalg_lu_factor_ex",
    "linalg_qr",
    "linalg_slogdet",
    "linalg_solve_ex",
    "linalg_svd",
    "max",
    "median",
    "min",
    "sort",
    "topk",
]


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


class linalg_cholesky_ex(NamedTuple):
    """The Cholesky factor, and whether it exists."""

    L: Tensor
    info: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class linalg_eigh(NamedTuple):
    """The eigenvalues, and the eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class linalg_inv_ex(NamedTuple):
    """The inverse, and whether it exists."""

    inverse: Tensor
    info: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class linalg_lu(NamedTuple):
    """The permutation matrix, and the lower and upper factors."""

    P: Tensor
    L: Tensor
    U: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class linalg_lu_factor(NamedTuple):
    """The LU factors in one matrix, and the pivots."""

    LU: Tensor
    pivots: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class linalg_lu_factor_ex(NamedTuple):
    """The LU factors in one matrix, the pivots, and whether a pivot is 0."""

    LU: Tensor
    pivots: Tensor
    info: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class linalg_qr(NamedTuple):
    """The orthogonal and the triangular factor."""

    Q: Tensor
    R: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class linalg_slogdet(NamedTuple):
    """The sign of the determinant, and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class linalg_solve_ex(NamedTuple):
    """The solution, and whether the matrix is invertible."""

    result: Tensor
    info: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)


class linalg_svd(NamedTuple):
    """The left singular vectors as columns, the singular values, and the right vectors as rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor

    def __repr__(self) -> str:
        return _text(self, self._fields)

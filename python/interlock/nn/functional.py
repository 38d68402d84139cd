"""Functions of `torch.nn.functional` for tensors of interlock, with PyTorch's signatures.

An argument for something that interlock does not have must have its default; another value raises
`ArgumentError`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from interlock._core.tensor import (
    Tensor,
    conv2d,
    cross_entropy as _cross_entropy,
    dtype,
    linear,
    log_softmax as _log_softmax,
    nll_loss as _nll_loss,
    relu as _relu,
    scaled_dot_product_attention,
    softmax as _softmax,
)
from interlock.errors import ArgumentError

if TYPE_CHECKING:
    # The functions of the extension module raise for other values.
    _Reduction: TypeAlias = Literal["mean", "sum", "none"]

__all__ = [
    "conv2d",
    "cross_entropy",
    "l1_loss",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "relu",
    "scaled_dot_product_attention",
    "sigmoid",
    "softmax",
    "softmin",
    "tanh",
]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return each element, or 0 if it is negative. The gradient at 0 is 0.

    Args:
        input: The tensor, of any dtype except bool.
        inplace: False; there is no operation in place.

    Raises:
        ArgumentError: `inplace` is not False.
        DTypeError: `input` is a bool tensor.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.relu(interlock.tensor([-1, 2]))
        tensor([0, 2])

    """
    _require("relu", "inplace", inplace, False)
    return _relu(input)


def sigmoid(input: Tensor) -> Tensor:
    """Return the logistic function of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.sigmoid(interlock.tensor([0.0]))
        tensor([0.5000])

    """
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.tanh(interlock.tensor([0.0]))
        tensor([0.])

    """
    return input.tanh()


def softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: dtype | None = None,
) -> Tensor:
    """Return the exponentials of the elements, normalized to a sum of 1 along a dimension.

    Args:
        input: The tensor.
        dim: The dimension along which the result sums to 1. None means 0 for tensors of 0, 1 or 3 dimensions
            and 1 for others, with a UserWarning.
        _stacklevel: The level of the line to which the warning points.
        dtype: The floating-point dtype to convert the elements to first. None means no change.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.softmax(interlock.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])

    """
    return _softmax(input, _dim("softmax", input, dim, _stacklevel), dtype=dtype)


def softmin(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: dtype | None = None,
) -> Tensor:
    """Return the `softmax` of the negated elements.

    Args:
        input: The tensor.
        dim: The dimension, as for `softmax`.
        _stacklevel: The level of the line to which a warning points.
        dtype: The floating-point dtype to convert the elements to first. None means no change.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.softmin(interlock.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])

    """
    return _softmax(-input, _dim("softmin", input, dim, _stacklevel), dtype=dtype)


def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: dtype | None = None,
) -> Tensor:
    """Return the logarithm of the softmax along a dimension. It is accurate where the softmax underflows.

    Args:
        input: The tensor.
        dim: The dimension, as for `softmax`.
        _stacklevel: The level of the line to which a warning points.
        dtype: The floating-point dtype to convert the elements to first. None means no change.

    Raises:
        DTypeError: The elements are not floating point, and `dtype` does not convert them.
        IndexError: The tensor does not have dimension `dim`.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.log_softmax(interlock.tensor([1.0, 2.0]), dim=0)
        tensor([-1.3133, -0.3133])

    """
    return _log_softmax(input, _dim("log_softmax", input, dim, _stacklevel), dtype=dtype)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy of rows of logits for target classes.

    Args:
        input: Logits of shape `[samples, classes]`, floating point.
        target: Class indices of shape `[samples]`, int64.
        weight: None; classes have no weights.
        size_average: Deprecated; `reduction` replaces it.
        ignore_index: -100. As in PyTorch samples of this class would be ignored, here they raise.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "mean" or "sum" of the losses, or "none" for the loss of each sample.
        label_smoothing: 0; labels are not smoothed.

    Returns:
        A tensor of shape `[samples]` if `reduction` is "none", else without dimensions.

    Raises:
        ArgumentError: `weight`, `ignore_index` or `label_smoothing` has another value.
        IndexError: An index in `target` is not a class.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point or `target` is not int64.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.cross_entropy(interlock.zeros(2, 3), interlock.tensor([0, 2]))
        tensor(1.0986)

    """
    function = "cross_entropy"
    _require(function, "weight", weight, None)
    _require(function, "ignore_index", ignore_index, -100)
    _require(function, "label_smoothing", label_smoothing, 0.0)
    return _cross_entropy(input, target, reduction=_reduction(function, reduction, size_average, reduce))


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of target classes.

    Args:
        input: Log-probabilities of shape `[samples, classes]`, floating point.
        target: Class indices of shape `[samples]`, int64.
        weight: None; classes have no weights.
        size_average: Deprecated; `reduction` replaces it.
        ignore_index: -100. As in PyTorch samples of this class would be ignored, here they raise.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "mean" or "sum" of the losses, or "none" for the loss of each sample.

    Returns:
        A tensor of shape `[samples]` if `reduction` is "none", else without dimensions.

    Raises:
        ArgumentError: `weight` or `ignore_index` has another value.
        IndexError: An index in `target` is not a class.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point or `target` is not int64.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> x = functional.log_softmax(interlock.tensor([[0.0, 1.0]]), dim=1)
        >>> functional.nll_loss(x, interlock.tensor([0]))
        tensor(1.3133)

    """
    _require("nll_loss", "weight", weight, None)
    _require("nll_loss", "ignore_index", ignore_index, -100)
    return _nll_loss(input, target, reduction=_reduction("nll_loss", reduction, size_average, reduce))


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the squares of the differences.

    Args:
        input: A floating-point tensor.
        target: A tensor that is broadcast to the shape of `input`, or the reverse.
        size_average: Deprecated; `reduction` replaces it.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "mean" or "sum" of the squares, or "none" for each of them.
        weight: None; squares have no weights.

    Raises:
        ArgumentError: `weight` is not None.
        ShapeError: The shapes cannot be broadcast.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.mse_loss(interlock.tensor([1.0, 3.0]), interlock.zeros(2))
        tensor(5.)

    """
    _require("mse_loss", "weight", weight, None)
    return _reduced("mse_loss", (input - target).pow(2), size_average, reduce, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the absolute values of the differences.

    Args:
        input: A floating-point tensor.
        target: A tensor that is broadcast to the shape of `input`, or the reverse.
        size_average: Deprecated; `reduction` replaces it.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "mean" or "sum" of the absolute values, or "none" for each of them.
        weight: None; absolute values have no weights.

    Raises:
        ArgumentError: `weight` is not None.
        ShapeError: The shapes cannot be broadcast.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.l1_loss(interlock.tensor([1.0, -3.0]), interlock.zeros(2))
        tensor(2.)

    """
    _require("l1_loss", "weight", weight, None)
    return _reduced("l1_loss", (input - target).abs(), size_average, reduce, reduction)


def _require(function: str, argument: str, given: object, default: object) -> None:
    """Raise unless an argument for something that does not exist has its default."""
    if given is not default and (isinstance(given, Tensor) or given != default):
        shown = "a Tensor" if isinstance(given, Tensor) else repr(given)
        raise ArgumentError(f"{function}: {argument} must be {default!r}, got {shown}")


def _dim(function: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    """Return the dimension; of None, the one that PyTorch's early versions chose."""
    if dim is not None:
        return dim
    message = f"{function}: the choice of dim by the number of dimensions is deprecated; pass dim=X"
    warnings.warn(message, UserWarning, stacklevel=stacklevel)
    return 0 if input.ndim in (0, 1, 3) else 1


def _reduction(function: str, reduction: str, size_average: bool | None, reduce: bool | None) -> _Reduction:
    """Return the reduction, which the deprecated arguments override."""
    if size_average is None and reduce is None:
        return cast("_Reduction", reduction)
    chosen: _Reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    message = f"{function}: size_average and reduce are deprecated; use reduction={chosen!r}"
    warnings.warn(message, UserWarning, stacklevel=4)
    return chosen


def _reduced(
    function: str, losses: Tensor, size_average: bool | None, reduce: bool | None, reduction: str
) -> Tensor:
    chosen = _reduction(function, reduction, size_average, reduce)
    if chosen not in ("none", "mean", "sum"):
        raise ValueError(f"{function}: reduction must be 'none', 'mean' or 'sum', got {chosen!r}")
    return losses if chosen == "none" else losses.sum() if chosen == "sum" else losses.mean()

"""Functions of `torch.nn.functional` for tensors of interlock, with PyTorch's signatures."""

from __future__ import annotations

import warnings
from typing import Literal, SupportsIndex, TypeAlias

from interlock._arguments import as_bool
from interlock._core.tensor import (
    Tensor,
    binary_cross_entropy as _binary_cross_entropy,
    binary_cross_entropy_with_logits as _binary_cross_entropy_with_logits,
    conv2d,
    cross_entropy as _cross_entropy,
    dropout,
    dtype,
    elu,
    embedding as _embedding,
    gelu,
    l1_loss as _l1_loss,
    layer_norm,
    leaky_relu,
    linear,
    log_softmax as _log_softmax,
    logsigmoid,
    mse_loss as _mse_loss,
    nll_loss as _nll_loss,
    one_hot as _one_hot,
    pad,
    relu as _relu,
    relu_,
    scaled_dot_product_attention,
    silu,
    softmax as _softmax,
    softmin as _softmin,
    softplus,
)
from interlock._quote import shown
from interlock.errors import ArgumentError

# The functions of the extension module raise for other values.
_Reduction: TypeAlias = Literal["mean", "sum", "none"]

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv2d",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "relu",
    "relu_",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "tanh",
]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: SupportsIndex | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of `weight` at the indices `input`, such as word embeddings.

    Args:
        input: Indices of rows, int64, of any shape. Not negative.
        weight: The rows, of shape [rows, size].
        padding_idx: A row that gets no gradient, which may be negative; None means that each row gets one.
        max_norm: None; rows are not rescaled.
        norm_type: 2.0; without `max_norm` it has no effect.
        scale_grad_by_freq: False; gradients are not divided by the number of uses of a row.
        sparse: False; gradients are dense.

    Returns:
        A tensor with the shape of `input` and a last dimension of `size`.

    Raises:
        IndexError: An index is out of bounds.
        ShapeError: `weight` does not have two dimensions.
        DTypeError: `input` is not int64.
        ArgumentError: `padding_idx` is not a row, or another argument does not have its default.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.embedding(interlock.tensor([1, 0]), interlock.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[3., 4.],
                [1., 2.]])

    """
    _require("embedding", "max_norm", max_norm, None)
    _require("embedding", "norm_type", norm_type, 2.0)
    _require("embedding", "scale_grad_by_freq", scale_grad_by_freq, False)
    _require("embedding", "sparse", sparse, False)
    return _embedding(input, weight, padding_idx)


def one_hot(tensor: Tensor, num_classes: SupportsIndex = -1) -> Tensor:
    """Return the one-hot encoding of class indices, along a new last dimension.

    Args:
        tensor: The classes, int64. Not negative.
        num_classes: The size of the last dimension; -1 means the largest class and one, which waits for a
            device.

    Raises:
        DTypeError: `tensor` is not int64.
        ArgumentError: `num_classes` is not positive, or -1 for a tensor without elements.
        RuntimeError: A class is negative or not less than `num_classes`.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.one_hot(interlock.tensor([1, 0]), 3)
        tensor([[0, 1, 0],
                [1, 0, 0]])

    """
    return _one_hot(tensor, num_classes)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return each element, or 0 if it is negative. The gradient at 0 is 0.

    Args:
        input: The tensor, of any dtype except bool.
        inplace: Whether `input` itself is changed and returned.

    Raises:
        DTypeError: `input` is a bool tensor.
        TypeError: `inplace` is not a bool.
        RuntimeError: `inplace` is True for a leaf that requires grad while gradients are enabled, or for a
            tensor whose elements overlap.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.relu(interlock.tensor([-1, 2]))
        tensor([0, 2])

    """
    if inplace is False:
        return _relu(input)
    return relu_(input) if as_bool("relu: inplace", inplace) else _relu(input)


def sigmoid(input: Tensor) -> Tensor:
    """Return the logistic function of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Raises:
        TypeError: `input` is not a tensor.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.sigmoid(interlock.tensor([0.0]))
        tensor([0.5000])

    """
    _check_tensor("sigmoid", input)
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent of each element.

    Args:
        input: The tensor. Integers and bools are converted to float32.

    Raises:
        TypeError: `input` is not a tensor.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.tanh(interlock.tensor([0.0]))
        tensor([0.])

    """
    _check_tensor("tanh", input)
    return input.tanh()


def softmax(
    input: Tensor,
    dim: SupportsIndex | None = None,
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
        TypeError: `input` is not a tensor.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.softmax(interlock.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])

    """
    return _softmax(input, _dim("softmax", input, dim, _stacklevel), dtype=dtype)


def softmin(
    input: Tensor,
    dim: SupportsIndex | None = None,
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
        TypeError: `input` is not a tensor.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.softmin(interlock.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])

    """
    return _softmin(input, _dim("softmin", input, dim, _stacklevel), dtype=dtype)


def log_softmax(
    input: Tensor,
    dim: SupportsIndex | None = None,
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
        TypeError: `input` is not a tensor.

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
    ignore_index: SupportsIndex = -100,
    reduce: bool | None = None,
    reduction: _Reduction = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy of logits for target classes, or for probabilities of the classes.

    The loss of a sample is `-weight[target] * log_softmax(input)[target]`. A target with probabilities has
    the loss `-sum(weight * target * log_softmax(input))`.

    Args:
        input: Logits of shape [classes], [samples, classes] or [samples, classes, ...], floating point.
        target: Class indices, int64, of the shape of `input` without the dimension of classes; or
            probabilities of the shape of `input`, floating point.
        weight: A weight for each class, of shape [classes] and of the dtype of `input`, or None.
        size_average: Deprecated; `reduction` replaces it.
        ignore_index: The class index of samples that do not count. For probabilities it must be negative.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "sum" of the losses, "none" for the loss of each sample, or "mean": the sum, divided by the
            sum of the weights of the target classes, or by the number of samples if targets are
            probabilities.
        label_smoothing: The share from 0 to 1 of the uniform distribution with which targets are mixed.

    Returns:
        A tensor of the shape of class indices if `reduction` is "none", else a 0-d tensor.

    Raises:
        IndexError: An index in `target` is not a class. On a device this error is reported asynchronously.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point, or another tensor has a wrong dtype.
        ArgumentError: `label_smoothing` is not from 0 to 1, or `weight` requires grad.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.cross_entropy(interlock.zeros(2, 3), interlock.tensor([0, 2]))
        tensor(1.0986)

    """
    return _cross_entropy(
        input,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=_reduction("cross_entropy", reduction, size_average, reduce),
        label_smoothing=label_smoothing,
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: SupportsIndex = -100,
    reduce: bool | None = None,
    reduction: _Reduction = "mean",
) -> Tensor:
    """Return the negative log-likelihood of target classes, `-weight[target] * input[target]` of each sample.

    Args:
        input: Log-probabilities of shape [classes], [samples, classes] or [samples, classes, ...], floating
            point.
        target: Class indices, int64, of the shape of `input` without the dimension of classes.
        weight: A weight for each class, of shape [classes] and of the dtype of `input`, or None.
        size_average: Deprecated; `reduction` replaces it.
        ignore_index: The class index of samples that do not count.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "sum" of the losses, "none" for the loss of each sample, or "mean": the sum, divided by the
            sum of the weights of the target classes.

    Returns:
        A tensor of the shape of `target` if `reduction` is "none", else a 0-d tensor.

    Raises:
        IndexError: An index in `target` is not a class. On a device this error is reported asynchronously.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point, `target` is not int64, or `weight` has another dtype than
            `input`.
        ArgumentError: `weight` requires grad.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> x = functional.log_softmax(interlock.tensor([[0.0, 1.0]]), dim=1)
        >>> functional.nll_loss(x, interlock.tensor([0]))
        tensor(1.3133)

    """
    chosen = _reduction("nll_loss", reduction, size_average, reduce)
    return _nll_loss(input, target, weight, ignore_index=ignore_index, reduction=chosen)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: _Reduction = "mean",
) -> Tensor:
    """Return the binary cross entropy of probabilities.

    The loss of a probability x for the target t is `-t * log(x) - (1 - t) * log(1 - x)`.

    Logarithms are at least -100, so that losses are finite.

    Args:
        input: Probabilities from 0 to 1, floating point.
        target: Probabilities from 0 to 1, of the shape and dtype of `input`.
        weight: Factors of the losses, which are broadcast to the shape of `input`, or None.
        size_average: Deprecated; `reduction` replaces it.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "mean" or "sum" of the losses, or "none" for the loss of each element.

    Returns:
        A tensor of the shape of `input` if `reduction` is "none", else a 0-d tensor.

    Raises:
        ArgumentError: An element is not from 0 to 1, or `weight` requires grad. On a device an error of the
            elements is reported asynchronously.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` is not floating point, or `target` has another dtype.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.binary_cross_entropy(interlock.tensor([0.5, 0.9]), interlock.tensor([0.0, 1.0]))
        tensor(0.3993)

    """
    chosen = _reduction("binary_cross_entropy", reduction, size_average, reduce)
    return _binary_cross_entropy(input, target, weight, reduction=chosen)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: _Reduction = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the binary cross entropy of the logistic function of logits, also where that underflows.

    The loss of a logit x for the target t is `-p * t * log(s) - (1 - t) * log(1 - s)` with `s = sigmoid(x)`
    and p from `pos_weight`.

    Args:
        input: Logits, floating point.
        target: Probabilities of the shape of `input`, floating point.
        weight: Factors of the losses, which are broadcast to the shape of `input`, or None.
        size_average: Deprecated; `reduction` replaces it.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "mean" or "sum" of the losses, or "none" for the loss of each element.
        pos_weight: Factors of the losses of targets of 1, which are broadcast to the shape of `input`, or
            None.

    Returns:
        A tensor of the shape of `input` if `reduction` is "none", else a 0-d tensor.

    Raises:
        ArgumentError: `weight` or `pos_weight` requires grad.
        ShapeError: The shapes are incompatible.
        DTypeError: `input` or `target` is not floating point.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> x, y = interlock.tensor([0.0, 1000.0]), interlock.tensor([1.0, 1.0])
        >>> functional.binary_cross_entropy_with_logits(x, y, reduction="none")
        tensor([0.6931, 0.0000])

    """
    chosen = _reduction("binary_cross_entropy_with_logits", reduction, size_average, reduce)
    return _binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=chosen)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: _Reduction = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the squared error: the squares of the differences.

    Args:
        input: A tensor.
        target: A tensor that is broadcast to the shape of `input`, or the reverse, with a UserWarning. One of
            the two is floating point.
        size_average: Deprecated; `reduction` replaces it.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "sum" of the squares, "none" for each of them, or "mean": the sum, divided by the number of
            squares, or by the sum of the weights.
        weight: Factors of the squares, of the shape of `input`, or None.

    Returns:
        A tensor of the broadcast shape if `reduction` is "none", else a 0-d tensor.

    Raises:
        DTypeError: No tensor is floating point.
        ShapeError: The shapes are incompatible.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.mse_loss(interlock.tensor([1.0, 3.0]), interlock.zeros(2))
        tensor(5.)

    """
    chosen = _reduction("mse_loss", reduction, size_average, reduce)
    _warn_of_broadcast("mse_loss", input, target)
    return _mse_loss(input, target, weight, reduction=chosen)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: _Reduction = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the L1 loss: the absolute values of the differences.

    Args:
        input: A tensor, of any dtype except bool.
        target: A tensor that is broadcast to the shape of `input`, or the reverse, with a UserWarning.
        size_average: Deprecated; `reduction` replaces it.
        reduce: Deprecated; `reduction` replaces it.
        reduction: "sum" of the absolute values, "none" for each of them, or "mean": the sum, divided by the
            number of absolute values, or by the sum of the weights. Integers have no mean.
        weight: Factors of the absolute values, of the shape of `input`, or None.

    Returns:
        A tensor of the broadcast shape if `reduction` is "none", else a 0-d tensor.

    Raises:
        DTypeError: The tensors are bool, or integers with `reduction` "mean".
        ShapeError: The shapes are incompatible.
        ValueError: `reduction` has another value.

    Example:
        >>> import interlock
        >>> from interlock.nn import functional
        >>> functional.l1_loss(interlock.tensor([1.0, -3.0]), interlock.zeros(2))
        tensor(2.)

    """
    chosen = _reduction("l1_loss", reduction, size_average, reduce)
    _warn_of_broadcast("l1_loss", input, target)
    return _l1_loss(input, target, weight, reduction=chosen)


def _warn_of_broadcast(function: str, input: object, target: object) -> None:
    """Warn that the shapes of the arguments differ. Other arguments than tensors raise later."""
    if isinstance(input, Tensor) and isinstance(target, Tensor) and input.shape != target.shape:
        message = f"{function}: target is broadcast, because its shape {tuple(target.shape)} differs from "
        message += f"the shape {tuple(input.shape)} of input; this is rarely intended"
        warnings.warn(message, UserWarning, stacklevel=3)


def _require(function: str, argument: str, given: object, default: object) -> None:
    """Raise unless an argument for something that does not exist has its default."""
    if given is not default and (isinstance(given, Tensor) or given != default):
        got = "a Tensor" if isinstance(given, Tensor) else shown(given)
        raise ArgumentError(f"{function}: {argument} must be {default!r}, got {got}")


def _check_tensor(function: str, input: object) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"{function}: input must be a Tensor, got {type(input).__name__}")


def _dim(function: str, input: Tensor, dim: SupportsIndex | None, stacklevel: int) -> SupportsIndex:
    """Return the dimension; of None, the one that PyTorch's early versions chose."""
    _check_tensor(function, input)
    if dim is not None:
        return dim
    if not isinstance(stacklevel, int):
        raise TypeError(f"{function}: _stacklevel must be an int, got {type(stacklevel).__name__}")
    message = f"{function}: the choice of dim by the number of dimensions is deprecated; pass dim=X"
    warnings.warn(message, UserWarning, stacklevel=stacklevel)
    return 0 if input.ndim in (0, 1, 3) else 1


def _reduction(
    function: str, reduction: _Reduction, size_average: bool | None, reduce: bool | None
) -> _Reduction:
    """Return the reduction, which the deprecated arguments override."""
    if size_average is None and reduce is None:
        return reduction
    chosen: _Reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    message = f"{function}: size_average and reduce are deprecated; use reduction={chosen!r}"
    warnings.warn(message, UserWarning, stacklevel=3)
    return chosen

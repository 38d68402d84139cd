"""NumPy's result of one operation, given the elements of the operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.programs import Step


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, dim: Any, keepdim: bool, dtype: Any = None) -> Any:
        axis = None if dim is None or dim == [] else tuple(dim) if isinstance(dim, list) else dim
        if dtype is not None:
            x = x.astype(dtype)
        return function(x, axis=axis, keepdims=keepdim and dim is not None)

    return reduce


def _argument(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, dim: Any, keepdim: bool) -> Any:
        if dim is None:
            return function(x)
        return function(x, axis=dim, keepdims=keepdim)

    return reduce


def _softmax(x: Any, dim: int) -> Any:
    shifted = x - np.max(x, axis=dim, keepdims=True)
    powers = np.exp(shifted)
    return powers / powers.sum(axis=dim, keepdims=True)


def _log_softmax(x: Any, dim: int) -> Any:
    shifted = x - np.max(x, axis=dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True))


def _key(key: Any) -> Any:
    """Return an index for NumPy: a list becomes an array."""
    return (
        tuple(np.array(each) if isinstance(each, list) else each for each in key)
        if isinstance(key, tuple)
        else key
    )


def _addmm(added: Any, one: Any, other: Any, beta: Any, alpha: Any) -> Any:
    product = alpha * np.matmul(one, other) if alpha else one[:, :0] @ other[:0]
    return product if beta == 0 else beta * added + product


def _linear(x: Any, weight: Any, bias: Any = 0) -> Any:
    return np.matmul(x, weight.T) + bias


def _attention(
    query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: Any, enable_gqa: bool
) -> Any:
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, repeats, -3), np.repeat(value, repeats, -3)
    factor = 1 / np.sqrt(query.shape[-1]) if scale is None else scale
    scores = np.matmul(query, key.swapaxes(-1, -2)).astype("float64") * factor
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    # A row that sees no key has shares of 0.
    shares = np.nan_to_num(_softmax(scores, -1))
    return np.matmul(shares, value).astype(value.dtype)


def rounded(x: Any, precision: str) -> Any:
    """Round float32 numbers to 10 bits of mantissa (TF32, ties away from zero) or 7 (BF16, ties to even)."""
    dropped = {"tf32": 13, "bf16": 16}[precision]
    bits = np.ascontiguousarray(x).view(np.uint32).astype(np.uint64)
    added = np.full_like(bits, 1 << (dropped - 1))
    if precision == "bf16":
        added += (bits >> np.uint64(dropped) & np.uint64(1)) - np.uint64(1)
    kept = ((bits + added) >> np.uint64(dropped) << np.uint64(dropped)).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(x), kept.reshape(np.shape(x)), x)


def stored(x: Any, dtype: str) -> Any:
    """Return numbers as a tensor of a half-precision dtype holds them."""
    single = np.asarray(x, np.float32)
    return rounded(single, "bf16") if dtype == "bfloat16" else single.astype(np.float16).astype(np.float32)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)),
    "neg": np.negative,
    "abs": np.abs,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "pow": np.power,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "radd": lambda x, number: number + x,
    "rsub": lambda x, number: number - x,
    "rmul": lambda x, number: number * x,
    "rdiv": lambda x, number: number / x,
    "add alpha": lambda x, other, alpha: x + alpha * other,
    "sub alpha": lambda x, other, alpha: x - alpha * other,
    "matmul": np.matmul,
    "mm": np.matmul,
    "bmm": np.matmul,
    "addmm": _addmm,
    "linear": _linear,
    "attention": _attention,
    "logical_not": np.logical_not,
    "max": np.max,
    "min": np.min,
    "amax": _reduced(np.max),
    "amin": _reduced(np.min),
    "sum": _reduced(np.sum),
    "mean": _reduced(np.mean),
    "argmax": _argument(np.argmax),
    "argmin": _argument(np.argmin),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "cat": lambda arrays, dim: np.concatenate(arrays, dim),
    "stack": lambda arrays, dim: np.stack(arrays, dim),
    "t": np.transpose,
    "T": np.transpose,
    "transpose": np.swapaxes,
    "permute": lambda x, dims: np.transpose(x, dims),
    "reshape": lambda x, size: np.reshape(x, size),
    "view": lambda x, size: np.reshape(x, size),
    "flatten": np.ravel,
    "unsqueeze": np.expand_dims,
    "getitem": lambda x, key: x[_key(key)],
    "detach": np.array,
    "clone": np.array,
    "contiguous": np.array,
    "float": lambda x: x.astype("float32"),
    "double": lambda x: x.astype("float64"),
    "bool": lambda x: x.astype("bool"),
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
}


def answer(step: Step, operands: list[Any]) -> Any:
    """Return NumPy's result, or None if NumPy lacks the operation."""
    function = FUNCTIONS.get(step.name)
    if function is None:
        return None
    with np.errstate(all="ignore"):
        return function(*operands)

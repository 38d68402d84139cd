"""Programs of tensor operations that run on interlock and on PyTorch.

A program is a list of steps: a name of `OPERATIONS`, its arguments, whether grad mode is disabled, and the
flags that apply to interlock. Arguments are JSON; `{"t": 3}` is the tensor that step 3 returned. The module
imports neither of the two libraries.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.fuzz.expressions import EXPRESSIONS, WRITES

DTYPES = ("float32", "float64", "int64", "bool")
INTEGERS = ("int32", "uint8", "int8")
HALVES = ("float16", "bfloat16")


class Step(NamedTuple):
    """One operation of a program."""

    name: str
    arguments: list[Any]
    no_grad: bool = False
    flags: dict[str, Any] | None = None

    def __str__(self) -> str:
        text = f"{self.name}({', '.join(_shown(argument) for argument in self.arguments)})"
        if self.flags:
            text = f"{self.flags}: {text}"
        return f"no_grad: {text}" if self.no_grad else text


def _shown(argument: Any) -> str:
    if isinstance(argument, dict) and "t" in argument:
        return f"t{argument['t']}"
    return repr(argument)


def decoded(T: Any, argument: Any, tensors: list[Any]) -> Any:
    """Return the value of an argument."""
    if isinstance(argument, list):
        return [decoded(T, each, tensors) for each in argument]
    if not isinstance(argument, dict):
        return argument
    ((kind, value),) = argument.items()
    if kind == "t":
        return tensors[value]
    if kind == "slice":
        return slice(*value)
    if kind == "dtype":
        return getattr(T, value)
    if kind == "tuple":
        return tuple(decoded(T, each, tensors) for each in value)
    if kind == "ellipsis":
        return ...
    if kind == "inf":
        return float(value)
    raise ValueError(kind)


def _set_item(_T: Any, tensor: Any, key: Any, value: Any) -> Any:
    tensor[key] = value
    return tensor


def _leaf(T: Any, data: Any, dtype: Any, requires_grad: bool, device: Any) -> Any:
    return T.tensor(data, dtype=dtype, requires_grad=requires_grad, **_on(T, device))


def _on(T: Any, device: str) -> dict[str, str]:
    """Return the device for new tensors; PyTorch has no host driver."""
    return {"device": device} if T.__name__ == "interlock" else {}


def _backward(T: Any, tensor: Any, retain: bool) -> None:
    (tensor.sum() if tensor.ndim else tensor).backward(retain_graph=retain)


def _gradients(T: Any, output: Any, inputs: list[Any], create: bool) -> list[Any]:
    total = output if output.ndim == 0 else output.sum()
    return list(T.autograd.grad(total, inputs, create_graph=create, retain_graph=True, allow_unused=True))


def _second(T: Any, output: Any, inputs: list[Any]) -> list[Any]:
    first = [each for each in _gradients(T, output, inputs, True) if each is not None and each.requires_grad]
    if not first:
        return []
    total = first[0].sum()
    for each in first[1:]:
        total = total + each.sum()
    return list(T.autograd.grad(total, inputs, retain_graph=True, allow_unused=True))


def _cross_entropy(T: Any, tensor: Any, target: Any, reduction: str) -> Any:
    function = getattr(T, "cross_entropy", None) or T.nn.functional.cross_entropy
    return function(tensor, target, reduction=reduction)


def _in_place(name: str) -> Callable[..., Any]:
    def operate(_T: Any, tensor: Any, other: Any) -> Any:
        if name == "+=":
            tensor += other
        elif name == "-=":
            tensor -= other
        elif name == "*=":
            tensor *= other
        else:
            tensor /= other
        return tensor

    return operate


def _method(name: str) -> Callable[..., Any]:
    return lambda _T, tensor, *arguments: getattr(tensor, name)(*arguments)


def _reduction(name: str) -> Callable[..., Any]:
    def reduce(_T: Any, tensor: Any, dim: Any, keepdim: bool, dtype: Any = None) -> Any:
        named = {} if dtype is None else {"dtype": dtype}
        if dim is None:
            if name in ("amax", "amin"):
                return getattr(tensor, name)()
            return getattr(tensor, name)(**named)
        return getattr(tensor, name)(dim, keepdim, **named)

    return reduce


def _linear(T: Any, x: Any, weight: Any, *bias: Any) -> Any:
    # The submodule of interlock is imported by tests/fuzz/tensors.py.
    return T.nn.functional.linear(x, weight, *bias)


def _attention(
    T: Any, query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: Any, enable_gqa: bool
) -> Any:
    function = T.nn.functional.scaled_dot_product_attention
    return function(query, key, value, mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)


class _Fourier:
    """The functions of `torch.fft`, with pairs for complex numbers and with rounded halves."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __getattr__(self, name: str) -> Callable[..., Any]:
        torch = self.torch

        def transform(x: Any, *arguments: Any) -> Any:
            wide = x if x.dtype == torch.float64 else x.float()
            # `contiguous` keeps the strides of a tensor without elements, which may be odd.
            wide = wide.clone(memory_format=torch.contiguous_format)
            given = wide if name == "rfft" else torch.view_as_complex(wide)
            found = getattr(torch.fft, name)(given, *arguments)
            # The library that computes decides the strides.
            real = (found if name == "irfft" else torch.view_as_real(found)).contiguous()
            return real.to(x.dtype) if x.dtype in (torch.float16, torch.bfloat16) else real

        return transform


def _expression(T: Any, source: str, device: str, *tensors: Any) -> Any:
    names = dict(zip("xyz", tensors, strict=False))
    names["fft"] = T.fft if T.__name__ == "interlock" else _Fourier(T)
    on = device if T.__name__ == "interlock" else None
    quantized = T.nn.quantized if T.__name__ == "interlock" else T.ao.nn.quantized
    names["QF"] = quantized.functional
    made = eval(source, {"T": T, "F": T.nn.functional, "device": on, **names})
    return list(made) if isinstance(made, (list, tuple)) else made


def _convolution(T: Any, x: Any, weight: Any, bias: Any, *options: Any) -> Any:
    return T.nn.functional.conv2d(x, weight, bias, *options)


def _lstm(T: Any, x: Any, hidden: Any, cell: Any, params: list[Any], layers: int, batch_first: bool) -> Any:
    has_biases = len(params) == 4 * layers
    return list(T.lstm(x, (hidden, cell), params, has_biases, layers, 0.0, False, False, batch_first))


MOST_ELEMENTS = 200
# The products of matrices, with the places of their two factors among the arguments.
PRODUCTS = {"matmul": (0, 1), "mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "linear": (0, 1)}
UNARY = ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "relu", "neg", "abs")
BINARY = ("add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
REDUCTIONS = ("sum", "mean", "amax", "amin", "argmax", "argmin")
VIEWS: tuple[str, ...] = (
    "t",
    "T",
    "transpose",
    "permute",
    "reshape",
    "view",
    "flatten",
    "unsqueeze",
    "squeeze",
    "expand",
)
VIEWS += ("select", "getitem", "detach", "as_strided")
IN_PLACE = (
    "add_",
    "sub_",
    "mul_",
    "div_",
    "zero_",
    "fill_",
    "copy_",
    "setitem",
    "+=",
    "-=",
    "*=",
    "/=",
    WRITES,
)
COPIES = ("clone", "contiguous", "half", "bfloat16", "float", "double", "long", "bool", "to")

OPERATIONS: dict[str, Callable[..., Any]] = {
    "leaf": _leaf,
    "zeros": lambda T, size, dtype, device: T.zeros(size, dtype=dtype, **_on(T, device)),
    "full": lambda T, size, value, device: T.full(size, value, **_on(T, device)),
    "arange": lambda T, start, end, step, device: T.arange(start, end, step, **_on(T, device)),
    "zeros_like": lambda T, tensor: T.zeros_like(tensor),
    "ones_like": lambda T, tensor: T.ones_like(tensor),
    "cat": lambda T, tensors, dim: T.cat(tensors, dim),
    "stack": lambda T, tensors, dim: T.stack(tensors, dim),
    "cross_entropy": _cross_entropy,
    "softmax": lambda T, tensor, dim: T.softmax(tensor, dim),
    "log_softmax": lambda T, tensor, dim: T.log_softmax(tensor, dim),
    "getitem": lambda _T, tensor, key: tensor[key],
    "setitem": _set_item,
    "T": lambda _T, tensor: tensor.T,
    "matmul": lambda T, one, other: T.matmul(one, other),
    "mm": lambda T, one, other: T.mm(one, other),
    "bmm": lambda T, one, other: T.bmm(one, other),
    "addmm": lambda T, added, one, other, beta, alpha: T.addmm(added, one, other, beta=beta, alpha=alpha),
    "linear": _linear,
    "attention": _attention,
    "logical_not": _method("logical_not"),
    "max": _method("max"),
    "min": _method("min"),
    "requires_grad_": _method("requires_grad_"),
    "retain_grad": _method("retain_grad"),
    "grad": lambda _T, tensor: tensor.grad,
    "backward": _backward,
    "gradients": _gradients,
    "second": _second,
    "rsub": lambda _T, tensor, number: number - tensor,
    "rdiv": lambda _T, tensor, number: number / tensor,
    "rpow": lambda _T, tensor, number: number**tensor,
    "radd": lambda _T, tensor, number: number + tensor,
    "rmul": lambda _T, tensor, number: number * tensor,
    "add alpha": lambda _T, tensor, other, alpha: tensor.add(other, alpha=alpha),
    "sub alpha": lambda _T, tensor, other, alpha: tensor.sub(other, alpha=alpha),
    **{name: _method(name) for name in UNARY},
    **{name: _method(f"__{name}__") for name in ("ne", "lt", "le", "gt", "ge")},
    **{name: _method(name) for name in ("add", "sub", "mul", "div", "pow", "eq")},
    **{name: _reduction(name) for name in REDUCTIONS},
    **{
        name: _method(name)
        for name in (*VIEWS, *IN_PLACE, *COPIES)
        if name not in ("getitem", "setitem", "T", WRITES)
    },
    **dict.fromkeys(EXPRESSIONS, _expression),
    "convolution": _convolution,
    "lstm": _lstm,
    **{name: _in_place(name) for name in ("+=", "-=", "*=", "/=")},
}


class Result(NamedTuple):
    """The compared properties of a tensor."""

    dtype: str
    shape: list[int]
    stride: list[int]
    requires_grad: bool | str
    is_leaf: bool | str
    """These two are "raises" for a view whose history cannot be read."""
    contiguous: bool
    values: list[Any]
    """Elements as text: JSON has one zero, and floats must keep every bit."""


def dtype_of(tensor: Any) -> str:
    """Return the name of the dtype of a tensor."""
    return str(tensor.dtype).rpartition(".")[2]


def values_of(tensor: Any) -> npt.NDArray[Any]:
    """Return a copy of the elements on the CPU. Halves are float32: NumPy has no bfloat16."""
    tensor = tensor.detach()
    if dtype_of(tensor) in HALVES:
        tensor = tensor.float()
    array: npt.NDArray[Any] = np.array(tensor.cpu().numpy(force=True))
    return array


def result_of(tensor: Any) -> Result | None:
    """Return the compared properties of a tensor; None for None."""
    if tensor is None:
        return None
    array = values_of(tensor).reshape(-1)
    values = [value.hex() for value in array.tolist()] if array.dtype.kind == "f" else array.tolist()
    return Result(
        dtype_of(tensor),
        list(tensor.shape),
        list(tensor.stride()),
        history_of(tensor, "requires_grad"),
        history_of(tensor, "is_leaf"),
        tensor.is_contiguous(),
        values,
    )


def history_of(tensor: Any, name: str) -> bool | str:
    """Return an attribute, or "raises" for a view made in no-grad mode and then changed with grad mode."""
    try:
        return bool(getattr(tensor, name))
    except RuntimeError:
        return "raises"


def array_of(result: Result) -> npt.NDArray[Any]:
    """Return the elements of a result, in one dimension. Halves are float32."""
    values = [float.fromhex(value) if isinstance(value, str) else value for value in result.values]
    return np.array(values, dtype="float32" if result.dtype in HALVES else result.dtype)


def run_step(T: Any, step: Step, tensors: list[Any]) -> list[Any]:
    """Run a step and return its tensors (None for a large one), or raise its exception."""
    arguments = [decoded(T, argument, tensors) for argument in step.arguments]
    with T.no_grad() if step.no_grad else contextlib.nullcontext():
        made = OPERATIONS[step.name](T, *arguments)
    made = made if isinstance(made, list) else [made]
    is_large = any(tensor is not None and tensor.numel() > MOST_ELEMENTS for tensor in made)
    return [None] * len(made) if is_large else made

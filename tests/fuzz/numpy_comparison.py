"""The comparison of a step's result with NumPy's, and the scale of its tolerance."""

from __future__ import annotations

from typing import Any

import interlock
import numpy as np

from tests.fuzz import numpy_side
from tests.fuzz.expressions import SQUARES, SUMS
from tests.fuzz.programs import COMPARISONS, HALVES, PRODUCTS, Step, decoded, dtype_of, values_of
from tests.fuzz.tolerances import difference, limits


def for_numpy(argument: Any, tensors: list[Any]) -> Any:
    """Return an argument of a step for NumPy."""
    if isinstance(argument, list):
        return [for_numpy(each, tensors) for each in argument]
    if isinstance(argument, dict):
        if "t" in argument:
            tensor = tensors[argument["t"]]
            return None if tensor is None else values_of(tensor)
        if "tuple" in argument:
            return tuple(for_numpy(each, tensors) for each in argument["tuple"])
        if "dtype" in argument:
            return argument["dtype"]
    return decoded(interlock, argument, tensors)


def scale(step: Step, tensors: list[Any]) -> float:
    """Return the largest finite element of the operands; for sums and products times their number."""
    if step.name in PRODUCTS:
        return scale_of_product(step, tensors)
    largest, count = 0.0, 1
    for argument in step.arguments:
        each = tensors[argument["t"]] if isinstance(argument, dict) and "t" in argument else None
        if each is None or not each.numel():
            continue
        array = np.abs(values_of(each).astype("float64"))
        finite = array[np.isfinite(array)]
        own = float(finite.max()) if finite.size else 0.0
        largest, count = max(largest, own), max(count, array.size)
    if step.name in ("sum", "mean", "cross_entropy"):
        return largest * count
    if step.name in (SUMS, SQUARES, "convolution"):
        # Of products of two elements.
        return max(largest, largest * largest) * count
    if step.name in ("softmax",):
        return 1.0
    if step.name in ("sin", "cos", "log_softmax"):
        return max(largest, 1.0)
    return largest if step.name not in ("pow", "rpow", "exp") else 0.0


def scale_of_product(step: Step, tensors: list[Any]) -> float:
    """Return the largest possible sum of a product of matrices, and of the addend."""
    values = [for_numpy(each, tensors) for each in step.arguments if isinstance(each, dict)]
    if any(each is None for each in values):
        return 0.0
    arrays = [np.abs(each.astype("float64")) for each in values]
    largest = [float(np.max(array, initial=0.0, where=np.isfinite(array))) for array in arrays]
    numbers = [abs(number) for number in step.arguments if not isinstance(number, dict)]
    one, other = PRODUCTS[step.name]
    depth = arrays[one].shape[-1] if arrays[one].ndim else 1
    factor = float(max([1, *numbers]))
    product = largest[one] * largest[other] * float(max(depth, 1)) * factor
    return product + sum(largest) * factor if len(arrays) > 2 else product


def compared_with_numpy(
    step: Step, tensors: list[Any], operands: list[Any], made: list[Any], scale: float
) -> str | None:
    """Return the difference of a result from NumPy's. `operands` are the arguments of the step for NumPy."""
    if len(made) != 1 or made[0] is None or (step.name == "getitem" and mixes(step.arguments[1])):
        return None
    if step.name.endswith("alpha") and made[0].dtype is interlock.bool:
        # NumPy computes in integers, and the conversion of a negative one is True.
        return None
    got = values_of(made[0])
    first = step.arguments[0] if step.arguments else None
    dtype = dtype_of(tensors[first["t"]]) if isinstance(first, dict) and "t" in first else ""
    if dtype in HALVES and step.name in (*COMPARISONS, "pow"):
        # Comparisons with halves and powers of them round numbers and 0-d tensors; NumPy's do not.
        has_dims = np.ndim(operands[0]) > 0
        operands = [
            numpy_side.stored(each, dtype)
            if type(each) is float or (has_dims and np.ndim(each) == 0 and np.asarray(each).dtype.kind == "f")
            else each
            for each in operands
        ]
    if step.name == "pow" and dtype == "float16" and step.arguments[1] in (0.5, -0.5):
        # NumPy computes a root, which differs from the power for -0 and -infinity.
        return None
    if dtype in HALVES and any(type(each) is int and abs(each) > limits("float16")[0] for each in operands):
        # Sums and comparisons round such a number to infinity. PyTorch is the reference.
        return None
    try:
        want = numpy_side.answer(step, operands)
    except (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError):
        # NumPy accepts less, such as no negative powers of integers and no -1 beside unsigned integers.
        # PyTorch is the reference.
        return None
    if want is None:
        return None
    want = np.asarray(want)
    if got.dtype.kind == "i" and any(
        isinstance(each, np.ndarray) and each.dtype.kind == "f" for each in operands
    ):
        # The conversion of numbers out of the range of integers is undefined.
        return None
    if list(want.shape) != list(got.shape):
        return f"NumPy: shape {list(got.shape)} instead of {list(want.shape)}"
    with np.errstate(all="ignore"):
        narrowed = want.dtype.kind == "f" and got.dtype.kind == "f" and want.dtype != got.dtype
        dtype = dtype_of(made[0])
        want = numpy_side.stored(want, dtype) if dtype in HALVES else want.astype(got.dtype)
        reported = difference(step.name, got.reshape(-1), want.reshape(-1), scale, dtype)
    if reported and narrowed and got.dtype == np.float32:
        # NumPy computes mixed dtypes in float64, where interlock and PyTorch compute in float32.
        return None
    return f"NumPy: {reported}" if reported else None


def mixes(key: Any) -> bool:
    """Return whether an index has integers beside lists, which NumPy broadcasts and PyTorch selects first."""
    parts = key["tuple"] if isinstance(key, dict) and "tuple" in key else [key]
    return any(isinstance(part, int) for part in parts) and any(isinstance(part, list) for part in parts)

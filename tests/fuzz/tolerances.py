"""The tolerances of results by class of operations and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.fuzz.expressions import SQUARES, SUMS, WRITES
from tests.fuzz.programs import PRODUCTS

# Relative to the larger of the expected element and the scale of the operation. The scale is the largest
# element of its operands, for sums and products of matrices times their number. Integers and bools must be
# equal.
#
# Halves are computed in float32 and rounded once on both sides: results differ by at most one unit in the
# last place where float32 results differ, and by two where PyTorch rounds intermediate results.
TOLERANCES: dict[str, dict[str, float]] = {
    # Views, copies, comparisons, minima and maxima.
    "exact": {"float16": 0.0, "bfloat16": 0.0, "float32": 0.0, "float64": 0.0},
    # One rounding, or two if a factor is applied first.
    "rounded": {"float16": 2**-10, "bfloat16": 2**-7, "float32": 3e-7, "float64": 5e-16},
    # Elementary functions.
    "function": {"float16": 2**-9, "bfloat16": 2**-6, "float32": 4e-6, "float64": 1e-14},
    # Products of all elements. PyTorch rounds each partial product of halves.
    "product": {"float16": 2**-6, "bfloat16": 2**-3, "float32": 4e-6, "float64": 1e-14},
    # Sums in any order, products of matrices, softmax.
    "sum": {"float16": 2**-9, "bfloat16": 2**-6, "float32": 2e-6, "float64": 1e-14},
    # Exponentials of sums of products.
    "attention": {"float16": 2**-8, "bfloat16": 2**-5, "float32": 2e-5, "float64": 1e-13},
    # Factors of matrices, and what is computed with them. Halves are converted first.
    "matrix": {"float16": 5e-5, "bfloat16": 5e-5, "float32": 5e-5, "float64": 1e-12},
    # Gradients, relative to the largest element of the same gradient. Programs with halves record none: the
    # roundings of a chain of operations would add up.
    "gradient": {"float32": 3e-4, "float64": 1e-11},
    "second": {"float32": 3e-3, "float64": 1e-10},
}

CLASSES: dict[str, str] = {
    **dict.fromkeys(
        ("add", "sub", "mul", "div", "radd", "rsub", "rmul", "rdiv", "add alpha", "sub alpha"), "rounded"
    ),
    **dict.fromkeys(("add_", "sub_", "mul_", "div_", "+=", "-=", "*=", "/=", "arange"), "rounded"),
    "expression rounded": "rounded",
    **dict.fromkeys(("expression function", WRITES), "function"),
    "expression product": "product",
    "expression matrix": "matrix",
    **dict.fromkeys((SUMS, SQUARES, "convolution", "lstm"), "sum"),
    **dict.fromkeys(("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "pow", "rpow"), "function"),
    **dict.fromkeys(("sum", "mean", *PRODUCTS, "softmax", "log_softmax", "cross_entropy"), "sum"),
    "attention": "attention",
    **dict.fromkeys(("gradients", "grad", "backward"), "gradient"),
    "second": "second",
}


def tolerance(name: str, dtype: str) -> float:
    """Return the relative tolerance of an operation."""
    return TOLERANCES[CLASSES.get(name, "exact")].get(dtype, 0.0)


# The largest and the smallest positive number of the dtypes that are compared as float32.
LIMITS = {"float16": (65504.0, 2.0**-24), "bfloat16": (float.fromhex("0x1.fep127"), 2.0**-133)}


def limits(dtype: str) -> tuple[float, float]:
    """Return the largest and the smallest positive number of a dtype."""
    if dtype in LIMITS:
        return LIMITS[dtype]
    found = np.finfo(dtype)
    return float(found.max), float(found.smallest_subnormal)


def difference(
    name: str, got: npt.NDArray[Any], want: npt.NDArray[Any], scale: float, dtype: str | None = None
) -> str | None:
    """Return the difference of two arrays of one shape, or None if within the tolerance.

    `dtype` is the dtype of the elements, if it is not that of the arrays.
    """
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    if got.dtype.kind != "f":
        return None if np.array_equal(got, want) else f"{got.tolist()} instead of {want.tolist()}"
    if not got.size:
        return None
    dtype = dtype or str(got.dtype)
    relative, (largest, smallest) = tolerance(name, dtype), limits(dtype)
    with np.errstate(all="ignore"):
        if CLASSES.get(name) in ("gradient", "second"):
            finite = np.abs(want[np.isfinite(want)])
            scale = max([scale, *finite.tolist()])
        allowed = relative * np.maximum(np.abs(want), scale) + 4 * smallest
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        if CLASSES.get(name) == "second":
            # Of an infinity PyTorch's formulas multiply 0 by infinity where the limit exists, as for acosh.
            same |= np.isnan(want) & (got == 0)
        if name in PRODUCTS and scale > largest:
            # A product of two elements overflows unless it is added without intermediate rounding (FMA).
            same |= ~np.isfinite(got) & ~np.isfinite(want)
        # Near the largest number one side may round to infinity.
        if relative:
            same |= (np.sign(got) == np.sign(want)) & (
                np.minimum(np.abs(got), np.abs(want)) >= largest * (1 - relative)
            )
        close = same | (np.isfinite(got) & np.isfinite(want) & (np.abs(got - want) <= allowed))
    return (
        None
        if bool(close.all())
        else f"{got.tolist()} instead of {want.tolist()} (tolerance {relative}, scale {scale})"
    )

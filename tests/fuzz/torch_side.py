"""The co-process with PyTorch: reads programs with interlock's results and writes the differences.

Each line of the input is `[steps, results, finals]`; each line of the output `[agreed, differences]`. After
each step the elements of PyTorch's result become those of interlock, so that roundings do not add up over a
program.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import warnings
from typing import Any, NamedTuple

import torch  # type: ignore[import-not-found,unused-ignore]

from tests.fuzz.expressions import WRITES
from tests.fuzz.intentional_differences import CONVERSIONS, intentional_reason
from tests.fuzz.programs import HALVES, IN_PLACE, Result, Step, array_of, dtype_of, result_of, run_step
from tests.fuzz.tolerances import difference

# PyTorch returns the gradient of a sum as an expanded element, interlock as a dense tensor.
GRADIENTS = ("gradients", "second", "final")
ZEROS = {"0x0.0p+0", "-0x0.0p+0"}
ATTRIBUTES = ("dtype", "shape", "requires_grad", "is_leaf", "stride", "contiguous")


def compare(
    step: Step,
    got: Result | None,
    want: Any,
    scale: float,
    *,
    any_layout: bool = False,
    any_elements: bool = False,
    dtype: str | None = None,
) -> str | None:
    """Return the difference of interlock's result from PyTorch's tensor.

    `any_layout` ignores strides, and `any_elements` elements: those of a product with rounded inputs.
    `dtype` is that of the tolerance, if it is not that of the result.
    """
    expected = result_of(want)
    if got is None or expected is None:
        return None if got is None and expected is None else f"{got} instead of {expected}"
    for name in ATTRIBUTES:
        if name in ("stride", "contiguous") and (any_layout or step.name in GRADIENTS):
            continue
        ours, theirs = getattr(got, name), getattr(expected, name)
        if name == "stride":
            ours, theirs = strides(got), strides(expected)
        if ours != theirs:
            return f"{name} {ours} instead of {theirs}"
    if any_elements:
        return None
    return difference(step.name, array_of(got), array_of(expected), scale, dtype or got.dtype)


def strides(result: Result) -> list[int]:
    """Return the strides of dimensions with more than one element."""
    if 0 in result.shape:
        return []
    return [stride for stride, size in zip(result.stride, result.shape, strict=True) if size > 1]


def operands_of(argument: Any) -> set[int]:
    """Return the numbers of the tensors in an argument."""
    if isinstance(argument, dict):
        if "t" in argument:
            return {argument["t"]}
        return set().union(*(operands_of(each) for each in argument.values()))
    return set().union(*(operands_of(each) for each in argument)) if isinstance(argument, list) else set()


def dtype_of_roundings(step: Step, tensors: list[Any]) -> str | None:
    """Return the narrowest dtype to which intermediate results are rounded, or None for the result's dtype.

    A loss and a function with `out` compute with the dtypes of their operands, of integers in float32, and a
    gradient with those of all tensors.
    """
    operands = [tensors[number] for number in operands_of(step.arguments) if number < len(tensors)]
    if step.name in GRADIENTS:
        operands = tensors
    elif step.name not in ("cross_entropy", "expression in place"):
        return None
    names = {dtype_of(each) for each in operands if each is not None}
    if step.name == WRITES and not all("float" in name for name in names):
        names.add("float32")
    return next((name for name in (*HALVES, "float32") if name in names), None)


def strides_differ(got: Result | None, want: Any) -> bool:
    """Return whether two results have different strides."""
    expected = result_of(want)
    return got is not None and expected is not None and strides(got) != strides(expected)


def is_undefined(step: Step, tensors: list[Any], got: Result | None, reported: str) -> bool:
    """Return whether a result depends on integers of elements out of range, or on the bits of a NaN."""
    if (
        re.search(r"x\.view\((dtype=)?T\.", str(step.arguments[:1]))
        and got is not None
        and "int" in got.dtype
    ):
        viewed = (tensors[number] for number in operands_of(step.arguments[2:3]))
        return any(each is not None and bool(each.isnan().any()) for each in viewed)
    if step.name in ("fill_", "setitem") and not isinstance(step.arguments[-1], dict):
        return False  # Arguments that are numbers must be in range.
    # Sums of out-of-range numbers stay near that range unless they cancel out.
    extremes = any(abs(int(number)) >= 2**62 for number in re.findall(r"-?\d+", reported))
    operands = (tensors[number] for number in operands_of(step.arguments) if number < len(tensors))
    extremes |= any(is_out_of_range(tensor) for tensor in operands if tensor is not None)
    return got is not None and "int" in got.dtype and step.name in CONVERSIONS and extremes


def is_out_of_range(tensor: Any) -> bool:
    """Return whether an element can't be converted to an integer of 32 bits."""
    return tensor.is_floating_point() and not bool((tensor.detach().abs() < 2.0**31).all())


class Earlier(NamedTuple):
    """What the steps before a result have done."""

    steps: list[Step]
    products: set[int]
    """The tensors that are products of elements, or results of copysign or hypot."""
    has_infinite_product: bool
    """Whether an operand or a result of such a product is not finite."""


def is_product(step: Step) -> bool:
    """Return whether PyTorch computes the gradient of a step from its result."""
    return re.search(r"prod\(|copysign|hypot", str(step.arguments[:1])) is not None


def is_finite(tensor: Any) -> bool:
    """Return whether all elements of a tensor of any dtype are finite; True for None."""
    return tensor is None or bool(tensor.isfinite().all())


def is_tiny(result: Result) -> bool:
    """Return whether all elements are small beside the rounding error of 1."""
    return bool((abs(array_of(result)) < 1e-6).all())


def differs_on_purpose(step: Step, earlier: Earlier, got: Result | None, reported: str) -> bool:
    """Return whether a difference in a result (not in raising) is intentional."""
    if step.name == "getitem":
        # Indices that are lists or tensors give contiguous results, PyTorch's follow the indexed tensor.
        return reported.startswith(("stride", "contiguous")) and by_elements(step.arguments[1])
    if step.name == "addmm":
        # PyTorch's kernels of halves multiply by an alpha of 0, also NaN and infinities.
        return step.arguments[4] == 0 and got is not None and got.dtype in HALVES
    if step.name.startswith("expression"):
        source = step.arguments[0]
        if "einsum" in source and reported.startswith(("stride", "contiguous")):
            return True  # The layout depends on the order of the products, which is unspecified.
        if "_mean(" in source and "nan" in reported.partition(" instead of ")[2]:
            return True  # PyTorch updates the mean with differences, and that of infinities is NaN.
        if "erf" in source and got is not None and is_tiny(got):
            return True  # PyTorch computes 1 minus a number near 1, and the error is that of 1.
        if re.search(r"\b[xT]\.norm\(", source) and is_out_of_range_of_squares(reported):
            return True  # PyTorch adds squares, which overflow and underflow where norms do not.
        if "layer_norm" in source and "nan" in reported.partition(" instead of ")[2]:
            return True  # Squares of large float32 elements overflow in PyTorch.
        if "fft." in source and "nan" in reported:
            return (
                True  # Another order of the sums adds infinities of both signs, or a NaN to other elements.
            )
        if "F.gelu" in source and "inf" in str(got) and "nan" in reported.partition(" instead of ")[2]:
            return True  # PyTorch's kernel of float32 multiplies the infinity by 0.
    overflows = any(re.search("layer_norm|F.gelu", str(each)) for each in earlier.steps)
    if step.name in GRADIENTS and overflows and "nan" in reported.partition(" instead of ")[2]:
        return True  # As in the forward pass.
    if step.name in GRADIENTS and any(re.search(r"logical_\w+_\(", str(each)) for each in earlier.steps):
        return True  # PyTorch does not record logical operations in place.
    history = "; ".join(map(str, earlier.steps))
    if "einsum" in history and reported.startswith("stride"):
        return True  # Results follow the layout of an operand that einsum has made.
    is_zero = reported.startswith("None instead of") and set(re.findall(r"'(\S*0x\S*)'", reported)) <= ZEROS
    if step.name == "second" and "relu_(" in history and (is_zero or reported.startswith("0 results")):
        return True  # PyTorch's gradient of relu_ depends on the result, with a gradient of 0.
    if step.name == "second" and "fill_(" in history and is_zero:
        return True  # PyTorch's gradient of fill_ keeps the history of a gradient that zeros replace.
    if reported.startswith(("requires_grad False instead of True", "0 results")) and step.name in GRADIENTS:
        # The gradient by a weight does not depend on the weight; PyTorch records the convolution as a whole.
        return any(each.name == "convolution" for each in earlier.steps)
    if step.name in GRADIENTS and "topk(" in history and not reported.startswith(ATTRIBUTES):
        return True  # It is unspecified which of several equal elements are selected.
    is_angle = any("atan2" in str(each) and len(operands_of(each.arguments)) == 1 for each in earlier.steps)
    if step.name == "second" and is_angle and not reported.startswith(ATTRIBUTES):
        # Of an angle between a tensor and itself the terms cancel. Near 0 they are large, and so is what the
        # roundings of their sum leave.
        return True
    is_hooked = "register_hook(" in history and len(operands_of(step.arguments[1:2])) > 1
    if step.name in GRADIENTS and is_hooked and not reported.startswith(ATTRIBUTES):
        return True  # PyTorch returns the gradient before hooks of a result that depends on another input.
    is_saved = reported.startswith("Result(") and reported.endswith("instead of None")
    if step.name == "second" and is_saved and re.search(r"linalg.*\.contiguous\(\)", history):
        return True  # PyTorch copies the solution, whose columns have no gaps. The copy has no gradient.
    has_variance = re.search(r"\.(var|std)\b", history)
    is_constant = re.match(r"requires_grad True instead of False|\d+ results instead of 0$", reported)
    if step.name in GRADIENTS and has_variance and is_constant:
        return True  # PyTorch's gradient of a variance of too few elements is a constant.
    if step.name in IN_PLACE:
        # Integer and bool tensors never require grad.
        return reported.startswith("requires_grad False") and "float" not in (got.dtype if got else "float")
    if step.name in GRADIENTS and earlier.products:
        # PyTorch computes this gradient from the product: it depends on it, and a NaN spreads further.
        has_nan = "nan" in reported.partition(" instead of ")[2]
        from_product = bool(earlier.products & operands_of(step.arguments))
        return from_product or (has_nan and earlier.has_infinite_product)
    # PyTorch divides by the number of elements that equal the result, and NaN equals nothing.
    extreme = any(re.search("amax|amin", str(each)) for each in earlier.steps)
    return step.name in GRADIENTS and extreme and "nan" in reported.partition(" instead of ")[2]


def is_out_of_range_of_squares(reported: str) -> bool:
    """Return whether PyTorch's norm in a difference is infinite or 0."""
    theirs = reported.partition(" instead of ")[2].partition(" (tolerance")[0]
    return re.search(r"\binf\b|\b0\.0\b", theirs) is not None


def by_elements(key: Any) -> bool:
    """Return whether an index has a list or a tensor."""
    if isinstance(key, dict):
        return "t" in key or any(isinstance(part, list) or by_elements(part) for part in key.get("tuple", ()))
    return isinstance(key, list)


def operand_overlaps_target(step: Step, tensors: list[Any]) -> bool:
    """Return whether an in-place operation has another view of its target as operand.

    If PyTorch does not detect it, it reads elements that it has written; interlock copies the operand first.
    """
    numbers = [each["t"] for each in step.arguments if isinstance(each, dict) and "t" in each]
    if step.name == WRITES:
        # Expressions with `out` have operands beside the target; the others use copies of operands.
        out = re.search(r"out=([xyz])", step.arguments[0])
        names = dict(zip("xyz", numbers, strict=True))
        numbers = [] if out is None else [names.pop(out[1]), *names.values()]
    if step.name not in IN_PLACE or len(numbers) < 2:
        return False
    target, *others = (tensors[number] for number in numbers)
    own = target.untyped_storage().data_ptr()
    return any(other is not None and other.untyped_storage().data_ptr() == own for other in others)


def signs(tensor: Any) -> Any:
    """Return the signs of numbers, also of zeros; those of NaN are ignored."""
    return tensor.nan_to_num().signbit()


def take_over(tensor: Any, result: Result | None) -> None:
    """Write interlock's elements into a tensor of PyTorch unless they are equal."""
    if tensor is None or result is None or not tensor.is_floating_point():
        return
    array = array_of(result).reshape(tensor.shape)
    values = torch.from_numpy(array).to(tensor.dtype)
    own = tensor.detach()
    if torch.equal(own.nan_to_num(), values.nan_to_num()) and torch.equal(signs(own), signs(values)):
        return
    try:
        tensor.data.copy_(values)
    except RuntimeError:
        return  # Elements that share memory: the base tensor has them already.


def elements_of(step: Step, tensors: list[Any]) -> list[tuple[Any, Any]]:
    """Return the operands of an in-place operation with copies of their elements."""
    if step.name not in IN_PLACE:
        return []
    operands = [tensors[number] for number in operands_of(step.arguments) if number < len(tensors)]
    return [(each, each.detach().clone()) for each in operands if each is not None]


def restore(before: list[tuple[Any, Any]]) -> None:
    """Write back the elements that an operation of PyTorch has changed before it raised."""
    for tensor, elements in before:
        with contextlib.suppress(RuntimeError):  # Elements that share memory: the base tensor is restored.
            tensor.data.copy_(elements)


def judge(steps: list[Step], results: list[Any], finals: list[Any]) -> tuple[int, list[list[Any]]]:
    """Run a program and return the number of equal steps and the first difference."""
    tensors: list[Any] = []
    # The gradients that have other strides on purpose, and tensors derived from them.
    other_strides: set[int] = set()
    gradients: set[int] = set()
    products: set[int] = set()
    has_infinite_product = False
    agreed = 0
    for number, (step, given) in enumerate(zip(steps, results, strict=True)):
        ours = None if given["error"] else [None if each is None else Result(*each) for each in given["made"]]
        earlier = Earlier(steps[:number], products, has_infinite_product)
        before = elements_of(step, tensors)
        try:
            made = run_step(torch, step, tensors)
            error = ""
        except Exception as raised:
            made, error = [None], f"{type(raised).__name__}: {raised}".splitlines()[0]
            restore(before)
        if bool(error) != bool(given["error"]):
            ours_and_theirs = (given["error"] or "no error", error or "no error")
            if intentional_reason(step.name, *ours_and_theirs, "; ".join(map(str, earlier.steps))):
                return agreed, []
            if "view was created in" in error and gradients & operands_of(step.arguments):
                return agreed, []  # PyTorch's backward pass returns a view.
            if "this view was created in no_grad" in given["error"] and gradients & operands_of(
                step.arguments
            ):
                return agreed, []  # The backward pass of interlock returns a view.
            if "refers to a single memory location" in error and other_strides & operands_of(step.arguments):
                return agreed, []  # PyTorch's tensor is an expanded gradient.
            reported = f"{given['error'] or 'no error'} instead of {error or 'no error'}"
            return agreed, [[number, reported]]
        if ours is not None:
            if len(ours) != len(made):
                reported = f"{len(ours)} results instead of {len(made)}"
                on_purpose = differs_on_purpose(step, earlier, None, reported)
                return agreed, [] if on_purpose else [[number, reported]]
            inherits = bool(other_strides & operands_of(step.arguments))
            for place, (mine, theirs) in enumerate(zip(ours, made, strict=True), len(tensors)):
                found_difference = compare(
                    step,
                    mine,
                    theirs,
                    given["scale"],
                    any_layout=inherits,
                    any_elements=given.get("inputs", "float32") != "float32",
                    dtype=dtype_of_roundings(step, tensors),
                )
                if strides_differ(mine, theirs):
                    other_strides.add(place)
                undefined = is_undefined(step, tensors, mine, found_difference or "")
                on_purpose = differs_on_purpose(step, earlier, mine, found_difference or "")
                if found_difference and (undefined or on_purpose or operand_overlaps_target(step, tensors)):
                    return agreed, []
                if found_difference:
                    return agreed, [[number, found_difference]]
                take_over(theirs, mine)
        numbers = set(range(len(tensors), len(tensors) + len(made)))
        if step.name in ("grad", "gradients", "second") or gradients & operands_of(step.arguments[:1]):
            gradients |= numbers
        if is_product(step) or any(each is tensors[product] for each in made for product in products):
            products |= numbers
            operands = [tensors[operand] for operand in operands_of(step.arguments) if operand < len(tensors)]
            has_infinite_product |= not all(is_finite(each) for each in (*operands, *made))
        agreed += 1
        tensors += made
    for number, (mine, theirs) in enumerate(zip(finals, tensors if finals else [], strict=True)):
        if number in gradients:
            continue  # It is unspecified whether two gradients are one tensor, which a change in place shows.
        final = Result(*mine) if mine is not None else None
        found_difference = compare(Step("final", []), final, theirs, 0.0)
        if found_difference:
            return agreed, [[len(steps) - 1, f"at the end t{number} is {found_difference}"]]
    return agreed, []


def main() -> None:
    """Process requests until the end of the input."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for line in sys.stdin:
        steps, results, finals = json.loads(line)
        print(json.dumps(judge([Step(*step) for step in steps], results, finals)), flush=True)


if __name__ == "__main__":
    main()

"""The draws of elementwise operations, reductions, copies and steps of autograd."""

from __future__ import annotations

from typing import Any

import interlock

from tests.fuzz.drawing.layers import product_flags
from tests.fuzz.drawing.state import Drawing
from tests.fuzz.drawing.views import index_of
from tests.fuzz.programs import COMPARISONS, HALVES, IN_PLACE, REDUCTIONS, UNARY, Step, dtype_of, history_of
from tests.fuzz.table import drawn

# The share of expressions of tensors that require grad which are followed by their gradients.
GRADIENTS_OF_EXPRESSIONS = 0.3
ARITHMETIC = ("add", "sub", "mul", "div", "pow")


def expression(drawing: Drawing, number: int) -> Step:
    """Return an operation of the table of expressions, often before its first or second gradients."""
    name, source = drawn(drawing.random, list(drawing.tensors[number].shape))
    operands = [number, drawing.like(number), drawing.like(number)]
    inputs = [
        {"t": each}
        for each in dict.fromkeys(operands)
        if history_of(drawing.tensors[each], "requires_grad") is True
    ]
    if inputs and drawing.random.random() < GRADIENTS_OF_EXPRESSIONS:
        output = {"t": len(drawing.tensors)}
        first = Step("gradients", [output, inputs, drawing.random.random() < 0.4])
        drawing.queued.append(drawing.random.choice((first, Step("second", [output, inputs]))))
    return Step(name, [source, drawing.device, *({"t": each} for each in operands)])


def unary(drawing: Drawing, number: int) -> Step:
    """Return an elementary function."""
    if drawing.tensors[number].dtype is interlock.bool:
        return Step("logical_not", [{"t": number}])
    return Step(drawing.random.choice(UNARY), [{"t": number}])


def binary(drawing: Drawing, number: int) -> Step:
    """Return arithmetic, a comparison or a product of matrices."""
    way = drawing.random.random()
    tensor = drawing.tensors[number]
    if way < 0.15:
        return Step(
            "matmul", [{"t": number}, {"t": product_of(drawing, number)}], flags=product_flags(drawing)
        )
    if way < 0.3:
        return Step(
            drawing.random.choice(("radd", "rsub", "rmul", "rdiv", "rpow")), [{"t": number}, drawing.number()]
        )
    other: Any = {"t": drawing.like(number)} if way < 0.8 else drawing.number()
    if way < 0.35:
        alpha = drawing.random.choice((1, 2, -1, 0.5) if tensor.dtype.is_floating_point else (1, 2, -1))
        if dtype_of(tensor) in HALVES:
            alpha = drawing.random.choice((alpha, 0.3))
        return Step(drawing.random.choice(("add alpha", "sub alpha")), [{"t": number}, other, alpha])
    if way < 0.45 or tensor.dtype is interlock.bool:
        return Step(drawing.random.choice(COMPARISONS), [{"t": number}, other])
    return Step(drawing.random.choice(ARITHMETIC), [{"t": number}, other])


def product_of(drawing: Drawing, number: int) -> int:
    """Return a tensor for the right side of a matrix product."""
    tensor = drawing.tensors[number]
    fitting = [
        index
        for index, other in enumerate(drawing.tensors)
        if other is not None
        and other.ndim
        and tensor.ndim
        and tensor.shape[-1] == other.shape[max(other.ndim - 2, 0)]
        and tensor.dtype is other.dtype
    ]
    return drawing.random.choice(fitting) if fitting else drawing.like(number)


def reduction(drawing: Drawing, number: int) -> Step:
    """Return a reduction, a softmax or a loss."""
    tensor = drawing.tensors[number]
    this = {"t": number}
    way = drawing.random.random()
    if way < 0.2:
        return Step(drawing.random.choice(("softmax", "log_softmax")), [this, drawing.dim(number)])
    if way < 0.3:
        return Step(drawing.random.choice(("max", "min")), [this])
    if way < 0.4:
        return loss(drawing, number)
    name = drawing.random.choice(REDUCTIONS)
    dim: Any = drawing.random.choice((None, drawing.dim(number), drawing.dim(number)))
    if name in ("sum", "mean", "amax", "amin") and tensor.ndim > 1 and drawing.random.random() < 0.3:
        dim = drawing.random.choice(([0, 1], [-1], [0, -1], []))
    arguments: list[Any] = [this, dim, drawing.random.random() < 0.4]
    if name in ("sum", "mean") and drawing.random.random() < 0.2:
        arguments.append({"dtype": drawing.random.choice(("float32", "float64", "int64"))})
    return Step(name, arguments)


def loss(drawing: Drawing, number: int) -> Step:
    """Return the cross entropy with the class indices of another tensor."""
    tensor = drawing.tensors[number]
    targets = [
        index
        for index, other in enumerate(drawing.tensors)
        if other is not None and other.dtype is interlock.int64 and other.ndim == max(tensor.ndim - 1, 0)
    ]
    target = drawing.random.choice(targets) if targets else drawing.like(number)
    return Step(
        "cross_entropy", [{"t": number}, {"t": target}, drawing.random.choice(("mean", "sum", "none"))]
    )


def in_place(drawing: Drawing, number: int) -> Step:
    """Return an operation that writes into a tensor."""
    name = drawing.random.choice(IN_PLACE)
    this = {"t": number}
    if name == "zero_":
        return Step(name, [this])
    other: Any = {"t": drawing.like(number)} if drawing.random.random() < 0.6 else drawing.number()
    if name == "copy_":
        return Step(name, [this, {"t": drawing.like(number)}])
    if name == "setitem":
        return Step(name, [this, index_of(drawing, number), other])
    return Step(name, [this, other])


def copy(drawing: Drawing, number: int) -> Step:
    """Return a copy, possibly of another dtype."""
    halves = ("half", "bfloat16") if drawing.has_halves else ()
    name = drawing.random.choice(("clone", "contiguous", "float", "double", "long", "bool", "to", *halves))
    if name == "to":
        return Step(name, [{"t": number}, {"dtype": drawing.random.choice(drawing.dtypes)}])
    return Step(name, [{"t": number}])


def joining(drawing: Drawing, number: int) -> Step:
    """Return a step that joins tensors."""
    count = drawing.random.randrange(1, 4)
    numbers = [number, *(drawing.like(number) for _ in range(count - 1))]
    tensors = [{"t": each} for each in numbers]
    return Step(drawing.random.choice(("cat", "stack")), [tensors, drawing.dim(number)])


def history(drawing: Drawing, number: int) -> Step:
    """Return a step of autograd."""
    this = {"t": number}
    way = drawing.random.randrange(6)
    floating = drawing.choose(floating=True)
    if way == 0 and floating is not None:
        return Step("requires_grad_", [{"t": floating}])
    if way == 1:
        return Step("retain_grad", [this])
    if way == 2:
        return Step("backward", [this, drawing.random.random() < 0.7])
    if way == 3:
        return Step("grad", [this])
    return gradients(drawing)


def gradients(drawing: Drawing) -> Step:
    """Return first or second gradients of a tensor by the leaves."""
    output = drawing.choose(floating=True)
    leaves = [
        index
        for index, tensor in enumerate(drawing.tensors)
        if tensor is not None
        and history_of(tensor, "requires_grad") is True
        and (history_of(tensor, "is_leaf") is True or drawing.random.random() < 0.2)
    ]
    if output is None or not leaves:
        return drawing.leaf()
    inputs = [
        {"t": each}
        for each in drawing.random.sample(leaves, min(len(leaves), drawing.random.randrange(1, 4)))
    ]
    if drawing.random.random() < 0.5:
        return Step("second", [{"t": output}, inputs])
    return Step("gradients", [{"t": output}, inputs, drawing.random.random() < 0.4])

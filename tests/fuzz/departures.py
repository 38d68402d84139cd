"""Where interlock departs from PyTorch on purpose, so that the differential fuzzer passes over it.

A departure names the operations, what each side answers, and the reason. What is not listed is a defect.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Departure(NamedTuple):
    """One departure; the patterns are searched in the messages of the errors, where "no error" is one."""

    operations: tuple[str, ...]
    """The steps that it is about; all for none."""
    ours: str
    theirs: str
    reason: str


DEPARTURES = (
    Departure(
        (),
        "^no error",
        "refer to a single memory location",
        "an operation that writes what it reads copies its operands first, so overlapping ones are no error",
    ),
    Departure(
        (),
        "^no error",
        "ZeroTensors are immutable",
        "a gradient of zeros is a tensor like any other, while PyTorch's may have no memory to write to",
    ),
    Departure(
        ("cross_entropy",),
        "ShapeError|DTypeError|nll_loss",
        "^no error",
        "cross_entropy takes an input [samples, classes] and a target of class indices",
    ),
    Departure(
        ("softmax", "log_softmax"),
        "DTypeError",
        "^no error",
        "PyTorch refuses integers too, unless the tensor is empty",
    ),
    Departure(
        ("matmul",),
        "DTypeError: matmul: not supported for bool",
        "^no error",
        "PyTorch refuses bool too, unless the product is empty",
    ),
    Departure(
        ("copy_",),
        "share one memory location",
        "^no error",
        "PyTorch notices first that an expanded tensor is copied to itself",
    ),
    Departure(
        ("getitem", "setitem"),
        "must be adjacent",
        "^no error",
        "lists and tensors of an index that a slice or None separates are refused",
    ),
    Departure(
        ("setitem",),
        "several elements of the target share one memory location",
        "^no error",
        "which of several values PyTorch writes to elements that share a place in memory is unspecified",
    ),
    Departure(
        ("setitem",),
        "^no error",
        "A view was created in (no_grad|inference) mode",
        "an integer or bool tensor has no history, so its views are written in every mode",
    ),
    Departure(
        ("sum", "mean"),
        "^no error",
        "Autograd not support dtype",
        "a sum in integers has no gradient and no history",
    ),
)

# Operations that convert the elements of floating-point tensors to integers. The conversion of NaN,
# infinities and numbers out of range is undefined in C and differs between the
# processors that PyTorch runs on.
CONVERSIONS = ("long", "to", "copy_", "setitem", "sum", "mean", "fill_")


def departs(operation: str, ours: str, theirs: str) -> str | None:
    """Return why the two may differ in whether they raise; None where they may not."""
    for departure in DEPARTURES:
        applies = not departure.operations or operation in departure.operations
        if applies and re.search(departure.ours, ours) and re.search(departure.theirs, theirs):
            return departure.reason
    return None

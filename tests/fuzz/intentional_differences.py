"""Intentional differences from PyTorch, which the differential fuzzer ignores.

Each entry names the operations, the outcome of each side and the reason. Any other difference is a defect.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.fuzz.expressions import SUMS, WRITES
from tests.fuzz.programs import PRODUCTS


class IntentionalDifference(NamedTuple):
    """One difference; the patterns are searched in the messages of the errors, where "no error" is one."""

    operations: tuple[str, ...]
    """The steps to which it applies; all if empty."""
    ours: str
    theirs: str
    reason: str
    after: str = ""
    """A pattern that must be found in an earlier step of the program."""


DIFFERENCES = (
    IntentionalDifference(
        (),
        "^no error",
        "refer to a single memory location",
        "an operation whose target overlaps an operand copies the operand first, so this is no error",
    ),
    IntentionalDifference(
        (),
        "^no error",
        "ZeroTensors are immutable",
        "a gradient of zeros is a tensor like any other, while PyTorch's may have no memory to write to",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "INTERNAL ASSERT FAILED .*unknown ivalue tag",
        "a defect of PyTorch: the gradient of a power whose base is a bool",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "result type .* can't be cast to the desired output type",
        "a defect of PyTorch: the gradient of a quotient whose numerator is an integer tensor",
        after=r"add(cdiv|cmul)",
    ),
    IntentionalDifference(
        ("cross_entropy",),
        "ShapeError|DTypeError|class indices",
        "^no error",
        "cross_entropy accepts an input [samples, classes] and a target of class indices",
    ),
    IntentionalDifference(
        (SUMS,),
        r"nll_loss: weight must be of shape \(\d+,\), one for each class",
        "^no error",
        "PyTorch refuses weights of other shapes too, unless an input has more than two dimensions",
    ),
    IntentionalDifference(
        ("softmax", "log_softmax"),
        "DTypeError",
        "^no error",
        "PyTorch refuses integers too, unless the tensor is empty",
    ),
    IntentionalDifference(
        (SUMS,),
        "soft(max|min): input must be floating point|(einsum|mv): (dtypes|both operands) must",
        "^no error",
        "PyTorch refuses integers, bools and different dtypes too, unless a tensor is empty",
    ),
    IntentionalDifference(
        ("expression rounded", WRITES),
        "must not be 0 for integers",
        "^no error",
        "PyTorch refuses an integer divisor of 0 too, unless the tensor is empty",
    ),
    IntentionalDifference(
        ("expression exact", SUMS, WRITES),
        "(value|source) must be a number that .* can hold",
        "^no error",
        "PyTorch refuses a number that the dtype can't hold too, unless no element is written",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "ScatterAddBackward0 returned an invalid gradient",
        "a defect of PyTorch: the gradient of an empty scatter_add",
    ),
    IntentionalDifference(
        ("second",),
        "^no error",
        "doesn't match the broadcast shape",
        "a defect of PyTorch: the second gradient of clamp with limits that are broadcast",
        after="clamp",
    ),
    IntentionalDifference(
        ("fill_",),
        "^no error",
        "value cannot be converted to type c10::(Half|BFloat16) without overflow",
        "numbers beyond 16-bit floats become infinity, as PyTorch's do if the tensor has one element",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "derivative for aten::remainder is not implemented",
        "the remainder of a number by a tensor has a gradient here",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "derivative for 'inplace version of .*' is not implemented",
        "acosh_ and atanh_ have gradients here, as acosh and atanh",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "modified by an inplace operation",
        "a recorded gradient of square saves twice the tensor, so the tensor may be changed",
        after="square",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "modified by an inplace operation.* output 0 of (Prod1?|Copysign1?|Hypot|Pow1|LinalgVectorNorm),",
        "these gradients are computed from operands, or from a part of the result, so it may be changed",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "modified by an inplace operation.* output 0 of (Tanh?|Exp2?|Expm1|Sigmoid|R?[Ss]qrt|Reciprocal),",
        "a function in place computes and saves a new tensor before it writes the elements",
        after=r"(tanh|exp2?|expm1|sigmoid|sqrt|rsqrt|reciprocal|tan)_\(",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "modified by an inplace operation.* output 0 of AsStrided,",
        "a product saves an operand only for the gradient of the other, so a state of an lstm may be changed",
        after="lstm",
    ),
    IntentionalDifference(
        ("backward", "gradients", "second"),
        "^no error",
        "modified by an inplace operation.* output 0 of ScaledDotProductFlashAttentionForCpu,",
        "the math kernel, which flags or a shape have selected, does not save the result of attention",
        after="attention",
    ),
    IntentionalDifference(
        (WRITES,),
        "matmul: out must not share memory with an input",
        "^no error",
        "PyTorch's products read elements of `out` that they have already written",
    ),
    IntentionalDifference(
        (SUMS, WRITES),
        "^no error",
        r"shape mismatch: value tensor of shape \[1, .* cannot be broadcast to indexing result",
        "index_put accepts leading dimensions of size 1, as an assignment to an index does",
    ),
    IntentionalDifference(
        ("expression exact",),
        r"__getitem__: index -?\d+ is out of bounds",
        "^no error",
        "PyTorch refuses an index out of range too, unless the tensor has no elements",
    ),
    IntentionalDifference(
        ("expression exact",),
        "^no error",
        r"self.stride\(-1\) must be 1 to view \w+ as \w+ \(different element sizes\), but got 0",
        "PyTorch has the strides of NumPy for an array without elements, which are 0",
        after="from_numpy",
    ),
    IntentionalDifference(
        ("expression exact",),
        "roll: dims must be",
        "^no error",
        "PyTorch refuses a dimension out of range too, unless the tensor is empty",
    ),
    IntentionalDifference(
        ("expression exact",),
        "^no error",
        "view size is not compatible",
        "take_along_dim without a dimension copies a tensor that is not contiguous",
    ),
    IntentionalDifference(
        ("expression rounded",),
        "^no error",
        "round_vml_cpu.* not implemented",
        "0 decimals are the default, with which integers are accepted",
    ),
    IntentionalDifference(
        (*PRODUCTS, SUMS),
        "DTypeError: matmul: (both operands must be numeric|dtypes must match)",
        "^no error",
        "PyTorch refuses bool and two dtypes too, unless the product is empty",
    ),
    IntentionalDifference(
        ("gradients", "second"),
        r"cannot be recorded \(create_graph=True\)",
        "^no error",
        "the backward pass of attention in blocks refuses to be recorded; PyTorch's result has no gradient",
    ),
    IntentionalDifference(
        ("gradients", "second"),
        "^no error",
        "derivative for aten::_scaled_dot_product_flash_attention_for_cpu_backward is not implemented",
        "flags for interlock have selected the math kernel, which can be differentiated twice",
    ),
    IntentionalDifference(
        ("copy_",),
        "share one memory location",
        "^no error",
        "PyTorch notices first that an expanded tensor is copied to itself",
    ),
    IntentionalDifference(
        ("setitem", WRITES),
        "several elements of the target share one memory location",
        "^no error",
        "it is unspecified which of several values PyTorch writes to elements that share memory",
    ),
    IntentionalDifference(
        (),
        "^no error",
        "A view was created in (no_grad|inference) mode",
        "PyTorch's attention pads the values and returns a view of its result",
        after=r"no_grad: .*attention\(",
    ),
    IntentionalDifference(
        (WRITES,),
        r"(index_fill|index_copy|index_add)_: index must contain positions of range",
        "^no error",
        "PyTorch does not check the index if the tensor has no elements",
    ),
    IntentionalDifference(
        ("setitem", "fill_", "copy_"),
        "^no error",
        "A view was created in (no_grad|inference) mode",
        "an integer or bool tensor has no history, so its views are written in every mode",
    ),
    IntentionalDifference(
        ("expression rounded", WRITES),
        "^no error",
        "ZeroDivisionError",
        "a device divides integers later, when no error can be raised: the quotient of 0 is 0",
    ),
    IntentionalDifference(
        (WRITES,),
        "^no error",
        "resize storage that is not resizable",
        "the fuzzer shares the memory of tensors on the CPU with NumPy, and copies that of a device",
    ),
    IntentionalDifference(
        (WRITES,),
        "logical_(not|and|or|xor)_: a (view of a )?leaf tensor|this view (was created in no_grad|is one of)",
        "^no error",
        "PyTorch changes a leaf without history by logical operations, and its gradient is then wrong",
    ),
    IntentionalDifference(
        ("sum", "mean"),
        "^no error",
        "Autograd not support dtype",
        "a sum in integers has no gradient and no history",
    ),
)

# Operations that convert the elements of floating-point tensors to integers. The conversion of NaN,
# infinities and numbers out of range is undefined in C and differs between CPUs.
CONVERSIONS = ("long", "to", "copy_", "setitem", "sum", "mean", "fill_")


def intentional_reason(operation: str, ours: str, theirs: str, earlier: str = "") -> str | None:
    """Return the reason for which one side may raise and the other not after the steps `earlier`, or None."""
    for entry in DIFFERENCES:
        applies = not entry.operations or operation in entry.operations
        applies = applies and re.search(entry.after, earlier) is not None
        if applies and re.search(entry.ours, ours) and re.search(entry.theirs, theirs):
            return entry.reason
    return None

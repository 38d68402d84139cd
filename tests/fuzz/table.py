"""The expressions that the differential fuzzer draws: those by hand, and those of all other operations.

The table of operations has an example of arguments for each. A function or method that no expression by hand
calls is drawn with its example.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator

from tests.fuzz.expressions import EXPRESSIONS, WRITES, with_literals
from tools.example_calls import ROWS

CLASSES = {
    "elementwise::arithmetic": "rounded",
    "elementwise::functions": "function",
    "fft": "sum",
    "indexing::positions": "sum",
    "nn::activations": "function",
    "nn::losses": "sum",
    "products": "sum",
    "reduction::norms": "sum",
    "reduction::scans": "sum",
    "reduction::softmax": "sum",
    "reduction::statistics": "square",
    "reduction::sums": "sum",
}
"""The class of the tolerance of a family of operations, "exact" for others."""
OTHER_CLASSES = {
    "cumprod": "product",
    "frac": "rounded",
    "index_add": "sum",
    "pow": "function",
    "prod": "product",
    "scatter_add": "sum",
    "trace": "sum",
}
"""The class of an operation, if it is not that of the family."""

RANDOM = "random numbers differ from PyTorch's"
PROPERTY = "a property of memory or history; strides are compared after each step"
NOT_DRAWN = {
    **dict.fromkeys(("rand", "rand_like", "randint", "randint_like", "randn", "randn_like"), RANDOM),
    **dict.fromkeys(("randperm", "bernoulli_", "uniform_", "normal_", "multinomial", "manual_seed"), RANDOM),
    **dict.fromkeys(("initial_seed", "get_rng_state", "set_rng_state"), RANDOM),
    **dict.fromkeys(("is_pinned", "pin_memory", "record_stream", "data_ptr", "stride"), PROPERTY),
    **dict.fromkeys(("grad_fn", "output_nr", "increment_version"), PROPERTY),
    **dict.fromkeys(
        (
            "queue_callback",
            "set_override_stale_capture_stream",
            "set_warn_on_accumulate_grad_stream_mismatch",
        ),
        "steers a backward pass and computes nothing",
    ),
    "register_post_accumulate_grad_hook": "the order of hooks has tests of its own",
    "set_printoptions": "sets how tensors are printed; the texts are compared in tests of their own",
    "multi_head_attention": "an internal function of interlock.nn, composed of drawn ones",
    "is_cpu": "PyTorch, which has no host devices, runs the programs on the CPU",
    "quantized_linear": "an expression calls it under its name in PyTorch, `linear`",
    "conv2d": "the step convolution",
    "scaled_dot_product_attention": "the step attention",
}
"""The public operations that no expression draws, each with the reason."""

CALL = r"(?:(?<=\b[TFxyz])|(?<=\bfft)|(?<=\blinalg)|(?<=[\])]))\.(\w+)"
"""A call in an expression."""
INDICES = "T.tensor({}, dtype=T.int64, device=device)"
OPERANDS = {
    "interlock": "T",
    "square": "x",
    "rows": INDICES.format("[1, 0, 1]"),
    "columns": INDICES.format("[[2, 0], [0, 0]]"),
    "classes": INDICES.format("[2, 0]"),
    "mask": "T.tensor([True, False, True], device=device)",
}
"""The operands of the examples in the names of the fuzzer."""


class Operands(ast.NodeTransformer):
    """Replaces the operands of an example."""

    def __init__(self, *, is_copied: bool) -> None:
        self.is_copied = is_copied
        """A tensor that is read by an operation in place may be the tensor that is written."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        text = OPERANDS.get(node.id, node.id)
        if self.is_copied and text in ("x", "y", "z"):
            text += ".clone()"
        return ast.parse(text, mode="eval").body


def arguments(example: str, *, is_copied: bool) -> list[str]:
    """Return the texts of the arguments of an example, the first of which is not copied."""
    call = ast.parse(f"call({example})", mode="eval").body
    assert isinstance(call, ast.Call)
    options = ast.keyword("device", ast.Name("device"))
    named = [each if each.arg else options for each in call.keywords]
    passed: list[ast.AST] = [*call.args, *named]
    return [
        ast.unparse(Operands(is_copied=is_copied and number > 0).visit(each))
        for number, each in enumerate(passed)
    ]


STEPS = {"lstm", "linear", "matmul", "mm", "bmm", "addmm", "softmax", "log_softmax", "cross_entropy"}
"""Operations whose steps draw operands that fit. The precision of products depends on flags."""
BY_HAND = {
    name for sources in EXPRESSIONS.values() for source in sources for name in re.findall(CALL, source)
}


def of_row(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the classes and expressions of an operation, one for each form, name and example."""
    result, family = row["result"], row["family"].partition("::ops::")[2]
    classes = (CLASSES[each] for each in (family, family.partition("::")[0]) if each in CLASSES)
    usual = f"expression {OTHER_CLASSES.get(row['name']) or next(classes, 'exact')}"
    if "Tensor" not in result and "_return_types" not in result:
        return
    module = (
        row["namespace"].replace("interlock", "T", 1).replace("T.nn.functional", "F").replace("T.fft", "fft")
    )
    for form in row["forms"].split():
        for plain in (row["name"], *row["aliases"].split()):
            name = f"{plain}_" if form.startswith("inplace") else plain
            is_method = form in ("method", "inplace")
            if form == "out" or name in BY_HAND | set(NOT_DRAWN) | STEPS:
                continue
            for example in row["example"].split("; "):
                first, *others = arguments(example, is_copied=form.startswith("inplace"))
                if "pin_memory" in row["signature"]:
                    others.append("device=device")
                called = f"({first}).{name}" if is_method else f"{module}.{name}"
                passed = others if is_method else [first, *others]
                writes = form.startswith("inplace") or passed[-1:] == ["True"]
                yield WRITES if writes else usual, f"{called}({', '.join(passed)})"


def all_expressions() -> dict[str, tuple[str, ...]]:
    """Return the expressions of each class."""
    found = {name: list(sources) for name, sources in EXPRESSIONS.items()}
    for row in ROWS:
        for name, source in of_row(row):
            found[name].append(source)
    return {name: tuple(sources) for name, sources in found.items()}


ALL = all_expressions()


def drawn(random: random.Random, shape: list[int]) -> tuple[str, str]:
    """Return the class of an expression and the expression, with literals for a tensor `x` of this shape."""
    name = random.choices(list(ALL), [len(sources) for sources in ALL.values()])[0]
    return name, with_literals(random, random.choice(ALL[name]), shape)

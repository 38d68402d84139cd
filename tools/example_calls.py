"""The operations of tensors, each with arguments: what `make generate` and the tests of all operations share.

An operation is declared once, in Rust (`tensor_op`). Its examples are arguments as Python text, of the names
that `operands` returns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NamedTuple

import interlock
from interlock._core.tensor import _operations

ROWS = _operations()
"""The rows of the table: name, forms, namespace, aliases, signatures, result, examples and family."""

FLOATS = {"x": (2, 3), "y": (3,), "z": (2, 3), "square": (3, 3)}
"""The operands whose dtype can be chosen, with their shapes."""

OTHERS: dict[str, Any] = {
    "rows": [1, 0, 1],
    "columns": [[2, 0], [0, 0]],
    "mask": [True, False, True],
    "classes": [2, 0],
}
"""The operands that are indices and masks, as lists."""


def operands(dtype: interlock.dtype, device: str = "cpu", *, requires_grad: bool = False) -> dict[str, Any]:
    """Return the names that the examples use. Numbers are different and between 0.5 and 1.52, or 1."""
    names: dict[str, Any] = {"interlock": interlock}
    start = 0
    for name, shape in FLOATS.items():
        count = reduce(int.__mul__, shape)
        values = [0.51 + (position * 0.6180339887) % 1 for position in range(start, start + count)]
        numbers = interlock.tensor(values if dtype.is_floating_point else [1] * count, dtype=dtype)
        leaf = numbers.reshape(shape).to(device)
        names[name] = leaf.requires_grad_() if requires_grad and dtype.is_floating_point else leaf
        start += count
    names |= {name: interlock.tensor(elements, device=device) for name, elements in OTHERS.items()}
    names["options"] = {"dtype": dtype, "device": device}
    return names


class Example(NamedTuple):
    """Arguments of one form of an operation."""

    name: str
    """The name of the function or method."""
    form: str
    """`function`, `method` or `inplace`."""
    arguments: str
    """The text of the arguments, the first of which is the tensor of a method."""
    namespace: str
    signature: str
    """The annotated signature of the function."""
    family: str
    """The Rust module that declares the operation, below the one of all operations."""

    def owner(self, first: Any) -> Callable[..., Any]:
        """Return the function, or the method of `first`."""
        owner: Any = first
        if self.form == "function":
            names = self.namespace.split(".")[1:]
            owner = reduce(getattr, names, interlock)
        found: Callable[..., Any] = getattr(owner, self.name)
        return found

    def expression(self) -> str:
        """Return an expression of the operands that calls the operation; an in-place form with a copy."""
        if self.form == "function":
            return f"{self.namespace}.{self.name}({self.arguments})"
        first = "first.clone()" if self.form == "inplace" else "first"
        call = f"lambda first, *args, **keywords: {first}.{self.name}(*args, **keywords)"
        return f"({call})({self.arguments})"

    def called(self) -> list[str]:
        """Return the operands whose dtype can be chosen, in the arguments."""
        words = re.findall(r"(?<![\w.])\w+", self.arguments)
        return [name for name in FLOATS if name in words]

    def function(self) -> Callable[[dict[str, Any]], Any]:
        """Return a function that evaluates the arguments and calls the operation.

        An in-place form is called with a copy of the tensor, and random numbers are the same in each call.
        Further arguments of the function are passed on by name.
        """
        code = compile(f"call({self.arguments})", self.name, "eval")

        def run(names: dict[str, Any], **others: Any) -> Any:
            def call(*args: Any, **keywords: Any) -> Any:
                keywords |= others
                interlock.manual_seed(0)
                first = args[0].clone() if self.form == "inplace" else args[0]
                return self.owner(first)(*(args if self.form == "function" else args[1:]), **keywords)

            return eval(code, {**names, "call": call})

        return run


def examples(form: str | None = None) -> Iterator[Example]:
    """Yield the examples of each operation in one of its forms: a function, else a method, else in place."""
    for row in ROWS:
        forms = row["forms"].split()
        chosen = form or next(each for each in ("function", "method", "inplace") if each in forms)
        if chosen not in forms:
            continue
        name = row["name"] + ("_" if chosen == "inplace" else "")
        family = row["family"].partition("::ops::")[2]
        for arguments in row["example"].split("; "):
            text = f"{arguments}, **options" if "pin_memory" in row["signature"] else arguments
            yield Example(name, chosen, text, row["namespace"], row["signature"], family)

"""No operation on tensors reads the state that the thread has seen in another context."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.helpers.subprocess import run_program
from tools import example_calls

TOOLS = Path(__file__).parents[3] / "tools"
# What the table of operations and tools/operation_examples.py leave out.
OTHERS = {
    "requires_grad_": "interlock.ones(2).requires_grad_()",
    "retain_grad": "(x * y).retain_grad()",
    "backward": "(x * y).sum().backward()",
    "grad": "interlock.autograd.grad((x * y).sum(), (x,))",
    "numpy()": "x.numpy()",
    "memoryview": "memoryview(x)",
    "__dlpack__": "x.__dlpack__()",
    "from_dlpack of a tensor": "interlock.from_dlpack(x)",
    "assignment": "x.__setitem__(0, 1.0)",
    "index": "x[0]",
    "data": "x.data",
    "T": "x.T",
    "view": "x.view(6)",
    "iteration": "list(x)",
    "parameter": "interlock.nn.Parameter(interlock.ones(2))",
    "dtype of a default": "interlock.tensor(1.0)",
}


@pytest.mark.slow
def test_operations_read_the_context_of_their_call() -> None:
    listed = runpy.run_path(str(TOOLS / "operation_examples.py"))
    expressions = {
        f"{form} {example.name}": example.expression()
        for form in ("function", "method", "inplace")
        for example in example_calls.examples(form)
    }
    for group in (*listed["OPERATIONS"].values(), OTHERS):
        expressions |= group
    operands = (example_calls.FLOATS, example_calls.OTHERS)
    program = "tensor.reads_after_a_switch.operations"
    status, printed, errors = run_program(program, expressions, *operands, seconds=120)
    assert (status, printed) == (0, "True []\n"), errors

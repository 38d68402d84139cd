"""A kernel of an extension that attaches to the interpreter while the operands are locked."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import run_program

PROGRAM = "extensions.small_operation_during_a_kernel_that_attaches"


@pytest.mark.parametrize(
    "operation",
    [
        "a.add_(1)",
        "a[0, 0] = 1",
        "a.copy_(b)",
        "interlock.add(b, 1, out=a)",
        "a.resize_(100, 100)",
    ],
)
def test_small_operation_detaches_to_wait_for_a_kernel(operation: str) -> None:
    assert run_program(PROGRAM, operation, seconds=20) == (0, "done\n", "")

"""A kernel of an extension that attaches to the interpreter while the operands are locked."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import run_program

WRITES = "extensions.small_operation_during_a_kernel_that_attaches"
READS = "extensions.small_read_behind_a_write_that_waits"


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
    assert run_program(WRITES, operation, seconds=20) == (0, "done\n", "")


@pytest.mark.parametrize(
    "operation",
    [
        "a[0, 0].item()",
        "bool(a[0, 0])",
        "int(a[0, 0])",
        "float(a[0, 0])",
        "a[0].long()[0].__index__()",
        "a.tolist()",
        "repr(a)",
        "f'{a[0, 0]:.2f}'",
        "1.0 in a",
        "next(iter(a)).sum()",
        "a.equal(b)",
    ],
)
def test_small_read_detaches_to_wait_for_a_write(operation: str) -> None:
    assert run_program(READS, operation, seconds=20) == (0, "done\n", "")

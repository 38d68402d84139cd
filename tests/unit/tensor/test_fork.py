"""Tensors in a forked child."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.subprocess import eval_program, run_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no fork")


# A child that hangs is killed by its alarm.
def test_child_computes_on_a_tensor_in_use_by_a_thread_of_the_parent() -> None:
    assert eval_program("tensor.threads.fork_while_threads_use_tensors") == [0] * 20


def test_matmul_works_in_a_child_forked_during_the_first_product() -> None:
    # gemm's initialization takes dozens of microseconds; the delays aim at it.
    options = ("-W", "ignore:This process:DeprecationWarning")
    delays = [number * 20e-6 for number in range(16)]
    done = [
        run_program("tensor.threads.fork_during_first_product", delay, options=options) for delay in delays
    ]
    assert [each.stdout for each in done] == ["0\n"] * len(delays), done

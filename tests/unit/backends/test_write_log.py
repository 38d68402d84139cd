"""The log of flag writes with their lines under `INTERLOCK_DEBUG=1`."""

from __future__ import annotations

import pytest
from interlock import backends, errors

from tests.helpers.subprocess import run_program


def test_writes_are_logged_with_their_module() -> None:
    done = run_program("backends.flags.print_the_write_log", env={"INTERLOCK_DEBUG": "1"})
    assert done.code == 0, done.stderr
    names = [line.rpartition(" ")[0] for line in done.stdout.splitlines()]
    assert names == [
        "cudnn.deterministic True",
        "cuda.matmul.fp32_precision tf32",
        "cudnn.deterministic unset",
        "cudnn.enabled True",
        "cudnn.benchmark True",
        "cudnn.benchmark unset",
        "cuda.matmul.fp32_precision tf32",
        "cuda.matmul.fp32_precision unset",
    ]
    assert done.stdout.splitlines()[0].endswith(" careless.py:2")


def test_log_contains_the_last_thousand_writes() -> None:
    done = run_program("backends.flags.write_a_flag_many_times", env={"INTERLOCK_DEBUG": "true"})
    assert done.code == 0, done.stderr


def test_writes_raises_if_writes_are_not_traced(restored: None) -> None:
    backends.cudnn.benchmark = True
    with pytest.raises(errors.NotTracedError, match=r"^writes: .* recorded only .* INTERLOCK_DEBUG=1$"):
        backends.writes()

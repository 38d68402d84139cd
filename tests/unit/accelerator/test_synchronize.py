"""Waits let other threads run and can be interrupted by signals."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_program, run_program

HOST = {"INTERLOCK_ACCELERATOR": "host:2"}


@pytest.mark.timing
@pytest.mark.parametrize("wait", ["stream.synchronize()", "event.synchronize()", "accelerator.synchronize()"])
def test_synchronize_lets_other_threads_run(wait: str) -> None:
    beats, longest_pause, waited, busy = eval_program(
        "accelerator.streams.beats_during_synchronize", wait, env=HOST
    )
    assert waited >= 1.9
    assert beats > 20, "a hundred are expected of an idle machine"
    assert longest_pause < 1.5
    assert busy < 0.2 * waited + 0.2, "it sleeps while it waits"


@pytest.mark.timing
@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("wait", ["stream.synchronize()", "event.synchronize()", "accelerator.synchronize()"])
def test_synchronize_raises_keyboard_interrupt_immediately(wait: str, blocking: bool) -> None:
    took = float("inf")
    for _ in range(3):  # A loaded machine may delay one attempt, hardly three.
        took = min(took, eval_program("accelerator.streams.interrupt_synchronize", blocking, wait, env=HOST))
        if took < 0.1:
            break
    assert took < 0.1


def test_signal_handler_without_exception_does_not_end_the_wait() -> None:
    done = run_program("accelerator.streams.signal_handler_without_exception_does_not_end_the_wait", env=HOST)
    assert (done.code, done.stdout, done.stderr) == (0, "[1] True\n", "")


def test_blocking_copy_can_be_interrupted() -> None:
    done = run_program("accelerator.streams.blocking_copy_can_be_interrupted", env=HOST)
    assert (done.code, done.stdout, done.stderr) == (0, "interrupted\n", "")

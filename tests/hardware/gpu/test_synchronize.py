"""While a thread waits for a slow kernel, other threads run and Ctrl-C ends the wait."""

from __future__ import annotations

import pytest

from tests.hardware.gpu import processes

pytestmark = pytest.mark.gpu

# The keys of `WAITS` in `tests/programs/gpu/kernels.py`.
WAITS = ("stream", "event", "device", "copy")


@pytest.mark.parametrize("wait", WAITS)
def test_synchronize_lets_other_threads_run_during_a_kernel(wait: str) -> None:
    beats, longest_pause, waited = processes.value("kernels.count_beats_during_a_wait", wait)
    assert waited >= 1.9
    assert beats > 20, "two hundred are expected of an idle machine"
    assert longest_pause < 1.5


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("wait", WAITS)
def test_synchronize_raises_keyboard_interrupt_during_a_kernel(wait: str, blocking: bool) -> None:
    took, was_running = float("inf"), False
    for _ in range(3):  # A loaded machine may delay one attempt, hardly three.
        took, was_running = processes.value("kernels.interrupt_a_wait", wait, blocking)
        if took < 0.1:
            break
    assert took < 0.1
    assert was_running

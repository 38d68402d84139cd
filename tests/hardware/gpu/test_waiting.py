"""While a thread waits for a slow kernel other threads run, and Ctrl-C ends the wait."""

from __future__ import annotations

import pytest

from tests.hardware.gpu import processes

pytestmark = pytest.mark.gpu

WAITS = ("stream.synchronize()", "event.synchronize()", "accelerator.synchronize()", "cell.copy_to(back)")

HEARTBEAT = """
beats, ended, back = [], threading.Event(), bytearray(4)

def beat():
    while not ended.wait(0.01):
        beats.append(time.monotonic())

heart = threading.Thread(target=beat)
heart.start()
slow(2.0)
event = stream.record_event(Event(blocking=True))
with stream:
    begun = time.monotonic()
    {wait}
    waited = time.monotonic() - begun
ended.set()
heart.join()
result = [len(beats), max(later - earlier for earlier, later in zip(beats, beats[1:])), waited]
"""


@pytest.mark.parametrize("wait", WAITS)
def test_a_heartbeat_goes_on_while_a_thread_waits_for_a_kernel_of_two_seconds(wait: str) -> None:
    beats, longest_pause, waited = processes.value(HEARTBEAT.format(wait=wait))
    assert waited >= 1.9
    assert beats > 20, "two hundred are expected of an idle machine"
    assert longest_pause < 1.5


INTERRUPT = """
# A shell has what it starts in the background ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
sent, back = [], bytearray(4)

def send():
    time.sleep(0.3)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

slow(2.0, 7)
event = stream.record_event(Event(blocking={blocking}))
threading.Thread(target=send).start()
try:
    with stream:
        {wait}
except KeyboardInterrupt:
    took = time.monotonic() - sent[0]
was_running = not stream.query()
stream.synchronize()
result = [took, was_running]
"""


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_is_raised_while_the_kernel_runs(wait: str, blocking: bool) -> None:
    took, was_running = float("inf"), False
    for _ in range(3):  # A machine may be busy with something else for a moment, hardly three times.
        took, was_running = processes.value(INTERRUPT.format(wait=wait, blocking=blocking))
        if took < 0.1:
            break
    assert took < 0.1
    assert was_running

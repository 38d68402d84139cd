"""Waiting lets other threads run and signals through."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_python, run_python

HOST = {"INTERLOCK_ACCELERATOR": "host:2"}

HEARTBEAT = """
    import threading, time
    import interlock
    from interlock import accelerator

    stream, beats, ended = interlock.Stream(), [], threading.Event()

    def beat():
        while not ended.wait(0.01):
            beats.append(time.monotonic())

    heart = threading.Thread(target=beat)
    heart.start()
    accelerator.launch(stream, time.sleep, 2)
    event = stream.record_event(interlock.Event(blocking=True))
    began = time.process_time(), time.monotonic()
    {wait}
    busy, waited = time.process_time() - began[0], time.monotonic() - began[1]
    ended.set()
    heart.join()
    pauses = [later - earlier for earlier, later in zip(beats, beats[1:])]
    answer = [len(beats), max(pauses), waited, busy]
"""


@pytest.mark.timing
@pytest.mark.parametrize("wait", ["stream.synchronize()", "event.synchronize()", "accelerator.synchronize()"])
def test_a_heartbeat_goes_on_while_a_thread_waits_two_seconds(wait: str) -> None:
    beats, longest_pause, waited, busy = eval_python(HEARTBEAT.format(wait=wait), env=HOST)
    assert waited >= 1.9
    assert beats > 20, "a hundred are expected of an idle machine"
    assert longest_pause < 1.5
    assert busy < 0.2 * waited + 0.2, "it sleeps while it waits"


INTERRUPT = """
    import os, signal, sys, threading, time
    import interlock
    from interlock import accelerator

    # A shell has what it starts in the background ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    release = threading.Event()
    stream = interlock.Stream()
    accelerator.launch(stream, release.wait)
    event = stream.record_event(interlock.Event(blocking={blocking}))
    sent = []

    def send():
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()
    try:
        {wait}
    except KeyboardInterrupt:
        answer = time.monotonic() - sent[0]
    release.set()
    stream.synchronize()
"""


@pytest.mark.timing
@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("wait", ["stream.synchronize()", "event.synchronize()", "accelerator.synchronize()"])
def test_an_interrupt_is_raised_at_once(wait: str, blocking: bool) -> None:
    took = float("inf")
    for _ in range(3):  # A machine may be busy with something else for a moment, hardly three times.
        took = min(took, eval_python(INTERRUPT.format(wait=wait, blocking=blocking), env=HOST))
        if took < 0.1:
            break
    assert took < 0.1


def test_a_signal_handler_that_raises_nothing_does_not_end_the_wait() -> None:
    code = """
        import os, signal, threading
        import interlock
        from interlock import accelerator

        release, handled = threading.Event(), []
        signal.signal(signal.SIGUSR1, lambda *_: (handled.append(1), release.set()))
        stream = interlock.Stream()
        accelerator.launch(stream, release.wait)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        stream.synchronize()
        print(handled, stream.query())
    """
    done = run_python(code, env=HOST)
    assert (done.code, done.stdout, done.stderr) == (0, "[1] True\n", "")


def test_a_copy_that_waits_can_be_interrupted() -> None:
    code = """
        import os, signal, threading
        import interlock
        from interlock import accelerator

        signal.signal(signal.SIGINT, signal.default_int_handler)
        release, stream, back = threading.Event(), interlock.Stream(), bytearray(3)
        buffer = accelerator.memory.Buffer(3)
        accelerator.launch(stream, release.wait)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            accelerator.memory.copy_(back, buffer, stream=stream)
        except KeyboardInterrupt:
            print("interrupted")
        release.set()
        stream.synchronize()
    """
    done = run_python(code, env=HOST)
    assert (done.code, done.stdout, done.stderr) == (0, "interrupted\n", "")

"""Processes that leave in the middle of work, with live streams, events and pending copies."""

from __future__ import annotations

from typing import Any

import pytest

from tests import child
from tests.accelerator.leaving import LEAVES, check

HOST = {"INTERLOCK_ACCELERATOR": "host:2"}

BUSY = """
    import atexit, os, random, signal, sys, threading, time
    atexit.register(lambda: print("registered before", flush=True))
    import interlock
    from interlock import accelerator
    from interlock.accelerator.memory import Buffer, copy_, fill_
    atexit.register(lambda: print("registered after"))

    chance = random.Random({number})
    never = threading.Event()
    streams = [interlock.Stream(index % 2, exclusive=chance.random() < 0.5) for index in range(4)]
    buffers = [Buffer(1 << 16, index) for index in range(2)]
    kept = []

    def spin():
        while True:
            pass

    for step in range(chance.randrange(5, 40)):
        stream, what = chance.choice(streams), chance.randrange(7)
        if what == 0:
            kept.append(stream.record_event(interlock.Event(enable_timing=True)))
        elif what == 1 and kept:
            stream.wait_event(chance.choice(kept))
        elif what == 2:
            copy_(buffers[stream.device_index], os.urandom(1 << 16), non_blocking=True, stream=stream)
        elif what == 3:
            copy_(bytearray(1 << 16), buffers[stream.device_index], non_blocking=True, stream=stream)
        elif what == 4:
            accelerator.launch(stream, chance.choice((never.wait, spin, os.getpid, os.getpid, os.getpid)))
        elif what == 5:
            buffer = chance.choice(buffers)
            fill_(buffer, 1, stream=interlock.accelerator.current_stream(buffer.device))
        else:
            threading.Thread(target=chance.choice(streams).synchronize, daemon=True).start()
    sys.stdout.write("not flushed ")
    {leave}
"""


@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("group", range(5))
def test_a_process_leaves_in_the_middle_of_work_with_its_own_status(leave: str, group: int) -> None:
    check(BUSY, leave, group, env=HOST, handlers="registered after\nregistered before\n")


def test_a_thread_in_synchronize_does_not_end_the_process() -> None:
    code = """
        import threading, time
        import interlock
        from interlock import accelerator

        stream, never = interlock.Stream(), threading.Event()
        accelerator.launch(stream, never.wait)
        for _ in range(8):
            threading.Thread(target=stream.synchronize, daemon=True).start()
        time.sleep(0.1)
        print("end")
    """
    done = child.run(code, env=HOST)
    assert (done.code, done.stdout, done.stderr) == (0, "end\n", "")


def test_work_ends_well_that_an_exit_handler_waits_for() -> None:
    code = """
        import atexit
        import interlock
        from interlock import accelerator

        stream, seen = interlock.Stream(), []

        def finish():
            accelerator.launch(stream, seen.append, 1)
            stream.synchronize()
            print(seen)

        atexit.register(finish)
        # Python 3.12 starts no more threads by then, so one must be there to call the function.
        accelerator.launch(stream, seen.append, 0)
        stream.synchronize()
    """
    done = child.run(code, env=HOST)
    assert (done.code, done.stdout, done.stderr) == (0, "[0, 1]\n", "")


def test_a_function_that_waits_for_a_stream_is_let_go_before_the_interpreter_ends() -> None:
    code = """
        import threading
        import interlock
        from interlock import accelerator

        class Told:
            def __call__(self): pass
            def __del__(self): print("gone")

        stream = interlock.Stream()
        accelerator.launch(stream, threading.Event().wait)
        accelerator.launch(stream, Told())
    """
    done = child.run(code, env=HOST)
    assert (done.code, done.stdout, done.stderr) == (0, "gone\n", "")


BEFORE = {
    "a lock of logging": """
        import logging
        logging.basicConfig(filename=os.devnull)
        import interlock
        from interlock import accelerator

        class Shown:
            def __str__(self):
                return str(accelerator.device_count())

        def work():
            while True:
                logging.error("%s", Shown())
    """,
    "a join": """
        import atexit
        ended = threading.Event()
        atexit.register(lambda: (ended.set(), worker.join()))
        import interlock
        from interlock import accelerator

        def work():
            while not ended.is_set():
                accelerator.device_count()
    """,
}


@pytest.mark.parametrize("handler", BEFORE)
def test_handlers_that_were_registered_before_are_not_held_up(handler: str) -> None:
    code = f"""
        import os, threading, time
        {BEFORE[handler].strip()}

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        time.sleep(0.1)
        print("end")
    """
    done = child.run(code, env=HOST, seconds=30)
    assert (done.code, done.stdout, done.stderr) == (0, "end\n", "")


def test_handlers_that_were_only_called_end_nothing() -> None:
    code = """
        import atexit, threading
        import interlock
        from interlock import accelerator

        atexit._run_exitfuncs()
        stream, seen = interlock.Stream(), []
        thread = threading.Thread(target=lambda: seen.append(accelerator.device_count()))
        thread.start()
        thread.join()
        accelerator.launch(stream, seen.append, 1)
        stream.synchronize()
        print(seen)
    """
    done = child.run(code, env=HOST, seconds=30)
    assert (done.code, done.stdout, done.stderr) == (0, "[2, 1]\n", "")


def test_an_exception_that_ends_the_program_is_shown_alone() -> None:
    code = """
        import interlock, threading
        from interlock import accelerator
        accelerator.launch(interlock.Stream(), threading.Event().wait)
        raise SystemExit("for a reason")
    """
    done = child.run(code, env=HOST)
    assert (done.code, done.stdout, done.stderr) == (1, "", "for a reason\n")


def test_nothing_is_left_open_by_a_module_that_is_never_asked_for_a_device() -> None:
    code = """
        import threading
        import interlock
        answer: object = threading.active_count()
    """
    answer: Any = child.value(code, env=HOST)
    assert answer == 1

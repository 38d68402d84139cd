"""Forked processes: handles of the parent are refused, and devices can be used afresh."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.subprocess import Result, eval_python, run_python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")

HOST = {"INTERLOCK_ACCELERATOR": "host:2"}

SETUP = """
    import os, sys, threading
    import interlock
    from interlock import accelerator, errors
    from interlock.accelerator.memory import Buffer, copy_, fill_

    def in_child(work):
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            status = 1
            try:
                work()
                status = 0
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", file=sys.stderr)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        _, status = os.waitpid(process, 0)
        return os.waitstatus_to_exitcode(status)

    stream = interlock.Stream(exclusive=True)
    event, timed = interlock.Event(), interlock.Event(enable_timing=True)
    event.record(stream)
    timed.record(stream)
    buffer, graph = Buffer(8), accelerator.Graph()
    with stream, graph:
        fill_(buffer, 1)
    stream.synchronize()
"""


# Since 3.12 Python warns of a fork in a process with threads, which is what is tried here.
OPTIONS = ("-W", "ignore:This process:DeprecationWarning")


def run(code: str) -> Result:
    return run_python(f"{SETUP}\n{code}", env=HOST, options=OPTIONS)


def test_every_handle_of_the_parent_is_refused_in_a_child() -> None:
    code = """
    uses = {
        "Stream.query": stream.query,
        "Stream.synchronize": stream.synchronize,
        "Stream.record_event": stream.record_event,
        "Stream.wait_event": lambda: stream.wait_event(event),
        "Stream.wait_stream": lambda: stream.wait_stream(stream),
        "Stream.is_capturing": stream.is_capturing,
        "Stream.native_handle": lambda: stream.native_handle,
        "Stream.__enter__": stream.__enter__,
        "set_stream": lambda: accelerator.set_stream(stream),
        "launch": lambda: accelerator.launch(stream, print),
        "Event.query": event.query,
        "Event.synchronize": event.synchronize,
        "Event.record": event.record,
        "Event.wait": event.wait,
        "Event.elapsed_time": lambda: timed.elapsed_time(timed),
        "Event.event_id": lambda: event.event_id,
        "Graph.replay": graph.replay,
        "Graph.reset": graph.reset,
        "Graph.pool": graph.pool,
        "copy_": lambda: copy_(bytearray(8), buffer),
        "fill_": lambda: fill_(buffer, 1),
    }

    def work():
        for name, use in uses.items():
            try:
                use()
            except errors.ForkedProcessError as error:
                assert "forked" in str(error), error
            else:
                raise AssertionError(f"{name} was not refused")
        for told in (repr(stream), repr(event), repr(buffer), stream.stream_id, event.device, hash(stream)):
            assert told is not None

    print(in_child(work))
    """
    done = run(code)
    assert (done.code, done.stdout, done.stderr) == (0, "0\n", "")


def test_a_child_uses_the_devices_afresh_while_the_parent_goes_on() -> None:
    code = """
    release = threading.Event()
    accelerator.launch(stream, release.wait)

    def work():
        assert accelerator.current_device_index() == 0
        own, seen, back = interlock.Stream(1), [], bytearray(4)
        mine = Buffer(4, 1)
        copy_(mine, b"mine", stream=own)
        accelerator.launch(own, seen.append, 1)
        with own:
            copy_(back, mine)
        own.synchronize()
        assert (back, seen) == (b"mine", [1]), (back, seen)
        recorded = accelerator.Graph()
        with own, recorded:
            fill_(mine, 7)
        with own:
            recorded.replay()
            copy_(back, mine)
        assert back == bytes([7]) * 4

    print(in_child(work), in_child(lambda: in_child(work) and 1 / 0))
    release.set()
    stream.synchronize()
    print(stream.query())
    """
    done = run(code)
    assert (done.code, done.stdout, done.stderr) == (0, "0 0\nTrue\n", "")


def test_what_was_current_in_the_parent_is_not_in_a_child() -> None:
    code = """
    accelerator.set_stream(interlock.Stream(1, exclusive=True))

    def work():
        assert accelerator.current_device_index() == 1
        assert accelerator.current_stream().stream_id == 0
        accelerator.current_stream().synchronize()

    print(in_child(work))
    """
    done = run(code)
    assert (done.code, done.stdout, done.stderr) == (0, "0\n", "")


def test_handles_of_the_parent_may_go_in_a_child() -> None:
    code = """
    def work():
        global stream, event, timed, buffer, graph
        del stream, event, timed, buffer, graph
        interlock.Stream().synchronize()

    print(in_child(work))
    stream.synchronize()
    copy_(bytearray(8), buffer)
    """
    done = run(code)
    assert (done.code, done.stdout, done.stderr) == (0, "0\n", "")


def test_forks_while_threads_use_devices_neither_hang_nor_fail() -> None:
    code = """
    ended = threading.Event()

    def use():
        mine = interlock.Stream(exclusive=True)
        while not ended.is_set():
            accelerator.launch(mine, len, "abc")
            fill_(buffer, 2)
            mine.record_event().synchronize()
            Buffer(64)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()

    def work():
        other = interlock.Stream()
        accelerator.launch(other, len, "abc")
        copy_(Buffer(3), b"abc")
        other.synchronize()

    print([in_child(work) for _ in range(20)])
    ended.set()
    for thread in threads:
        thread.join()
    """
    done = run(code)
    assert (done.code, done.stdout, done.stderr) == (0, f"{[0] * 20}\n", "")


def test_a_child_may_choose_another_driver() -> None:
    code = """
    def work():
        accelerator.use("host", devices=5)
        assert accelerator.device_count() == 5
        assert interlock.Stream(4).device_index == 4

    print(in_child(work), accelerator.device_count())
    """
    done = run(code)
    assert (done.code, done.stdout, done.stderr) == (0, "0 2\n", "")


def test_counting_devices_does_not_keep_a_child_from_using_them() -> None:
    code = """
        import multiprocessing

        import interlock
        from interlock import accelerator

        def work(index):
            interlock.Stream(index).synchronize()
            return accelerator.device_count()

        current = accelerator.current_accelerator()
        asked = [accelerator.is_available(), accelerator.device_count(), str(current)]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            answer = [asked, pool.map(work, range(2))]
    """
    assert eval_python(code, env=HOST) == [[True, 2, "host"], [2, 2]]

"""Forked children of a process that uses devices."""

import os
import sys
import threading

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


stream = interlock.Stream(dedicated=True)
event, timed = interlock.Event(), interlock.Event(enable_timing=True)
event.record(stream)
timed.record(stream)
buffer, graph, pool = Buffer(8), accelerator.Graph(), accelerator.MemPool()
with stream, graph:
    fill_(buffer, 1)
stream.synchronize()


def child_may_choose_another_driver():
    def work():
        accelerator.use("host", devices=5)
        assert accelerator.device_count() == 5
        assert interlock.Stream(4).device_index == 4

    print(in_child(work), accelerator.device_count())


def child_reinitializes_the_devices_while_the_parent_runs():
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


def child_does_not_allocate_from_the_pool_of_an_open_scope():
    def work():
        mine = Buffer(8)
        (segment,) = accelerator.memory.snapshot()["segments"]
        assert segment["segment_pool_id"] == (0, 0), segment
        scope.__exit__(None, None, None)
        mine.close()

    scope = accelerator.use_mem_pool(pool)
    with scope:
        print(in_child(work), pool.use_count())
    print(pool.use_count())


def current_device_of_the_parent_is_not_inherited():
    accelerator.set_stream(interlock.Stream(1, dedicated=True))

    def work():
        assert accelerator.current_device_index() == 1
        assert accelerator.current_stream().stream_id == 0
        accelerator.current_stream().synchronize()

    print(in_child(work))


def forks_while_threads_use_devices_neither_hang_nor_fail():
    ended = threading.Event()

    def use():
        mine = interlock.Stream(dedicated=True)
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


def handles_of_the_parent_are_refused_in_a_child():
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
        "MemPool.use_count": pool.use_count,
        "MemPool.snapshot": pool.snapshot,
        "use_mem_pool": accelerator.use_mem_pool(pool).__enter__,
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
        for reported in (
            repr(stream),
            repr(event),
            repr(buffer),
            stream.stream_id,
            event.device,
            hash(stream),
        ):
            assert reported is not None

    print(in_child(work))


def handles_of_the_parent_can_be_dropped_in_a_child():
    def work():
        for name in ("stream", "event", "timed", "buffer", "graph", "pool"):
            del globals()[name]
        interlock.Stream().synchronize()

    print(in_child(work))
    stream.synchronize()
    copy_(bytearray(8), buffer)

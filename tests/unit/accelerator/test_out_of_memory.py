"""`OutOfMemoryError`: its attributes, the `on_oom` callbacks before it, and the state after it."""

from __future__ import annotations

import pickle
from typing import Any

import interlock
import pytest
from interlock import OutOfMemoryError, Stream, accelerator, errors
from interlock.accelerator import Graph, memory
from interlock.accelerator.memory import Buffer

from tests.helpers.gate import Gate
from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import eval_program, run_program
from tests.helpers.thread_worker import Worker

pytestmark = pytest.mark.usefixtures("small_devices", "empty_cache_around")

MIB = 1 << 20
TOTAL = 64 * MIB


def counted(name: str) -> int:
    return accelerator.memory_stats()[name]


def refused(nbytes: int, **named: Any) -> OutOfMemoryError:
    with pytest.raises(OutOfMemoryError) as caught:
        Buffer(nbytes, **named)
    return caught.value


def test_error_reports_the_state_of_the_allocator(devices: tuple[str, ...]) -> None:
    stream = Stream(devices[0], dedicated=True)
    kept = [Buffer(3 * MIB, stream=stream), Buffer(40 * MIB)]
    error = refused(30 * MIB + 1, stream=stream)
    assert isinstance(error, RuntimeError)
    assert isinstance(error, MemoryError)
    assert (error.requested, error.rounded) == (30 * MIB + 1, 30 * MIB + 512)
    assert (error.allocated, error.reserved, error.largest_free) == (43 * MIB, 60 * MIB, 17 * MIB)
    assert (error.limit, error.free) == (None, 4 * MIB)
    assert (error.device, error.stream, error.pool) == (
        interlock.device(devices[0]),
        stream.stream_id,
        None,
    )
    message = str(error)
    for part in (
        devices[0],
        "30.00 MiB",
        "60.00 MiB",
        "43.00 MiB",
        "17.00 MiB",
        "4.00 MiB",
    ):
        assert part in message
    assert "set_limit" not in message
    assert len(kept) == 2


def test_message_suggests_set_limit_or_expandable_segments() -> None:
    memory.set_limit(10 * MIB)
    try:
        assert "set_limit" in str(refused(12 * MIB))
    finally:
        memory.set_limit(None)
    wall = [Buffer(10 * MIB - 512) for _ in range(6)]
    assert "expandable_segments" not in str(refused(4 * MIB))
    streams = [Stream(dedicated=True) for _ in range(3)]
    del wall
    accelerator.empty_cache()
    kept = [Buffer(9 * MIB, stream=stream) for stream in streams]
    assert "expandable_segments" in str(refused(10 * MIB))
    assert len(kept) == 3


@pytest.mark.parametrize("expandable", [False, True])
def test_message_names_the_pool_of_a_graph_that_holds_the_memory(expandable: bool) -> None:
    memory.set_config(f"expandable_segments:{expandable}")
    try:
        graph, stream = Graph(), Stream()
        with stream, graph:
            Buffer(40 * MIB).fill_(1)
        error = refused(30 * MIB)
        message = str(error)
        assert (error.largest_free, memory.largest_free_block()) == (0, 0)
        assert "40.00 MiB free in other memory pools" in message
        assert "Graph.reset" in message
        assert "too small each" not in message
        graph.reset()
        Buffer(30 * MIB).close()
    finally:
        memory.set_config("")


def test_message_during_a_capture_names_the_cache_that_is_not_released() -> None:
    Buffer(40 * MIB).close()
    graph = Graph()
    with Stream():
        # `with graph:` would release the cache.
        graph.capture_begin()
        error = refused(30 * MIB)
        assert memory.largest_free_block() == 0
        Buffer(512).fill_(1)
        graph.capture_end()
    assert "40.00 MiB free outside the memory pool" in str(error)
    assert "empty_cache() before the capture" in str(error)
    assert memory.largest_free_block() == 40 * MIB


def test_memory_of_destroyed_graphs_serves_later_captures() -> None:
    stream = Stream()
    # Each graph has a pool of its own, with a segment of 2 MiB.
    for _ in range(TOTAL // (2 * MIB) + 8):
        graph = Graph()
        with stream, graph:
            kept = Buffer(1024).fill_(1)
        with stream:
            graph.replay()
    assert kept.nbytes == 1024


@pytest.mark.parametrize("expandable", [False, True])
def test_message_names_other_streams_that_hold_the_memory(expandable: bool) -> None:
    memory.set_config(f"expandable_segments:{expandable}")
    try:
        streams = [Stream(dedicated=True) for _ in range(3)]
        kept = [Buffer(4 * MIB, stream=stream) for stream in streams]
        error = refused(10 * MIB)
        message = str(error)
        assert error.largest_free == 0
        assert "48.00 MiB free for other streams" in message
        assert "allocate for fewer streams" in message
        assert ("expandable_segments" in message) is not expandable
        with streams[0]:
            assert (memory.largest_free_block(), memory.fragmentation()) == (16 * MIB, 0.0)
        assert len(kept) == 3
    finally:
        memory.set_config("")


def test_message_distinguishes_segments_for_small_and_large_blocks() -> None:
    small = Buffer(1000)
    error = refused(TOTAL)
    assert (error.largest_free, "free in segments for small blocks" in str(error)) == (0, True)
    small.close()


def test_message_names_blocks_that_are_too_small_each() -> None:
    kept = [Buffer(6 * MIB) for _ in range(9)]
    for buffer in kept[1::3]:
        buffer.close()
    error = refused(9 * MIB)
    assert error.largest_free == 6 * MIB
    assert "too small each" in str(error)


def test_error_can_be_pickled_with_its_attributes() -> None:
    error = refused(TOTAL + 1)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is OutOfMemoryError
    assert (str(again), vars(again)) == (str(error), vars(error))
    assert again.device == interlock.device(str(error.device))
    bare = OutOfMemoryError("created by the caller")
    assert (bare.requested, bare.device, bare.pool) == (None, None, None)


def test_error_exists_for_the_cpu() -> None:
    with pytest.raises(OutOfMemoryError, match=r"out of memory: tried to allocate .* EiB on cpu") as caught:
        interlock.zeros(1 << 60)
    assert caught.value.requested is not None
    assert caught.value.requested >= 1 << 60
    assert caught.value.device == interlock.device("cpu")
    assert caught.value.allocated is caught.value.stream is None


@pytest.mark.filterwarnings("ignore:Graph.capture_end. the graph is empty:UserWarning")
def test_error_names_the_pool_of_the_captured_graph() -> None:
    graph = Graph()
    with Stream(), graph:
        error = refused(TOTAL + 1)
        pool = graph.pool()
    assert error.pool == pool
    assert refused(TOTAL + 1).pool is None


def test_allocation_of_the_largest_size_is_refused() -> None:
    error = refused(2**64 - 1)
    assert error.requested == 2**64 - 1
    assert counted("num_ooms") == 1


def test_cached_blocks_are_released_before_an_allocation_fails(gate: Gate) -> None:
    own, other = Stream(dedicated=True), Stream(dedicated=True)
    accelerator.launch(other, gate)
    buffer = Buffer(40 * MIB, stream=own)
    buffer.record_stream(other)
    buffer.close()
    Buffer(10 * MIB, stream=other).close()
    gate.open()
    wanted = Buffer(60 * MIB)
    assert (counted("num_alloc_retries"), counted("num_ooms")) == (1, 0)
    assert accelerator.memory_reserved() == wanted.nbytes
    refused(10 * MIB)
    assert (counted("num_alloc_retries"), counted("num_ooms")) == (2, 1)
    assert accelerator.memory_allocated() == wanted.nbytes


def test_on_oom_callback_that_frees_memory_causes_a_retry() -> None:
    cache: list[Buffer] = [Buffer(40 * MIB)]
    reported: list[OutOfMemoryError] = []

    def release(error: OutOfMemoryError) -> bool:
        reported.append(error)
        cache.clear()
        return True

    with memory.on_oom(release):
        assert Buffer(50 * MIB).nbytes == 50 * MIB
        (error,) = reported
        assert (error.requested, error.allocated) == (50 * MIB, 40 * MIB)
        refused(TOTAL + 1)
        assert len(reported) == 2, "once per allocation"
    refused(TOTAL + 1)
    assert len(reported) == 2, "the scope was exited"


def test_on_oom_callbacks_run_on_the_thread_until_one_returns_true(
    workers: tuple[Worker, Worker],
) -> None:
    import threading

    asked: list[tuple[str, int]] = []

    def answering(name: str, answer: object) -> Any:
        def callback(error: OutOfMemoryError) -> object:
            asked.append((name, threading.get_ident()))
            return answer

        return callback

    registered = [
        memory.on_oom(answering("first", 1)),
        memory.on_oom(answering("second", True)),
        memory.on_oom(answering("third", True)),
    ]
    try:
        there = workers[0].do(threading.get_ident)
        workers[0].do(lambda: refused(TOTAL + 1))
        assert asked == [("first", there), ("second", there)]
        registered[1].remove()
        registered[1].remove()
        assert [each.is_registered for each in registered] == [True, False, True]
        refused(TOTAL + 1)
        assert [name for name, _ in asked[2:]] == ["first", "third"]
    finally:
        for each in registered:
            each.remove()
    refused(TOTAL + 1)
    assert len(asked) == 4


@pytest.mark.parametrize("raised", [ValueError("no"), KeyboardInterrupt()], ids=stable_repr)
def test_on_oom_exception_is_raised_with_the_error_as_its_context(
    raised: BaseException,
) -> None:
    def fail(error: OutOfMemoryError) -> None:
        raise raised

    def never(error: OutOfMemoryError) -> None:
        raise AssertionError("called after another one raised")

    with memory.on_oom(fail), memory.on_oom(never):
        with pytest.raises(type(raised)) as caught:
            Buffer(TOTAL + 1)
        assert caught.value is raised
        assert isinstance(caught.value.__context__, OutOfMemoryError)
        assert caught.value.__context__.requested == TOTAL + 1
    error = refused(TOTAL + 1)
    assert error.__context__ is None, "its memory is released"


def test_on_oom_callback_may_raise_its_argument_or_with_a_cause() -> None:
    def again(error: OutOfMemoryError) -> None:
        error.add_note("asked")
        raise error

    def chained(error: OutOfMemoryError) -> None:
        try:
            _ = 1 / 0
        except ZeroDivisionError as inner:
            raise LookupError("outer") from inner

    with memory.on_oom(again):
        error = refused(TOTAL + 1)
    assert error.__notes__ == ["asked"]
    assert error.__context__ is None
    with memory.on_oom(chained), pytest.raises(LookupError) as caught:
        Buffer(TOTAL + 1)
    inner = caught.value.__context__
    assert isinstance(inner, ZeroDivisionError)
    assert isinstance(inner.__context__, OutOfMemoryError)


def test_on_oom_callback_may_allocate_without_recursion() -> None:
    asked: list[int | None] = []

    def allocate(error: OutOfMemoryError) -> None:
        asked.append(error.requested)
        Buffer(MIB).close()
        refused(TOTAL + 2)
        with memory.on_oom(lambda error: True):
            pass

    with memory.on_oom(allocate):
        refused(TOTAL + 1)
    assert asked == [TOTAL + 1]


@pytest.mark.parametrize("wrong", [None, 1, "callback"], ids=stable_repr)
def test_on_oom_refuses_objects_that_are_not_callable(wrong: Any) -> None:
    with pytest.raises(TypeError, match="callback must be callable"):
        memory.on_oom(wrong)


def test_injected_failure_leaves_the_allocator_consistent() -> None:
    *reported, ooms = eval_program("accelerator.memory.injected_failure_leaves_the_allocator_consistent")
    assert reported == [[0] * 5] * 8, "the allocation succeeds after cached memory was released"
    assert ooms == 0


OPTIONS = ("-W", "ignore:This process:DeprecationWarning")


@pytest.mark.parametrize("leave", ["pass", "sys.exit(0)", "allocate_once()", "fork()"], ids=stable_repr)
def test_exit_while_on_oom_callbacks_run(leave: str) -> None:
    for _ in range(2):
        done = run_program("accelerator.exits.exit_while_on_oom_callbacks_run", leave, options=OPTIONS)
        assert (done.code, done.stdout, done.stderr) == (0, "gone\n", "")


@pytest.mark.parametrize("never", ["spin()", "threading.Event().wait()"])
def test_exit_while_an_on_oom_callback_never_returns(never: str) -> None:
    done = run_program("accelerator.exits.exit_while_an_on_oom_callback_never_returns", never)
    assert (done.code, done.stdout, done.stderr) == (0, "", "")


def test_error_class_is_exported() -> None:
    assert issubclass(OutOfMemoryError, errors.InterlockError)

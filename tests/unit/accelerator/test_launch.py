"""`launch`: Python functions on streams, their threads and their exceptions."""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from interlock import Stream, accelerator, errors
from interlock._core import accelerator as _native
from interlock.accelerator import memory

from tests.helpers.ids import stable_repr
from tests.helpers.sequences import Long
from tests.helpers.subprocess import eval_program, run_program, run_python

pytestmark = pytest.mark.usefixtures("devices")
HOST = {"INTERLOCK_ACCELERATOR": "host:2"}


class NoText(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("error", "reported"),
    [
        (ValueError("\udc80 alone"), r"ValueError: \\udc80 alone"),
        (NoText(), "NoText: its message can't be shown"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (SystemExit(3), "SystemExit: 3"),
        (GeneratorExit(), "GeneratorExit"),
        (ValueError("two\nlines"), "two\nlines"),
    ],
    ids=stable_repr,
)
def test_launch_reports_any_exception_and_the_stream_continues(error: BaseException, reported: str) -> None:
    def fails() -> None:
        raise error

    stream = Stream(dedicated=True)
    seen: list[int] = []
    accelerator.launch(stream, fails)
    accelerator.launch(stream, seen.append, 1)
    with pytest.raises(errors.AcceleratorError, match=reported):
        stream.synchronize()
    stream.synchronize()
    assert seen == [1]


def test_wait_inside_a_function_for_its_own_stream_raises() -> None:
    stream = Stream(dedicated=True)
    for wait in (stream.synchronize, accelerator.synchronize, lambda: accelerator.Graph().__enter__()):
        accelerator.launch(stream, wait)
        with pytest.raises(errors.AcceleratorError, match="cannot wait for that stream"):
            stream.synchronize()
    other = Stream(dedicated=True)
    accelerator.launch(stream, other.synchronize)
    stream.synchronize()


READS: dict[str, Callable[[memory.Buffer], object]] = {
    "accelerator.memory.copy_": lambda buffer: memory.copy_(bytearray(8), buffer),
    "Buffer.copy_to": lambda buffer: buffer.copy_to(bytearray(8)),
    "Buffer.copy_from": lambda buffer: buffer.copy_from(bytes(8)),
}


@pytest.mark.usefixtures("host_accessible_memory")
@pytest.mark.parametrize("operation", READS)
def test_read_inside_a_function_names_itself_and_the_remedy(operation: str) -> None:
    stream = Stream(dedicated=True)
    buffer, raised = memory.Buffer(8, stream=stream), list[errors.AcceleratorError]()

    def work() -> None:
        with stream:
            try:
                READS[operation](buffer)
            except errors.AcceleratorError as error:
                raised.append(error)

    accelerator.launch(stream, work)
    stream.synchronize()
    (error,) = raised
    assert (error.operation, error.error_code) == (operation, None)
    assert str(error) == (
        f"{operation} failed on {buffer.device}: a function that runs on a stream cannot wait for that "
        "stream, or for its device; read memory of a host device with memoryview; otherwise queue a copy of "
        "it to CPU memory before the function"
    )


@pytest.mark.usefixtures("host_accessible_memory")
def test_launched_function_may_view_a_buffer_of_its_stream() -> None:
    stream, seen = Stream(dedicated=True), list[bytes]()
    buffer = memory.Buffer(8, stream=stream)
    buffer.fill_(7, stream=stream)
    accelerator.launch(stream, lambda: seen.append(bytes(memoryview(buffer))))
    buffer.fill_(8, stream=stream)
    accelerator.launch(stream, lambda: seen.append(bytes(memoryview(buffer))))
    accelerator.launch(stream, buffer.__dlpack__)
    stream.synchronize()
    assert seen == [bytes([7]) * 8, bytes([8]) * 8]


def test_launched_function_may_launch_record_and_drop_streams() -> None:
    stream, other = Stream(dedicated=True), Stream(dedicated=True)
    seen: list[int] = []

    def work() -> None:
        accelerator.launch(other, seen.append, 1)
        stream.record_event()
        accelerator.launch(stream, seen.append, 2)
        Stream(dedicated=True).record_event()

    accelerator.launch(stream, work)
    stream.synchronize()
    stream.synchronize()
    other.synchronize()
    assert sorted(seen) == [1, 2]


@pytest.mark.parametrize("wrong", [42, None, "print", object()], ids=stable_repr)
def test_launch_refuses_objects_that_are_not_callable(wrong: Any) -> None:
    stream = Stream()
    with pytest.raises(TypeError, match="function must be callable"):
        accelerator.launch(stream, wrong)
    with pytest.raises(TypeError, match="function must be callable"):
        accelerator.launch(stream, wrong, named=1)


def test_launch_warns_of_a_coroutine_function() -> None:
    async def work() -> None:
        raise AssertionError

    stream = Stream()
    accelerator.launch(stream, work)
    with pytest.raises(errors.AcceleratorError, match=r"work.*awaitable"):
        stream.synchronize()


def test_uses_of_a_callback_are_a_list_not_a_sequence_of_any_length() -> None:
    uses: Any = Long()
    with pytest.raises(TypeError, match="HostCallback: uses must be a list, got "):
        _native.HostCallback(Stream(), print, (), {}, uses)


@pytest.mark.parametrize("is_async", [False, True])
def test_launch_reports_that_a_generator_does_not_run(is_async: bool) -> None:
    def work() -> Iterator[None]:
        yield

    async def async_work() -> AsyncIterator[None]:
        yield

    stream = Stream()
    accelerator.launch(stream, async_work if is_async else work)
    with pytest.raises(errors.AcceleratorError, match=r"work.*returned a generator"):
        stream.synchronize()


def test_partial_has_the_name_of_its_function() -> None:
    def work(name: str) -> None:
        raise ValueError(name)

    stream = Stream()
    accelerator.launch(stream, functools.partial(work, "text"))
    with pytest.raises(errors.AcceleratorError, match=r"<locals>\.work failed"):
        stream.synchronize()


class Odd:
    """A callable without a name."""

    def __init__(self) -> None:
        self.called: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.called.append((args, kwargs))


def test_callable_needs_no_name() -> None:
    stream, odd = Stream(), Odd()
    accelerator.launch(stream, odd)
    accelerator.launch(stream, odd, 1, named=2)
    stream.synchronize()
    assert odd.called == [((), {}), ((1,), {"named": 2})]


def test_launch_keeps_no_reference_after_completion() -> None:
    class Kept:
        def __call__(self, other: Kept) -> None:
            pass

    stream, kept, given = Stream(dedicated=True), Kept(), Kept()
    gone = [weakref.ref(kept), weakref.ref(given)]
    with stream:
        accelerator.launch(stream, kept, given)
    del kept, given
    stream.synchronize()
    accelerator.current_stream().synchronize()
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_many_launches_use_few_threads() -> None:
    stream = Stream(dedicated=True)
    threads: set[int] = set()
    for _ in range(500):
        accelerator.launch(stream, lambda: threads.add(threading.get_ident()))
    stream.synchronize()
    assert len(threads) < 20


@pytest.mark.parametrize("wait", ["stream.synchronize()", "event.synchronize()", "accelerator.synchronize()"])
def test_wait_covers_only_work_queued_before_it(wait: str) -> None:
    done = run_program("accelerator.streams.launch_again_from_each_function", wait, env=HOST, seconds=30)
    assert (done.code, done.stdout, done.stderr) == (0, "", "")


def test_child_forked_inside_a_function_exits() -> None:
    assert eval_program("accelerator.streams.child_forked_inside_a_function_exits", env=HOST, seconds=30) == [
        0
    ]


def test_child_forked_inside_a_function_uses_devices_of_its_own() -> None:
    program = "accelerator.streams.child_forked_inside_a_function_waits_for_its_own_stream"
    assert eval_program(program, env=HOST, seconds=30) == [0]


def test_function_runs_on_a_native_thread_if_threads_are_replaced() -> None:
    # As gevent does: its thread is a greenlet of the thread that starts it, and waits for it.
    code = "import _thread; _thread.start_new_thread = lambda function, arguments: 1\n"
    code += "import interlock; stream, seen = interlock.Stream(), []\n"
    code += "interlock.accelerator.launch(stream, seen.append, 1); stream.synchronize(); print(seen)"
    run = run_python(code, env=HOST, seconds=30)
    assert (run.stdout, run.stderr) == ("[1]\n", "")


def test_fork_while_streams_release_python_objects() -> None:
    assert (
        eval_program("accelerator.streams.fork_while_streams_release_python_objects", env=HOST) == [0] * 150
    )


def test_concurrently_created_events_and_streams_leak_nothing() -> None:
    assert eval_program("accelerator.streams.concurrently_created_events_and_streams_leak_nothing") == 0


def test_stream_lookup_during_creation_and_destruction_of_others(devices: tuple[str, ...]) -> None:
    ended = threading.Event()

    def create_and_destroy() -> None:
        while not ended.is_set():
            Stream(devices[0], dedicated=True)

    kind = Stream().device_type
    thread = threading.Thread(target=create_and_destroy)
    thread.start()
    try:
        for number in range(129, 2000):
            # One of them may exist at this moment.
            with contextlib.suppress(errors.ArgumentError):
                assert Stream(stream_id=number, device_index=0, device_type=kind).stream_id == number
    finally:
        ended.set()
        thread.join()

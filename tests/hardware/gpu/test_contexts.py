"""CUDA contexts: which devices get one, and which one is current after a call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import pytest
from interlock import Event, Stream, accelerator
from interlock.accelerator import Graph, memory
from interlock.accelerator.memory import Buffer

from tests.hardware.gpu import processes
from tests.hardware.gpu.slow_kernel import Library

pytestmark = pytest.mark.gpu


def test_queries_create_no_cuda_context() -> None:
    assert not any(processes.value("contexts.contexts_after_queries"))


def test_unused_device_gets_no_cuda_context(two_devices: tuple[str, str]) -> None:
    first, second, *_ = processes.value("contexts.contexts_after_use_of_the_second_device")
    assert (first, second) == (False, True)


@pytest.fixture
def foreign(library: Library) -> Iterator[int]:
    """The address of a context that is current on this thread before the call."""
    context = ctypes.c_void_p()
    library.call("cuCtxCreate_v2", ctypes.byref(context), ctypes.c_uint(0), ctypes.c_int(0))
    assert context.value is not None
    yield context.value
    library.call("cuCtxDestroy_v2", context)


def record_and_replay() -> None:
    stream, graph, buffer = Stream(), Graph(), Buffer(4)
    with stream, graph:
        buffer.fill_(1)
    with stream:
        graph.replay()
    stream.synchronize()


def release_memory() -> None:
    Buffer(30 << 20).close()
    accelerator.empty_cache()


def allocate_too_much() -> None:
    with pytest.raises(MemoryError):
        Buffer(1 << 60)


def measure_time() -> None:
    stream, start, end = Stream(), Event(enable_timing=True), Event(enable_timing=True)
    start.record(stream)
    end.record(stream)
    end.synchronize()
    start.elapsed_time(end)


CALLS: dict[str, Callable[[], object]] = {
    "synchronize": accelerator.synchronize,
    "get_memory_info": accelerator.get_memory_info,
    "stream_priority_range": accelerator.stream_priority_range,
    "a stream, created and destroyed": lambda: Stream(dedicated=True).query(),
    "a wait": lambda: Stream().wait_stream(accelerator.current_stream()),
    "an event, created and destroyed": lambda: Stream().record_event().synchronize(),
    "two events": measure_time,
    "a function": lambda: accelerator.launch(Stream(), int),
    "a buffer": lambda: Buffer(1000).fill_(1).copy_to(bytearray(1000)),
    "releasing memory": release_memory,
    "a failing allocation": allocate_too_much,
    "a graph": record_and_replay,
    "a snapshot": memory.snapshot,
}


@pytest.mark.usefixtures("devices")
@pytest.mark.parametrize("name", CALLS)
def test_context_of_another_library_stays_current_after_each_call(
    name: str, library: Library, foreign: int
) -> None:
    CALLS[name]()
    assert library.current_context() == foreign
    accelerator.synchronize()
    assert library.current_context() == foreign

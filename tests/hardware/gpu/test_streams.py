"""The ordering of streams of a GPU, shown with a slow kernel."""

from __future__ import annotations

import ctypes

import pytest
from interlock import Stream, accelerator
from interlock.accelerator.memory import Buffer

from tests.hardware.gpu import int32_buffers
from tests.hardware.gpu.slow_kernel import Kernels, Library

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("devices")]

# Longer than the time between two calls on the host, even under load.
SECONDS = 0.5


def test_event_completes_when_the_kernel_before_it_has_completed(kernels: Kernels, cell: Buffer) -> None:
    stream = Stream(dedicated=True)
    kernels.spin(stream.native_handle, SECONDS, cell.data_ptr(), 7)
    event = stream.record_event()
    assert (stream.query(), event.query()) == (False, False)
    event.synchronize()
    assert (stream.query(), event.query(), int32_buffers.read(cell)) == (True, True, 7)


def test_wait_stream_makes_the_result_of_a_kernel_visible(kernels: Kernels, cell: Buffer) -> None:
    first, second = Stream(dedicated=True), Stream(dedicated=True)
    kernels.spin(first.native_handle, SECONDS, cell.data_ptr(), 7)
    second.wait_stream(first)
    assert int32_buffers.read(cell, second) == 7


def test_stream_without_a_wait_runs_ahead(kernels: Kernels, cell: Buffer) -> None:
    first, second = Stream(dedicated=True), Stream(dedicated=True)
    kernels.spin(first.native_handle, SECONDS, cell.data_ptr(), 7)
    assert int32_buffers.read(cell, second) == 0
    assert not first.query()
    first.synchronize()
    assert int32_buffers.read(cell, second) == 7


def test_streams_and_the_default_stream_do_not_wait_for_each_other(kernels: Kernels, cell: Buffer) -> None:
    default, other = accelerator.current_stream(), Stream(dedicated=True)
    assert default.native_handle == 0
    for slow, quick in ((default, other), (other, default)):
        int32_buffers.write(cell, 0)
        kernels.spin(slow.native_handle, SECONDS, cell.data_ptr(), 7)
        assert int32_buffers.read(cell, quick) == 0
        assert not slow.query()
        slow.synchronize()


def test_priority_is_that_of_the_driver_stream(library: Library) -> None:
    with library.current(library.primary_context(0)):
        least, greatest = ctypes.c_int(), ctypes.c_int()
        library.call("cuCtxGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest))
        assert accelerator.stream_priority_range() == (least.value, greatest.value)
        for wanted in range(greatest.value, least.value + 1):
            stream, reported = Stream(priority=wanted, dedicated=True), ctypes.c_int()
            handle = ctypes.c_void_p(stream.native_handle)
            library.call("cuStreamGetPriority", handle, ctypes.byref(reported))
            assert stream.priority == reported.value == wanted


def test_destroyed_stream_completes_its_queued_work(kernels: Kernels, cell: Buffer) -> None:
    stream = Stream(dedicated=True)
    kernels.spin(stream.native_handle, SECONDS, cell.data_ptr(), 7)
    del stream
    assert int32_buffers.read(cell) == 0
    accelerator.synchronize()
    assert int32_buffers.read(cell) == 7

"""Graphs of a GPU: kernels, copies and fills that are captured once and replayed."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import pytest
from interlock import Stream, accelerator, errors
from interlock.accelerator import Graph
from interlock.accelerator.memory import Buffer, copy_, fill_

from tests.hardware.gpu import int32_buffers
from tests.hardware.gpu.slow_kernel import Kernels, Library

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("devices")]


def test_replay_runs_kernels_copies_and_fills_on_current_memory(kernels: Kernels) -> None:
    source, middle, target = (Buffer(int32_buffers.BYTES) for _ in range(3))
    stream, graph = Stream(dedicated=True), Graph()
    with stream, graph:
        copy_(middle, source, non_blocking=True)
        kernels.add(stream.native_handle, target.data_ptr(), middle.data_ptr(), 5)
        fill_(source, 0)
    for number in (1, 70, 3_000_000_000):
        int32_buffers.write(source, number, stream)
        with stream:
            graph.replay()
        assert int32_buffers.read(target, stream) == number + 5
        assert int32_buffers.read(source, stream) == 0


def test_replay_runs_once_per_call(kernels: Kernels, cell: Buffer) -> None:
    stream, graph = Stream(dedicated=True), Graph()
    with stream, graph:
        for _ in range(3):
            kernels.add(stream.native_handle, cell.data_ptr(), cell.data_ptr())
    assert int32_buffers.read(cell) == 0, "captured work does not run"
    with stream:
        for _ in range(100):
            graph.replay()
    assert int32_buffers.read(cell, stream) == 300


def test_replay_takes_less_time_than_launches(kernels: Kernels, cell: Buffer) -> None:
    stream, graph = Stream(dedicated=True), Graph()

    def launch() -> None:
        for _ in range(500):
            kernels.add(stream.native_handle, cell.data_ptr(), cell.data_ptr())

    def replay() -> None:
        with stream:
            graph.replay()

    def seconds(queue: Callable[[], None]) -> float:
        begun = time.perf_counter()
        queue()
        stream.synchronize()
        return time.perf_counter() - begun

    with stream, graph:
        launch()
    times = [(seconds(launch), seconds(replay)) for _ in range(5)]
    launching, replaying = (min(each) for each in zip(*times, strict=True))
    assert replaying < launching
    assert int32_buffers.read(cell, stream) == 5 * 2 * 500


def test_capture_includes_a_second_stream_from_its_wait_to_its_join(kernels: Kernels) -> None:
    main, side = Stream(dedicated=True), Stream(dedicated=True)
    first, second = Buffer(int32_buffers.BYTES), Buffer(int32_buffers.BYTES)
    graph = Graph()
    with main, graph:
        fill_(first, 0)
        side.wait_stream(main)
        kernels.spin(side.native_handle, 0.1, first.data_ptr(), 7)
        main.wait_stream(side)
        kernels.add(main.native_handle, second.data_ptr(), first.data_ptr())
    with main:
        graph.replay()
    assert int32_buffers.read(second, main) == 8


def test_capture_invalidated_by_synchronize_names_the_wait(kernels: Kernels, cell: Buffer) -> None:
    stream, graph = Stream(dedicated=True), Graph()
    with pytest.raises(errors.GraphError, match=r"Stream\.synchronize was called"):  # noqa: PT012, SIM117
        with stream, graph:
            with pytest.raises(errors.GraphError, match="captures"):
                stream.synchronize()
    assert not stream.is_capturing()
    kernels.add(stream.native_handle, cell.data_ptr(), cell.data_ptr())
    assert int32_buffers.read(cell, stream) == 1


def test_capture_invalidated_by_another_library_is_reported(
    library: Library, kernels: Kernels, cell: Buffer
) -> None:
    stream, graph = Stream(dedicated=True), Graph()
    handle = ctypes.c_void_p(stream.native_handle)
    with stream:
        graph.capture_begin()
        kernels.add(stream.native_handle, cell.data_ptr(), cell.data_ptr())
        with library.current(library.primary_context(0)):
            assert library.code("cuStreamSynchronize", handle) != 0
        with pytest.raises(errors.GraphError, match="CUDA_ERROR_STREAM_CAPTURE"):
            graph.capture_end()
    assert not stream.is_capturing()
    accelerator.synchronize()  # No capture forbids it any more.
    assert int32_buffers.read(cell, stream) == 0

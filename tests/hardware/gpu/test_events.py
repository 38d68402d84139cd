"""Events of a GPU: elapsed time, blocking waits and interprocess events."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
from interlock import Event, Stream
from interlock.accelerator.memory import Buffer

from tests.hardware.gpu import processes
from tests.hardware.gpu.slow_kernel import Kernels
from tests.helpers.subprocess import TIMEOUT_SECONDS, child_environment, program

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("devices")]

MILLISECONDS = 50.0


def test_elapsed_time_of_a_50_ms_kernel_matches_the_clock(kernels: Kernels, cell: Buffer) -> None:
    stream, start, end = Stream(dedicated=True), Event(enable_timing=True), Event(enable_timing=True)

    def measured() -> tuple[float, float]:
        begun = time.perf_counter()
        start.record(stream)
        kernels.spin(stream.native_handle, MILLISECONDS / 1e3, cell.data_ptr())
        end.record(stream)
        end.synchronize()
        return start.elapsed_time(end), (time.perf_counter() - begun) * 1e3

    times = [measured() for _ in range(5)]
    by_events, by_clock = (min(each) for each in zip(*times, strict=True))
    assert by_events == pytest.approx(MILLISECONDS, rel=0.2)
    assert by_clock == pytest.approx(MILLISECONDS, rel=0.2)
    assert all(event <= clock for event, clock in times)


def test_elapsed_time_spans_events_of_two_streams(kernels: Kernels, cell: Buffer) -> None:
    first, second = Stream(dedicated=True), Stream(dedicated=True)
    start, end = Event(enable_timing=True), Event(enable_timing=True)
    start.record(first)
    kernels.spin(first.native_handle, MILLISECONDS / 1e3, cell.data_ptr())
    second.wait_stream(first)
    end.record(second)
    end.synchronize()
    assert start.elapsed_time(end) >= 0.9 * MILLISECONDS
    assert end.elapsed_time(start) == pytest.approx(-start.elapsed_time(end), rel=0.01)


def test_synchronize_of_a_blocking_event_uses_no_cpu_time(kernels: Kernels, cell: Buffer) -> None:
    stream, event = Stream(dedicated=True), Event(blocking=True)
    kernels.spin(stream.native_handle, 1.0, cell.data_ptr())
    event.record(stream)
    before = os.times()
    event.synchronize()
    after = os.times()
    busy = after.user + after.system - before.user - before.system
    assert after.elapsed - before.elapsed > 0.5
    assert busy < 0.2 * (after.elapsed - before.elapsed)


def test_interprocess_event_is_waited_for_in_another_process(kernels: Kernels, cell: Buffer) -> None:
    stream, event = Stream(dedicated=True), Event(interprocess=True)
    event.record(stream)
    with subprocess.Popen(
        [sys.executable, "-P", *program("gpu.processes.open_an_event_of_another_process")],
        env=child_environment(processes.ENVIRONMENT),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(TIMEOUT_SECONDS, process.kill)
        watchdog.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            print(event.ipc_handle().hex(), file=process.stdin, flush=True)
            assert process.stdout.readline() == "opened\n"
            kernels.spin(stream.native_handle, 2.0, cell.data_ptr())
            event.record(stream)
            print("recorded", file=process.stdin, flush=True)
            reported = [process.stdout.readline() for _ in range(2)]
        finally:
            watchdog.cancel()
            process.kill()
    assert reported == ["False\n", "True\n"]
    assert event.query()

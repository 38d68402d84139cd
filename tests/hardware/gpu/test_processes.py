"""Processes that use a GPU: those that fork, those that leave in the middle, and those whose device fails."""

from __future__ import annotations

import json

import pytest

from tests.hardware.gpu import processes

pytestmark = pytest.mark.gpu


def test_a_forked_child_uses_a_device_that_its_parent_has_only_counted() -> None:
    code = """
        import os
        from interlock import accelerator
        from interlock.accelerator.memory import Buffer

        counted = [accelerator.is_available(), accelerator.device_count(), accelerator.why_unavailable()]
        reading, writing = os.pipe()
        if os.fork() == 0:
            back = bytearray(4)
            Buffer(4).fill_(7).copy_to(back)
            os.write(writing, back)
            os._exit(0)
        os.close(writing)
        told = list(os.read(reading, 4))
        os.wait()
        # The parent can, too, afterwards.
        accelerator.synchronize()
        result = [counted[0], counted[1] > 0, counted[2], told]
    """
    assert processes.value_without_kernels(code) == [True, True, None, [7] * 4]


def test_a_child_of_a_process_that_used_a_device_is_told_so() -> None:
    code = """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        event = stream.record_event()

        def told(use):
            try:
                use()
            except Exception as error:
                return type(error).__name__
            return "nothing"

        reading, writing = os.pipe()
        if os.fork() == 0:
            uses = (stream.synchronize, event.query, lambda: cell.fill_(1), Stream, lambda: Buffer(4))
            os.write(writing, json.dumps([told(use) for use in uses]).encode())
            os._exit(0)
        os.close(writing)
        with open(reading) as pipe:
            result = json.loads(pipe.read())
        os.wait()
        cell.fill_(1)
        accelerator.synchronize()
    """
    assert processes.value(code) == ["ForkedProcessError"] * 5


LEAVES = ("pass", "sys.exit(0)", "os._exit(0)", "raise SystemExit")

BUSY = """
kept = [Event(enable_timing=True), Buffer(64 << 20), accelerator.Graph()]
with stream, kept[2]:
    kernels.add(stream.native_handle, cell.data_ptr(), cell.data_ptr())
slow(0.2)
kept[0].record(stream)
with stream:
    kept[2].replay()
copy_(kept[1][:4], cell, non_blocking=True, stream=stream)
threading.Thread(target=stream.synchronize, daemon=True).start()
threading.Thread(target=accelerator.synchronize, daemon=True).start()
{leave}
"""


@pytest.mark.parametrize("leave", LEAVES)
def test_processes_leave_with_live_handles_and_queued_work(leave: str) -> None:
    for _ in range(5):
        done = processes.run(BUSY.format(leave=leave))
        assert (done.code, done.stdout, done.stderr) == (0, "", "")


def test_the_first_error_of_a_device_that_failed_is_kept_and_told_by_every_later_call() -> None:
    code = """
        kernels.spin(stream.native_handle, 0.0, 8)
        uses = {
            "first": stream.synchronize,
            "stream": stream.synchronize,
            "query": stream.query,
            "device": accelerator.synchronize,
            "memory": lambda: Buffer(64 << 20),
            "fill": lambda: cell.fill_(1),
            "new stream": lambda: Stream(exclusive=True),
            "event": stream.record_event,
            "information": accelerator.get_memory_info,
        }
        told = {}
        for name, use in uses.items():
            try:
                use()
                told[name] = ["nothing", "", ""]
            except errors.AcceleratorError as error:
                told[name] = [type(error).__name__, str(error), error.operation]
        print(json.dumps(told))
    """
    done = processes.run(code)
    assert (done.code, done.stderr) == (0, ""), "the end is clean"
    told = json.loads(done.stdout)
    kind, text, first = told.pop("first")
    assert kind == "AcceleratorError"
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text
    for name, (later, text, _) in told.items():
        assert later == "DeviceLostError", name
        assert f"{first} had failed" in text, name
        assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text, name

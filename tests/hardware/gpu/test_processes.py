"""Processes that use a GPU: forks, exits during work, and devices that fail."""

from __future__ import annotations

import json

import pytest

from tests.hardware.gpu import processes

pytestmark = pytest.mark.gpu


def test_forked_child_uses_a_device_that_its_parent_only_counted() -> None:
    assert processes.value("processes.fork_before_the_first_use") == [True, True, None, [7] * 4]


def test_forked_child_after_use_of_a_device_gets_an_error() -> None:
    assert processes.value("kernels.fork_after_the_first_use") == ["ForkedProcessError"] * 5


EXITS = ("pass", "sys.exit(0)", "os._exit(0)", "raise SystemExit")


@pytest.mark.parametrize("leave", EXITS)
def test_process_exits_with_live_handles_and_queued_work(leave: str) -> None:
    for _ in range(5):
        done = processes.run("kernels.exit_with_queued_work", leave)
        assert (done.code, done.stdout, done.stderr) == (0, "", "")


def test_failed_device_reports_its_first_error_in_every_later_call() -> None:
    done = processes.run("kernels.use_a_device_that_failed")
    assert (done.code, done.stderr) == (0, ""), "the exit is clean"
    reported = json.loads(done.stdout)
    kind, text, first = reported.pop("first")
    assert kind == "AcceleratorError"
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text
    for name, (later, text, _) in reported.items():
        assert later == "DeviceLostError", name
        assert f"{first} had failed" in text, name
        assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text, name

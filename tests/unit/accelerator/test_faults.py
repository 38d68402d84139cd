"""`FaultInjector`: injected failures of devices and their effects on a program."""

from __future__ import annotations

import pytest
from interlock import testing

from tests.helpers.subprocess import eval_program


def result_of(program: str, *arguments: object) -> list[object]:
    answer: list[object] = eval_program(program, *arguments)
    return answer


def test_fail_allocation_fails_the_kth_request_only() -> None:
    retries, after, zero, retried, failed, requests, last = result_of(
        "accelerator.faults.fail_allocation_fails_the_kth_request_only"
    )
    assert retries == [0, 0, 1, 1, 1], "cached memory is released, and the driver called again"
    assert after is None
    assert isinstance(zero, list)
    assert zero[0] == "ArgumentError"
    assert retried is None, "the observer requests a retry"
    assert failed == "OutOfMemoryError"
    assert requests == [20 << 20] * 2
    assert last is None, "each call adds one fault"


@pytest.mark.parametrize(
    ("fault", "work", "operation"),
    [
        ("fail_next_launch", "accelerator.launch(stream, seen.append, 1)", "append"),
        ("fail_next_copy", "copy_(bytearray(8), buffer, non_blocking=True, stream=stream)", "copy"),
        ("fail_next_fill", "fill_(buffer, 1, stream=stream)", "fill"),
    ],
)
def test_fail_work_reports_one_asynchronous_error_and_later_work_runs(
    fault: str, work: str, operation: str
) -> None:
    first, second, seen = result_of(
        "accelerator.faults.fail_work_reports_one_asynchronous_error", fault, work
    )
    assert isinstance(first, list)
    assert first[0] == "AcceleratorError"
    assert operation in first[1]
    assert "a cable came loose" in first[1]
    assert (second, seen) == (None, [2])


def test_lose_device_wakes_waiting_threads_and_is_permanent() -> None:
    (outcome, *_), calls, stream, memory = result_of(
        "accelerator.faults.lose_device_wakes_waiting_threads_and_is_permanent"
    )
    for kind, message in [outcome, *calls]:
        assert kind == "DeviceLostError"
        assert "it fell off the bus" in message
    assert (stream, memory) == (None, None), "the other device is unaffected"


def test_lost_device_error_names_the_calling_operation() -> None:
    names = ["a fill", "accelerator.memory.copy_", "Stream", "Stream.wait_stream", "Stream.record_event"]
    names += ["Event.record", "Stream.is_capturing", "accelerator.memory.Buffer", "mul"]
    wanted = [["DeviceLostError", f"{name} failed: the device host:1 was lost: x"] for name in names]
    assert result_of("accelerator.faults.lost_device_error_names_the_calling_operation") == wanted


def test_pause_copies_delays_only_its_stream() -> None:
    held, stepped, back, seen = result_of("accelerator.faults.pause_copies_delays_only_its_stream")
    assert held == [False, True, ["quick"]]
    assert stepped == [True, False]
    assert (back, seen) == ("slow", ["quick", "slow"])


def test_higher_priority_work_runs_first_on_busy_engines() -> None:
    assert result_of("accelerator.faults.higher_priority_work_runs_first_on_busy_engines") == [
        "first",
        "first",
        "high",
        "low",
    ]


def test_live_objects_are_those_that_the_program_holds() -> None:
    before, held, closed, after, internal = result_of(
        "accelerator.faults.live_objects_are_those_of_the_program"
    )
    assert before == {}
    both = {"streams": 1, "events": 1, "executables": 1}
    # The graph owns the buffer.
    assert held == closed == both | {"bytes": 3 << 20}
    assert after == {}
    assert isinstance(internal, dict)
    assert {"streams", "bytes"} <= internal.keys(), "of pools and caches"


@pytest.mark.parametrize("internal", [1, None, "yes"])
def test_live_objects_refuses_another_type(internal: object) -> None:
    faults = testing.FaultInjector()
    with pytest.raises(TypeError, match=r"^FaultInjector\.live_objects: internal must be a bool, got "):
        faults.live_objects(internal=internal)  # type: ignore[arg-type]


def test_destroyed_objects_leave_no_resources_behind() -> None:
    for before, after in result_of("accelerator.faults.destroyed_objects_leave_no_resources_behind"):  # type: ignore[misc]
        assert after <= before + 1


def test_fault_injector_without_a_driver_raises() -> None:
    assert 'accelerator.use("host", faults=...)' in eval_program(
        "accelerator.drivers.fault_injector_without_a_driver_raises"
    )

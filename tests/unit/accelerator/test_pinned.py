"""What is counted of pinned memory, and what gives it back."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_python

STATS = ("active_bytes", "active_requests", "allocated_bytes", "allocations")
TIMES = ("host_alloc_time", "host_free_time")

NAMES = sorted(
    [f"{stat}.{part}" for stat in STATS for part in ("current", "peak", "allocated", "freed")]
    + [f"{time}.{part}" for time in TIMES for part in ("total", "max", "min", "count", "avg")]
    + ["num_host_alloc", "num_host_free"]
)

SETUP = """
    import os
    import interlock
    from interlock import accelerator, errors, testing
    from interlock.accelerator import memory

    def ask_all():
        return [
            accelerator.empty_host_cache(),
            memory.empty_host_cache(),
            memory.reset_peak_host_memory_stats(),
            memory.reset_accumulated_host_memory_stats(),
        ]
"""


def told(code: str, driver: str = "host:2") -> list[object]:
    answer: list[object] = eval_python(f"{SETUP}\n{code}", env={"INTERLOCK_ACCELERATOR": driver})
    return answer


@pytest.mark.parametrize("driver", ["none", "host:0", "host:2"])
def test_all_numbers_are_there_and_zero_before_an_accelerator_is_used(driver: str) -> None:
    code = """
    stats = memory.host_memory_stats()
    answer = [list(stats), set(stats.values()) == {0}, ask_all()]
    """
    assert told(code, driver) == [NAMES, True, [None] * 4]


def test_asking_for_them_starts_no_driver() -> None:
    code = """
    memory.host_memory_stats()
    ask_all()
    accelerator.use("host", devices=5)
    answer = [accelerator.device_count()]
    """
    assert told(code) == [5]


def test_memory_of_devices_is_not_counted() -> None:
    code = """
    buffer = memory.Buffer(1000)
    stats = memory.host_memory_stats()
    answer = [list(stats), set(stats.values()) == {0}, ask_all()]
    """
    assert told(code) == [NAMES, True, [None] * 4]


def test_a_forked_child_counts_its_own() -> None:
    code = """
    buffer = memory.Buffer(1000)
    read, write = os.pipe()
    if os.fork() == 0:
        ask_all()
        os.write(write, str(sum(memory.host_memory_stats().values())).encode())
        os._exit(0)
    os.close(write)
    answer = [os.wait()[1], os.read(read, 10).decode()]
    """
    assert told(code) == [0, "0"]


def test_a_pinned_allocation_that_is_to_fail_is_none_of_a_device_and_its_number_is_checked() -> None:
    code = """
    faults = testing.FaultInjector()
    accelerator.use("host", faults=faults)
    faults.fail_pinned_allocation(1)
    buffer = memory.Buffer(8)
    try:
        faults.fail_pinned_allocation(0)
    except errors.ArgumentError as error:
        answer = [str(error)]
    """
    (message,) = told(code)
    assert isinstance(message, str)
    assert "fail_pinned_allocation" in message
    assert "1 or more" in message

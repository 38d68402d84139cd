"""Statistics of pinned memory and its release."""

from __future__ import annotations

import pytest

from tests.helpers.subprocess import eval_program

STATS = ("active_bytes", "active_requests", "allocated_bytes", "allocations")
TIMES = ("host_alloc_time", "host_free_time")

NAMES = sorted(
    [f"{stat}.{part}" for stat in STATS for part in ("current", "peak", "allocated", "freed")]
    + [f"{time}.{part}" for time in TIMES for part in ("total", "max", "min", "count", "avg")]
    + ["num_host_alloc", "num_host_free"]
)


def result_of(program: str, driver: str = "host:2") -> list[object]:
    answer: list[object] = eval_program(program, env={"INTERLOCK_ACCELERATOR": driver})
    return answer


@pytest.mark.parametrize("driver", ["none", "host:0", "host:2"])
def test_stats_are_complete_and_zero_before_first_use(driver: str) -> None:
    assert result_of("accelerator.memory.stats_are_complete_and_zero_before_first_use", driver) == [
        NAMES,
        True,
        [None] * 4,
    ]


def test_stats_initialize_no_driver() -> None:
    assert result_of("accelerator.memory.stats_initialize_no_driver") == [5]


def test_stats_exclude_device_memory() -> None:
    assert result_of("accelerator.memory.stats_exclude_device_memory") == [NAMES, True, [None] * 4]


def test_stats_of_a_forked_child_are_its_own() -> None:
    assert result_of("accelerator.memory.stats_of_a_forked_child_are_its_own") == [0, "0"]


def test_fail_pinned_allocation_affects_no_device_and_checks_its_k() -> None:
    (message,) = result_of("accelerator.memory.fail_pinned_allocation_affects_no_device_and_checks_its_k")
    assert isinstance(message, str)
    assert "fail_pinned_allocation" in message
    assert "at least 1" in message

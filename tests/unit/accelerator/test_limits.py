"""`set_limit` and `set_cache_limit`: the limits of reserved and of cached memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import interlock
import pytest
from interlock import accelerator, errors
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import eval_program

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _no_limits(empty_cache_around: None) -> Iterator[None]:
    yield
    for device in range(accelerator.device_count()):
        memory.set_limit(None, device)
        memory.set_cache_limit(None, device)


@pytest.mark.parametrize(
    ("limit", "parts"),
    [
        (0, None),
        (1 << 20, None),
        (0.5, 0.5),
        ("90%", 0.9),
        (1.0, 1.0),
        (" 12.5 % ", 0.125),
        (2**64 - 1, None),
    ],
    ids=stable_repr,
)
def test_limit_is_bytes_a_fraction_or_a_percentage(limit: Any, parts: float | None) -> None:
    total = memory.get_memory_info()[1]
    expected = limit if parts is None else int(total * parts)
    takers: list[tuple[Callable[[Any], int | None], Callable[[], int | None]]] = [
        (memory.set_limit, memory.get_limit),
        (memory.set_cache_limit, memory.get_cache_limit),
    ]
    for take, query in takers:
        assert query() is None
        assert take(limit) is None
        assert query() == expected
        assert take(None) == expected, "it returns the previous limit"
        assert query() is None


@pytest.mark.parametrize(
    "wrong", [-1, 1.5, -0.1, float("nan"), "90", "101%", "", "all", 10**30], ids=stable_repr
)
def test_limit_out_of_range_is_refused_and_changes_nothing(wrong: Any) -> None:
    memory.set_limit(MIB)
    memory.set_cache_limit(2 * MIB)
    for take in (memory.set_limit, memory.set_cache_limit):
        with pytest.raises(errors.ArgumentError, match="90%"):
            take(wrong)
    assert (memory.get_limit(), memory.get_cache_limit()) == (MIB, 2 * MIB)


@pytest.mark.parametrize("wrong", [True, b"90%", [], object()], ids=lambda wrong: type(wrong).__name__)
def test_set_limit_refuses_other_types(wrong: Any) -> None:
    for take in (memory.set_limit, memory.set_cache_limit):
        with pytest.raises(TypeError, match="fraction"):
            take(wrong)


def test_limits_are_per_device(two_devices: tuple[str, str]) -> None:
    memory.set_limit(MIB, two_devices[1])
    memory.set_cache_limit(MIB, device=1)
    assert [memory.get_limit(device) for device in (*two_devices, None)] == [None, MIB, None]
    assert [memory.get_cache_limit(device) for device in (*two_devices, None)] == [None, MIB, None]
    with accelerator.device_index(1):
        assert memory.get_limit() == MIB
    for take in (memory.set_limit, memory.set_cache_limit):
        with pytest.raises(errors.DeviceError):
            take(1, 99)


def test_limit_includes_cached_memory() -> None:
    memory.set_limit(4 * MIB)
    first, second = Buffer(MIB), Buffer(MIB)
    third = Buffer(1)
    assert accelerator.memory_reserved() == 4 * MIB
    with pytest.raises(interlock.OutOfMemoryError) as caught:
        Buffer(2 * MIB)
    assert caught.value.limit == 4 * MIB
    assert "set_limit" in str(caught.value)
    third.close()
    with pytest.raises(interlock.OutOfMemoryError):
        Buffer(12 * MIB)
    memory.set_limit(None)
    Buffer(12 * MIB)
    first.close()
    second.close()


def test_cached_memory_is_released_to_stay_below_the_limit() -> None:
    memory.set_limit(12 * MIB)
    Buffer(MIB).close()
    assert accelerator.memory_reserved() == 2 * MIB
    large = Buffer(12 * MIB)
    assert accelerator.memory_reserved() == large.nbytes


def test_allocated_memory_stays_above_a_lower_limit() -> None:
    buffer = Buffer(12 * MIB)
    memory.set_limit(MIB)
    assert accelerator.memory_reserved() == buffer.nbytes
    with pytest.raises(interlock.OutOfMemoryError):
        Buffer(1)


def test_cache_limit_bounds_cached_memory() -> None:
    oldest, older, newest = (Buffer(size * MIB) for size in (10, 12, 14))
    addresses = [older.data_ptr(), newest.data_ptr()]
    memory.set_cache_limit(28 * MIB)
    for buffer in (oldest, older, newest):
        Buffer(1).close()  # Age is the number of allocations since the last use.
        buffer.close()
    assert accelerator.memory_reserved() == 28 * MIB
    again = [Buffer(size * MIB) for size in (12, 14)]
    assert [buffer.data_ptr() for buffer in again] == addresses, "the least recently used block was released"
    assert accelerator.memory_reserved() == 28 * MIB
    again.clear()
    memory.set_cache_limit(0)
    assert accelerator.memory_reserved() == 0
    Buffer(1).close()
    assert accelerator.memory_reserved() == 0


def test_get_limit_initializes_no_driver() -> None:
    assert eval_program(
        "accelerator.memory.get_limit_initializes_no_driver", env={"INTERLOCK_ACCELERATOR": "host"}
    ) == [None, None, "DeviceError"]

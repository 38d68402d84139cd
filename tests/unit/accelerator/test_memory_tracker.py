"""`MemoryTracker`: allocations during a `with` block."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from interlock import accelerator, errors
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

from tests.helpers.ids import stable_repr
from tests.helpers.subprocess import eval_program
from tests.helpers.thread_worker import Worker

pytestmark = pytest.mark.usefixtures("empty_cache_around")

MIB = 1 << 20


def numbers(tracker: memory.MemoryTracker) -> tuple[int, int, int, int]:
    return tracker.current, tracker.peak, tracker.total, tracker.allocations


def test_tracker_counts_allocations_during_and_after_its_scope() -> None:
    before = Buffer(1000)
    with memory.MemoryTracker() as tracker:
        assert numbers(tracker) == (0, 0, 0, 0)
        kept = Buffer(1)
        assert numbers(tracker) == (512, 512, 512, 1)
        Buffer(MIB).close()
        before.close()
        assert numbers(tracker) == (512, MIB + 512, MIB + 512, 2)
    Buffer(MIB).close()
    kept.close()
    assert numbers(tracker) == (512, MIB + 512, MIB + 512, 2), "they stay"


def test_trackers_nest_and_can_be_reentered() -> None:
    tracker = memory.MemoryTracker()
    with memory.MemoryTracker() as outer, tracker:
        first = Buffer(512)
        with tracker as inner:
            assert inner is tracker
            second = Buffer(1024)
            assert numbers(tracker) == (1024, 1024, 1024, 1)
        assert numbers(tracker) == (1536, 1536, 1536, 2), "the outer scope of the object is open"
    assert numbers(outer) == numbers(tracker) == (1536, 1536, 1536, 2)
    with tracker:
        pass
    assert numbers(tracker) == (0, 0, 0, 0)
    del first, second


def test_tracker_counts_allocations_of_other_threads(workers: tuple[Worker, Worker]) -> None:
    with memory.MemoryTracker() as tracker:
        kept = [worker.do(lambda: Buffer(512)) for worker in workers]
    assert numbers(tracker) == (1024, 1024, 1024, 2)
    del kept


def test_tracker_counts_one_device(two_devices: tuple[str, str]) -> None:
    with (
        memory.MemoryTracker(two_devices[1]) as there,
        memory.MemoryTracker(device=0) as here,
        accelerator.device_index(1),
    ):
        kept = Buffer(512)
        with memory.MemoryTracker() as current:
            Buffer(1024).close()
    assert (there.total, here.total, current.total) == (1536, 0, 1024)
    del kept


def test_tracker_decorates_functions_generators_and_coroutines() -> None:
    tracker = memory.MemoryTracker()

    @tracker
    def call(number: int) -> Buffer:
        return Buffer(number)

    @tracker
    def steps() -> Iterator[int]:
        Buffer(512).close()
        yield 1
        Buffer(1024).close()
        yield 2

    @tracker
    async def wait() -> str:
        await asyncio.sleep(0)
        Buffer(2048).close()
        return "done"

    kept = call(600)
    assert numbers(tracker) == (1024, 1024, 1024, 1)
    running = steps()
    assert (next(running), tracker.total) == (1, 512)
    Buffer(4096).close()
    assert (next(running), tracker.total) == (2, 1024)
    assert asyncio.run(wait()) == "done"
    assert tracker.total == 2048
    with pytest.raises(TypeError):
        tracker(1)  # type: ignore[type-var]
    del kept


def test_tracker_ends_with_an_exception() -> None:
    tracker = memory.MemoryTracker()

    def fail() -> None:
        Buffer(512).close()
        raise LookupError

    with pytest.raises(LookupError), tracker:
        fail()
    Buffer(512).close()
    assert tracker.total == 512
    tracker.__exit__(None, None, None)
    assert tracker.total == 512


@pytest.mark.parametrize("wrong", [99, -2, "cpu", "host:9"], ids=stable_repr)
def test_tracker_refuses_an_invalid_device(wrong: Any) -> None:
    with pytest.raises(errors.DeviceError):
        memory.MemoryTracker(wrong).__enter__()
    for value in (True, 1.5):
        with pytest.raises(TypeError):
            memory.MemoryTracker(value)  # type: ignore[arg-type]


def test_tracker_counts_nothing_without_an_accelerator() -> None:
    assert (
        eval_program(
            "accelerator.snapshots.track_memory_without_an_accelerator",
            env={"INTERLOCK_ACCELERATOR": "none"},
        )
        == [0] * 4 + ["DeviceError"] * 2
    )

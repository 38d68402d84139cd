"""`memory_stats` and the size classes of the allocator, which are PyTorch's."""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict

import pytest
from interlock import Stream, accelerator
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

from tests.helpers.gate import Gate
from tests.helpers.subprocess import eval_program
from tests.unit.accelerator.buffers import Pinned

pytestmark = pytest.mark.usefixtures("empty_cache_around")

KIB, MIB = 1 << 10, 1 << 20


def counted(name: str) -> int:
    return accelerator.memory_stats()[name]


def test_all_keys_are_present_ordered_and_nested() -> None:
    stats = accelerator.memory_stats()
    assert type(stats) is OrderedDict
    assert list(stats) == sorted(stats)
    assert len(stats) == 9 * 3 * 4 + 2 * 4 + 7
    nested = memory.memory_stats_as_nested_dict()
    assert nested["inactive_split_bytes"]["large_pool"]["freed"] == 0
    assert nested["oversize_segments"]["peak"] == 0
    assert nested["num_ooms"] == stats["num_ooms"]
    assert nested["max_split_size"] == -1


@pytest.mark.parametrize(
    ("nbytes", "allocated", "reserved"),
    [
        (1, 512, 2 * MIB),
        (512, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB, 10 * MIB),
        (10 * MIB + 1, 10 * MIB + 512, 12 * MIB),
    ],
)
def test_allocation_is_rounded_and_reserves_a_segment(nbytes: int, allocated: int, reserved: int) -> None:
    buffer = Buffer(nbytes)
    assert accelerator.memory_allocated() == allocated
    assert accelerator.memory_reserved() == reserved
    pool = "small_pool" if nbytes <= MIB else "large_pool"
    assert counted(f"requested_bytes.{pool}.current") == counted("requested_bytes.all.current") == nbytes
    assert counted(f"segment.{pool}.current") == counted("allocation.all.current") == 1
    buffer.close()
    assert accelerator.memory_allocated() == 0
    assert accelerator.memory_reserved() == reserved, "it is cached"
    assert memory.largest_free_block() == reserved


def test_freed_block_is_reused_without_a_driver_call() -> None:
    addresses = set()
    for _ in range(10):
        buffer = Buffer(MIB)
        addresses.add(buffer.data_ptr())
        del buffer
    assert len(addresses) == 1
    assert counted("num_device_alloc") == 1


def test_smallest_sufficient_block_is_allocated() -> None:
    first, _wall, second, _other = (Buffer(size * MIB) for size in (6, 2, 4, 2))
    at_first, at_second = first.data_ptr(), second.data_ptr()
    first.close()
    second.close()
    small = Buffer(4 * MIB)
    large = Buffer(5 * MIB)
    assert (small.data_ptr(), large.data_ptr()) == (at_second, at_first)
    assert accelerator.memory_reserved() == 20 * MIB


def test_blocks_are_split_and_merged() -> None:
    first, second, third = (Buffer(3 * MIB) for _ in range(3))
    assert second.data_ptr() - first.data_ptr() == third.data_ptr() - second.data_ptr() == 3 * MIB
    assert counted("inactive_split_bytes.all.current") == 11 * MIB
    second.close()
    assert counted("inactive_split.all.current") == 2
    assert memory.largest_free_block() == 11 * MIB
    assert memory.fragmentation() == pytest.approx(1 - 11 / 14)
    first.close()
    assert counted("inactive_split.all.current") == 2, "it was merged with the second"
    third.close()
    assert counted("inactive_split.all.current") == counted("inactive_split_bytes.all.current") == 0
    assert memory.largest_free_block() == 20 * MIB
    assert memory.fragmentation() == 0.0


def test_streams_have_separate_free_blocks() -> None:
    here, there = Stream(dedicated=True), Stream(dedicated=True)
    buffer = Buffer(MIB, stream=here)
    address = buffer.data_ptr()
    buffer.close()
    with there:
        assert Buffer(MIB).data_ptr() != address
    with here:
        assert Buffer(MIB).data_ptr() == address
    assert counted("segment.all.current") == 2


def test_freed_block_is_reused_only_after_its_stream_events(gate: Gate) -> None:
    own, other = Stream(dedicated=True), Stream(dedicated=True)
    buffer = Buffer(MIB, stream=own)
    address = buffer.data_ptr()
    accelerator.launch(other, gate)
    buffer.record_stream(other)
    buffer.close()
    assert accelerator.memory_allocated() == 0
    assert counted("active_bytes.all.current") == counted("requested_bytes.all.current") == MIB
    assert counted("active.all.current") == 1
    meanwhile = Buffer(MIB, stream=own)
    assert meanwhile.data_ptr() != address
    gate.open()
    other.synchronize()
    assert Buffer(MIB, stream=own).data_ptr() == address
    assert counted("active_bytes.all.current") == MIB


def test_copy_on_another_stream_records_the_use_of_its_buffer(gate: Gate) -> None:
    own, other = Stream(dedicated=True), Stream(dedicated=True)
    buffer = Buffer(MIB, stream=own).fill_(7, stream=own)
    own.synchronize()
    address, back = buffer.data_ptr(), Pinned(bytes(MIB))
    accelerator.launch(other, gate)
    buffer.copy_to(back.view, non_blocking=True, stream=other).close()
    overwriting = Buffer(MIB, stream=own).fill_(9, stream=own)
    assert overwriting.data_ptr() != address
    own.synchronize()
    gate.open()
    other.synchronize()
    assert bytes(back) == b"\7" * MIB


def test_peaks_and_counts_are_reset() -> None:
    kept, gone = Buffer(MIB), Buffer(12 * MIB)
    gone.close()
    assert accelerator.max_memory_allocated() == 13 * MIB
    assert accelerator.max_memory_reserved() == accelerator.memory_reserved() == 14 * MIB
    accelerator.reset_peak_memory_stats()
    assert accelerator.max_memory_allocated() == accelerator.memory_allocated() == kept.nbytes
    assert counted("allocated_bytes.all.allocated") == 13 * MIB
    accelerator.reset_accumulated_memory_stats()
    assert counted("allocated_bytes.all.allocated") == counted("allocated_bytes.all.freed") == 0
    assert counted("num_device_alloc") == 0
    assert accelerator.memory_allocated() == MIB


def test_devices_are_counted_separately(two_devices: tuple[str, str]) -> None:
    buffer = Buffer(MIB, two_devices[1])
    reported = [accelerator.memory_allocated(device) for device in (*two_devices, 0, 1, None)]
    assert reported == [0, MIB, 0, MIB, 0]
    with accelerator.device_index(1):
        assert accelerator.memory_allocated() == buffer.nbytes


@pytest.mark.usefixtures("small_devices")
def test_empty_cache_releases_unused_segments_of_all_devices(devices: tuple[str, ...]) -> None:
    free = [memory.get_memory_info(device)[0] for device in devices]
    for device in devices:
        Buffer(3 * MIB, device).close()
    kept = Buffer(MIB)
    accelerator.empty_cache()
    assert [accelerator.memory_reserved(device) for device in devices] == [2 * MIB, 0][: len(devices)]
    kept.close()
    accelerator.empty_cache()
    assert [memory.get_memory_info(device)[0] for device in devices] == free


def test_empty_cache_waits_for_queued_work(gate: Gate) -> None:
    stream = Stream(dedicated=True)
    buffer = Buffer(MIB, stream=stream)
    accelerator.launch(stream, gate)
    buffer.close()
    opener = threading.Timer(0.05, gate.open)
    opener.start()
    accelerator.empty_cache()
    assert opener.finished.is_set(), "it was opened before"
    assert accelerator.memory_reserved() == 0


def test_destroyed_stream_releases_its_blocks() -> None:
    stream = Stream(dedicated=True)
    Buffer(MIB, stream=stream).close()
    kept = Buffer(MIB, stream=stream)
    del stream
    gc.collect()
    assert kept.stream is None
    kept.fill_(3)
    accelerator.synchronize()
    kept.close()
    accelerator.empty_cache()
    assert accelerator.memory_reserved() == 0


@pytest.mark.parametrize("call", ["Buffer(40 << 20)", "accelerator.empty_cache()"])
def test_allocation_wait_ends_with_keyboard_interrupt(call: str) -> None:
    raised, before, after, emptied = eval_program("accelerator.memory.interrupt_a_wait_for_memory", call)
    assert raised == ["", "NoneType"]
    assert before == [0, 40 * MIB]
    assert after == [40 * MIB, 40 * MIB]
    assert emptied == [0, 0]


def test_forked_child_has_its_own_allocator() -> None:
    options = ("-W", "ignore:This process:DeprecationWarning")
    *reported, parent = eval_program(
        "accelerator.memory.forked_child_has_its_own_allocator",
        env={"INTERLOCK_ACCELERATOR": "host"},
        options=options,
    )
    assert reported == [0, 0, *["ForkedProcessError"] * 5, 512, 2 * MIB, 1]
    assert parent == [3 * MIB, 1024]

"""Memory statistics of a GPU, compared with the driver's numbers; allocation and release.

Other programs may use the device concurrently, so numbers are compared within `SLACK`.
"""

from __future__ import annotations

import pytest
from interlock import OutOfMemoryError, accelerator
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

from tests.hardware.gpu import processes
from tests.hardware.gpu.slow_kernel import Library

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("empty_cache_around")]

MIB = 1 << 20
# Expandable segments grow by 20 MiB.
LARGE = 500 * MIB
SLACK = 96 * MIB


def test_get_memory_info_equals_the_report_of_the_driver(library: Library) -> None:
    ours, theirs = accelerator.get_memory_info(), library.memory_info()
    assert ours[1] == theirs[1] == accelerator.device_properties().total_memory
    assert ours[0] == pytest.approx(theirs[0], abs=SLACK)


@pytest.mark.parametrize("expandable", [False, True])
def test_memory_reserved_equals_the_loss_of_free_driver_memory(expandable: bool) -> None:
    settings = {"INTERLOCK_ALLOC_CONF": f"expandable_segments:{expandable}"}
    *compared, virtual = processes.value("kernels.memory_reserved_and_used", LARGE, more=settings)
    if expandable and virtual == "no":
        pytest.skip("this device has no virtual memory")
    # The segment of the kernels' cell is reserved before and stays.
    cell = compared[-1][0]
    assert cell <= 20 * MIB
    expected = [2 * LARGE, 2 * LARGE, LARGE, 0]
    assert [reserved - cell for reserved, _ in compared] == expected
    for (_, taken), wanted in zip(compared, expected, strict=True):
        assert taken == pytest.approx(wanted, abs=SLACK)


def test_expandable_segment_keeps_its_contents_when_it_grows() -> None:
    settings = {"INTERLOCK_ALLOC_CONF": "expandable_segments:True"}
    right, segments, virtual = processes.value("kernels.memory_in_a_segment_that_grows", more=settings)
    if virtual == "no":
        pytest.skip("this device has no virtual memory")
    assert right == [True] * 5
    assert segments == 1


def test_set_limit_refuses_before_the_driver_is_called(library: Library) -> None:
    memory.set_limit(LARGE)
    try:
        before = library.memory_info()[0]
        with pytest.raises(OutOfMemoryError, match="set_limit") as caught:
            Buffer(LARGE + 1)
        assert (caught.value.limit, caught.value.requested) == (LARGE, LARGE + 1)
        assert library.memory_info()[0] == pytest.approx(before, abs=SLACK)
        assert Buffer(LARGE).nbytes == LARGE
    finally:
        memory.set_limit(None)


def test_out_of_memory_error_names_the_total_of_the_device(
    devices: tuple[str, ...], library: Library
) -> None:
    kept = Buffer(2 * MIB)
    free, total = library.memory_info()
    with pytest.raises(OutOfMemoryError, match=devices[0]) as caught:
        Buffer(total)
    error = caught.value
    assert (error.requested, error.allocated, error.limit) == (total, kept.nbytes, None)
    assert error.free == pytest.approx(free, abs=SLACK)
    assert str(error.device) == devices[0]


def test_full_device_raises_and_stays_usable(library: Library) -> None:
    Buffer(MIB).close()
    accelerator.empty_cache()
    free, _ = library.memory_info()
    piece = free // 8 // (2 * MIB) * (2 * MIB)
    kept: list[Buffer] = []

    def fill() -> None:
        while True:
            kept.append(Buffer(piece))

    with pytest.raises(OutOfMemoryError) as caught:
        fill()
    error = caught.value
    assert 6 <= len(kept) <= 8
    assert (error.requested, error.rounded) == (piece, piece)
    assert error.allocated == error.reserved == len(kept) * piece
    assert error.free is not None
    assert error.free < 2 * piece

    def make_room(_: OutOfMemoryError) -> bool:
        kept.pop().close()
        return True

    with memory.on_oom(make_room):
        assert Buffer(piece).fill_(7).nbytes == piece, "the callback freed memory"
    accelerator.synchronize()
    kept.clear()
    accelerator.empty_cache()
    assert library.memory_info()[0] == pytest.approx(free, abs=SLACK)

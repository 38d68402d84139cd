"""Copies and fills of buffers in stream order."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import pickle
from typing import Any

import interlock
import pytest
from interlock import Stream, accelerator, errors
from interlock.accelerator.memory import Buffer, copy_, fill_, get_memory_info

from tests.helpers.gate import Gate
from tests.unit.accelerator.buffers import Pinned

pytestmark = pytest.mark.usefixtures("devices")


def test_bytes_are_copied_to_a_device_to_another_and_back(two_devices: tuple[str, str]) -> None:
    here, there = (Buffer(5, device) for device in two_devices)
    back = bytearray(5)
    copy_(here, b"hello")
    copy_(there, here)
    copy_(back, there)
    assert back == b"hello"
    assert (here.nbytes, len(here), here.device) == (5, 5, interlock.device(two_devices[0]))
    assert here.data_ptr() != there.data_ptr()
    assert repr(here) == f"interlock.accelerator.memory.Buffer(5, device='{two_devices[0]}')"


@pytest.mark.parametrize(
    "source",
    [
        b"12345678",
        bytearray(b"12345678"),
        memoryview(b"12345678"),
        array.array("d", [1.5]),
    ],
    ids=lambda source: type(source).__name__,
)
def test_any_contiguous_buffer_is_a_source(source: Any) -> None:
    buffer, back = Buffer(8), memoryview(bytearray(8)).cast("B", (2, 4))
    copy_(buffer, source)
    copy_(back, buffer)
    assert back.tobytes() == bytes(memoryview(source).cast("B"))


def test_array_of_numpy_is_a_source_and_a_destination(numpy: Any) -> None:
    buffer, back = Buffer(8), numpy.zeros((2, 4), "u1")
    copy_(buffer, numpy.arange(8, dtype="u1"))
    copy_(back, buffer)
    assert back.tobytes() == bytes(range(8))


def test_copy_waits_unless_non_blocking(gate: Gate) -> None:
    stream, buffer, back = Stream(dedicated=True), Buffer(3), Pinned(bytes(3))
    copy_(buffer, b"abc")
    accelerator.launch(stream, gate)
    copy_(back.view, buffer, non_blocking=True, stream=stream)
    assert bytes(back) == b"\0\0\0"
    gate.open()
    stream.synchronize()
    assert bytes(back) == b"abc"


@pytest.mark.usefixtures("host_accessible_memory")
def test_destination_cannot_be_resized_before_the_copy_completes(gate: Gate) -> None:
    stream, buffer, back = Stream(dedicated=True), Buffer(3), bytearray(3)
    accelerator.launch(stream, gate)
    copy_(back, buffer, non_blocking=True, stream=stream)
    with pytest.raises(BufferError):
        back.append(1)
    gate.open()
    stream.synchronize()
    back.append(1)


@pytest.mark.usefixtures("host_accessible_memory")
def test_source_is_alive_until_the_copy_completes(gate: Gate) -> None:
    stream, back = Stream(dedicated=True), bytearray(1 << 20)
    buffer = Buffer(1 << 20)
    accelerator.launch(stream, gate)
    copy_(buffer, array.array("B", b"\7" * (1 << 20)), non_blocking=True, stream=stream)
    copy_(back, buffer, non_blocking=True, stream=stream)
    del buffer
    gc.collect()
    gate.open()
    stream.synchronize()
    assert back == b"\7" * (1 << 20)


def test_copy_between_devices_is_ordered_by_both_current_streams(
    two_devices: tuple[str, str], gate: Gate
) -> None:
    here, there = (Buffer(4, device) for device in two_devices)
    later = Pinned(bytes(4))
    copy_(here, b"late")
    with Stream(two_devices[1], dedicated=True) as receiving, Stream(two_devices[0], dedicated=True):
        accelerator.launch(receiving, gate)
        fill_(there, 1, stream=receiving)
        copy_(there, here, non_blocking=True)
        copy_(later.view, there, non_blocking=True)
        assert bytes(later) == bytes(4)
        gate.open()
        receiving.synchronize()
    assert bytes(later) == b"late"


def test_fill_sets_every_byte_in_the_order_of_its_stream(two_devices: tuple[str, str], gate: Gate) -> None:
    buffer, stream = Buffer(100, two_devices[1]), Stream(two_devices[1], dedicated=True)
    back = Pinned(bytes(100))
    accelerator.launch(stream, gate)
    fill_(buffer, 255, stream=stream)
    copy_(back.view, buffer, non_blocking=True, stream=stream)
    assert bytes(back) == bytes(100)
    gate.open()
    stream.synchronize()
    assert bytes(back) == b"\xff" * 100
    with pytest.raises(errors.DeviceError):
        fill_(buffer, 0, stream=Stream(two_devices[0]))
    for wrong in (256, -1, 10**30):
        with pytest.raises(errors.ArgumentError, match=f"0 to 255, got {wrong}"):
            fill_(buffer, wrong)


def test_arrays_of_objects_are_refused(numpy: Any) -> None:
    named = numpy.zeros(1, dtype=[("O", "u1"), ("rest", "u1", 7)])
    copy_(Buffer(8), named)
    wrong: Any
    for wrong in (numpy.array([None]), (ctypes.py_object * 1)(None), numpy.zeros(1, dtype=[("x", "O")])):
        with pytest.raises(TypeError, match="references"):
            copy_(wrong, Buffer(8))
        with pytest.raises(TypeError, match="references"):
            copy_(Buffer(8), wrong)


def test_copy_is_ordered_by_its_stream_argument(two_devices: tuple[str, str]) -> None:
    here, there, back = Buffer(4, two_devices[0]), Buffer(4, two_devices[1]), bytearray(4)
    for stream in (Stream(two_devices[0]), Stream(two_devices[1])):
        fill_(here, 7)
        accelerator.synchronize(two_devices[0])
        copy_(there, here, stream=stream)
        copy_(back, there)
        assert back == b"\7" * 4
    with pytest.raises(errors.DeviceError, match="on the device of a buffer"):
        copy_(back, here, stream=Stream(two_devices[1]))


def test_empty_buffers_are_supported() -> None:
    empty = Buffer(0)
    assert (empty.nbytes, empty.data_ptr()) == (0, 0)
    copy_(empty, b"")
    fill_(empty, 1)
    copy_(bytearray(), empty, non_blocking=True)


def test_copy_requires_equal_sizes_and_an_accelerator_buffer() -> None:
    with pytest.raises(errors.ArgumentError, match=r"got 4 and 3 bytes"):
        copy_(Buffer(4), b"123")
    with pytest.raises(errors.ArgumentError, match="must be a Buffer, got two objects"):
        copy_(bytearray(3), b"123")


def test_objects_without_a_buffer_are_refused() -> None:
    buffer: Any = Buffer(4)
    wrong: Any
    for wrong in (1, None, "text", [1, 2, 3, 4], object()):
        with pytest.raises(TypeError):
            copy_(buffer, wrong)
        with pytest.raises(TypeError):
            copy_(wrong, buffer)
        with pytest.raises(TypeError):
            fill_(wrong, 0)
    with pytest.raises(BufferError, match="read"):
        copy_(b"1234", buffer)
    with pytest.raises(BufferError, match="contiguous"):
        copy_(buffer, memoryview(bytes(8))[::2])
    for size in (-1, 10**30):
        with pytest.raises(errors.ArgumentError, match=f"nbytes.*{size}"):
            Buffer(size)
    for wrong in ("8", 1.5, None, True):
        with pytest.raises(TypeError):
            Buffer(wrong)


@pytest.mark.usefixtures("small_devices")
def test_device_memory_is_limited_and_released(driver: str, two_devices: tuple[str, str]) -> None:
    gc.collect()
    accelerator.empty_cache()
    free, total = get_memory_info(1)
    with pytest.raises(interlock.OutOfMemoryError, match=f"{driver}:1"):
        Buffer(total + 1, 1)
    kept = Buffer(free, 1)
    assert get_memory_info(1) == (0, total)
    with pytest.raises(MemoryError):
        Buffer(1, 1)
    del kept
    accelerator.empty_cache()
    assert get_memory_info(1) == (free, total)


def test_buffers_cannot_be_pickled_or_copied() -> None:
    for travel in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="Buffer"):
            travel(Buffer(1))

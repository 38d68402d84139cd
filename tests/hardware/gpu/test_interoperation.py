"""Memory and streams shared with PyTorch and CuPy on one device."""

from __future__ import annotations

from typing import Any

import pytest
from interlock import Stream, accelerator
from interlock.accelerator.memory import Buffer

from tests.hardware.gpu.libraries import CuPy, Library, PyTorch, StreamHandle
from tests.hardware.gpu.slow_kernel import Kernels

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("devices")]

SECONDS = 0.5


@pytest.fixture(params=[PyTorch, CuPy], ids=["PyTorch", "CuPy"])
def other(request: pytest.FixtureRequest) -> Library:
    library: Library = request.param()
    # Lazy loading at the first use may synchronize the device.
    array = library.array(b"1")
    library.fill(array, 0)
    assert library.content(array) == b"\0"
    return library


def content(buffer: Buffer) -> bytes:
    back = bytearray(buffer.nbytes)
    buffer.copy_to(back)
    return bytes(back)


@pytest.mark.parametrize("way", ["from_dlpack", "from_interface"])
def test_pytorch_reads_and_writes_a_buffer_without_copying(other: Library, way: str) -> None:
    buffer = Buffer(1000).fill_(3)
    array = getattr(other, way)(buffer)
    assert other.address(array) == buffer.data_ptr()
    assert other.content(array) == b"\3" * 1000
    other.fill(array, 9)
    accelerator.synchronize()
    assert content(buffer) == b"\x09" * 1000


def test_dlpack_tensor_outlives_the_buffer(other: Library) -> None:
    before = accelerator.memory_allocated()
    buffer = Buffer(1000).fill_(5)
    array = other.from_dlpack(buffer)
    buffer.close()
    assert accelerator.memory_allocated() == before + 1024
    elsewhere = Buffer(1000).fill_(6)
    assert other.content(array) == b"\5" * 1000
    del array, elsewhere
    assert accelerator.memory_allocated() == before


def test_dlpack_orders_the_consumer_after_queued_work(other: Library, kernels: Kernels) -> None:
    stream = Stream(dedicated=True)
    buffer = Buffer(4, stream=stream).fill_(0, stream=stream)
    kernels.spin(stream.native_handle, SECONDS, buffer.data_ptr(), 0x07070707)
    array = other.from_dlpack(buffer)
    assert not stream.query(), "the host thread does not wait"
    assert other.content(array) == b"\7" * 4


def test_dlpack_copy_has_its_own_memory(other: Library) -> None:
    buffer = Buffer(8).fill_(1)
    array = other.from_dlpack(Capsule(buffer.__dlpack__(copy=True), buffer))
    assert other.address(array) != buffer.data_ptr()
    assert other.content(array) == b"\1" * 8


class Capsule:
    """An existing capsule, for libraries that call `__dlpack__`."""

    def __init__(self, made: object, buffer: Buffer) -> None:
        self._made, self._buffer = made, buffer

    def __dlpack__(self, **_: object) -> object:
        return self._made

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._buffer.__dlpack_device__()


def test_pytorch_queues_work_on_an_interlock_stream(other: Library, kernels: Kernels) -> None:
    stream = Stream(dedicated=True)
    buffer = Buffer(4, stream=stream).fill_(0, stream=stream)
    array = other.from_dlpack(buffer)
    stream.synchronize()
    kernels.spin(stream.native_handle, SECONDS, buffer.data_ptr(), 0x07070707)
    with other.external(stream.native_handle):
        other.fill(array, 9)
    assert not stream.query()
    stream.synchronize()
    assert content(buffer) == b"\x09" * 4, "it ran after the kernel"


@pytest.mark.usefixtures("isolated_state")
def test_interlock_queues_work_on_a_pytorch_stream(other: Library, kernels: Kernels, cell: Buffer) -> None:
    theirs, waiting = other.stream(), Stream(dedicated=True)
    given: Any = theirs if hasattr(theirs, "__cuda_stream__") else StreamHandle(other.handle(theirs))
    kernels.spin(other.handle(theirs), SECONDS, cell.data_ptr(), 7)
    waiting.wait_stream(given)
    assert not waiting.query()
    cell.fill_(9, stream=given)
    assert not other.is_done(theirs)
    accelerator.set_stream(given)
    current = accelerator.current_stream()
    assert current.native_handle == other.handle(theirs)
    current.synchronize()
    assert other.is_done(theirs)
    assert content(cell) == b"\x09" * 4


def test_synchronize_waits_for_streams_of_pytorch(other: Library, kernels: Kernels, cell: Buffer) -> None:
    theirs = other.stream()
    kernels.spin(other.handle(theirs), SECONDS, cell.data_ptr(), 7)
    assert not other.is_done(theirs)
    accelerator.synchronize()
    assert other.is_done(theirs)

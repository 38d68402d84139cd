"""Buffers: lifetime, slices, and access by other libraries."""

from __future__ import annotations

import ctypes
import gc
import threading
from typing import Any

import interlock
import pytest
from interlock import Stream, accelerator, errors
from interlock.accelerator import memory
from interlock.accelerator.memory import Buffer

from tests.helpers.gate import Gate
from tests.helpers.subprocess import run_program
from tests.unit.accelerator.buffers import Pinned, content

pytestmark = pytest.mark.usefixtures("empty_cache_around")

MIB = 1 << 20
REACHED = pytest.mark.usefixtures("host_accessible_memory")


def test_buffer_is_allocated_for_a_stream(two_devices: tuple[str, str]) -> None:
    stream = Stream(two_devices[1], dedicated=True)
    for buffer in (
        Buffer(8, stream=stream),
        Buffer(8, two_devices[1], stream=stream),
        Buffer(8, 1, stream=stream),
    ):
        assert buffer.stream == stream
        assert buffer.device == interlock.device(two_devices[1])
    assert Buffer(8, two_devices[0]).stream == accelerator.current_stream(two_devices[0])
    with stream:
        assert Buffer(8).stream == stream
    for wrong in (two_devices[0], 0, "cpu"):
        with pytest.raises(errors.DeviceError):
            Buffer(8, wrong, stream=stream)
    with pytest.raises(TypeError):
        Buffer(8, stream=3)  # type: ignore[arg-type]


def test_copies_and_fills_return_the_buffer(two_devices: tuple[str, str]) -> None:
    here, there, back = Buffer(4, two_devices[0]), Buffer(4, two_devices[1]), bytearray(4)
    assert here.copy_from(b"abcd") is here
    assert here.copy_to(there) is here
    assert there.copy_to(back) is there
    assert back == b"abcd"
    assert here.fill_(9) is here
    assert content(here) == b"\x09" * 4
    with pytest.raises(errors.ArgumentError):
        here.copy_from(b"too long")
    with pytest.raises(errors.ArgumentError):
        here.fill_(256)
    with pytest.raises(errors.DeviceError):
        here.fill_(0, stream=Stream(two_devices[1]))


def test_copy_is_ordered_by_its_stream_and_waits_on_request(gate: Gate) -> None:
    stream, late, back = Stream(dedicated=True), Pinned(b"late"), Pinned(bytes(4))
    accelerator.launch(stream, gate)
    buffer = Buffer(4, stream=stream)
    buffer.copy_from(late.view, non_blocking=True, stream=stream)
    buffer.copy_to(back.view, non_blocking=True, stream=stream)
    assert bytes(back) == bytes(4)
    gate.open()
    buffer.copy_to(bytearray(4), stream=stream)
    assert bytes(back) == b"late"


def test_slice_shares_the_memory_and_keeps_it() -> None:
    buffer = Buffer(10).copy_from(b"0123456789")
    part, rest, all_of_it = buffer.slice(2, 5), buffer.slice(7), buffer[:]
    assert (content(part), content(rest), content(all_of_it)) == (b"234", b"789", b"0123456789")
    assert (part.nbytes, len(rest)) == (3, 3)
    assert part.data_ptr() == buffer.data_ptr() + 2
    part.fill_(0x78)
    assert content(buffer) == b"01xxx56789"
    assert content(part[1:].fill_(0x79)) == b"yy"
    assert content(buffer[-3:]) == content(buffer[7:100]) == content(rest)
    assert content(buffer[5:2]) == content(buffer[20:]) == content(buffer.slice(10)) == b""
    buffer.close()
    assert content(part) == b"xyy"
    assert accelerator.memory_allocated() == 512
    for each in (part, rest, all_of_it):
        each.close()
    gc.collect()
    assert accelerator.memory_allocated() == 0


def test_slice_out_of_bounds_is_refused() -> None:
    buffer = Buffer(10)
    for start, stop in ((11, None), (0, 11), (5, 4), (-1, 5), (0, -1)):
        with pytest.raises(errors.ArgumentError):
            buffer.slice(start, stop)
    for step in (2, -1):
        with pytest.raises(errors.ArgumentError, match="step"):
            buffer[::step]
    wrong: Any
    for wrong in (3, "3", None, (slice(0), slice(1))):
        with pytest.raises(TypeError):
            buffer[wrong]


def test_close_releases_the_memory_and_later_calls_raise() -> None:
    with Buffer(MIB) as buffer:
        address, other = buffer.data_ptr(), buffer
        assert not buffer.closed
    assert other.closed
    assert accelerator.memory_allocated() == 0
    assert Buffer(MIB).data_ptr() == address
    assert "closed" in repr(buffer)
    stream = Stream()
    uses: list[Any] = [
        lambda: buffer.nbytes,
        lambda: len(buffer),
        lambda: buffer.device,
        lambda: buffer.stream,
        buffer.data_ptr,
        lambda: buffer.copy_from(b""),
        lambda: buffer.copy_to(bytearray()),
        lambda: memory.copy_(bytearray(), buffer),
        lambda: buffer.fill_(0),
        lambda: buffer.slice(0),
        lambda: buffer[:],
        lambda: buffer.record_stream(stream),
        lambda: memoryview(buffer),
        buffer.__dlpack__,
        buffer.__dlpack_device__,
        buffer.__enter__,
    ]
    for use in uses:
        with pytest.raises(errors.BufferClosedError, match="closed"):
            use()
    assert issubclass(errors.BufferClosedError, ValueError)
    buffer.close()
    buffer.close(stream)


def test_close_on_a_stream_delays_reuse_until_the_stream_is_done(gate: Gate) -> None:
    own, other = Stream(dedicated=True), Stream(dedicated=True)
    buffer = Buffer(MIB, stream=own)
    address = buffer.data_ptr()
    accelerator.launch(other, gate)
    buffer.close(other)
    assert buffer.closed
    assert Buffer(MIB, stream=own).data_ptr() != address
    gate.open()
    other.synchronize()
    assert Buffer(MIB, stream=own).data_ptr() == address


@REACHED
def test_memoryview_shares_the_memory_and_keeps_the_buffer_open() -> None:
    buffer = Buffer(6).fill_(0x61)
    view = memoryview(buffer)
    assert (view.nbytes, view.format, view.readonly, view.c_contiguous) == (6, "B", False, True)
    assert bytes(view) == b"a" * 6
    view[1:3] = b"bc"
    assert bytes(buffer) == b"abcaaa"
    part = view[2:]
    view.release()
    with pytest.raises(BufferError, match="memoryview"):
        buffer.close()
    with pytest.raises(BufferError), buffer:
        pass
    assert not buffer.closed
    part.release()
    buffer.close()
    assert buffer.closed


@REACHED
def test_memoryview_waits_for_streams_that_use_the_bytes(gate: Gate) -> None:
    own, recorded, current = (Stream(dedicated=True) for _ in range(3))
    for stream in (own, recorded, current):
        held = Gate()
        buffer = Buffer(4, stream=own).fill_(0, stream=own)
        own.synchronize()
        accelerator.launch(stream, held)
        buffer.fill_(7, stream=stream)
        threading.Timer(0.02, held.open).start()
        with current:
            assert bytes(buffer) == b"\7" * 4


@REACHED
def test_memoryview_waits_for_a_destroyed_stream(gate: Gate) -> None:
    stream = Stream(dedicated=True)
    buffer = Buffer(4, stream=stream)
    accelerator.launch(stream, gate)
    buffer.fill_(5, stream=stream)
    del stream
    threading.Timer(0.02, gate.open).start()
    assert bytes(buffer) == b"\5" * 4


@REACHED
def test_numpy_shares_the_memory_of_a_buffer(numpy: Any) -> None:
    buffer = Buffer(8)
    through_view: Any = numpy.frombuffer(memoryview(buffer), "u4")
    through_dlpack: Any = numpy.from_dlpack(buffer)
    assert (through_dlpack.shape, through_dlpack.dtype) == ((8,), numpy.dtype("u1"))
    through_view[:] = (1, 2)
    assert through_dlpack.tobytes() == numpy.array([1, 2], "u4").tobytes()
    assert through_dlpack.ctypes.data == through_view.ctypes.data == buffer.data_ptr()
    part: Any = numpy.from_dlpack(buffer[4:])
    assert part.ctypes.data == buffer.data_ptr() + 4
    assert numpy.from_dlpack(Buffer(0)).shape == (0,)
    del through_view


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Unversioned(ctypes.Structure):
    _fields_ = (("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


def taken(capsule: object, name: bytes) -> Any:
    """Return the tensor in a capsule, and rename the capsule as a consumer does."""
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
    pointer = api.PyCapsule_GetPointer(capsule, name)
    api.PyCapsule_SetName(capsule, USED[name])
    kind = Versioned if name == b"dltensor_versioned" else Unversioned
    return ctypes.cast(pointer, ctypes.POINTER(kind))


# The names must outlive the capsules.
USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


@pytest.mark.parametrize(
    ("named", "name"),
    [
        ({}, b"dltensor"),
        ({"max_version": (0, 8)}, b"dltensor"),
        ({"max_version": (1, 0)}, b"dltensor_versioned"),
        ({"max_version": (2, 1), "copy": True}, b"dltensor_versioned"),
    ],
)
def test_dlpack_capsule_owns_the_memory_until_it_is_consumed_or_dropped(
    driver: str, named: dict[str, Any], name: bytes
) -> None:
    buffer = Buffer(1000).fill_(3)
    address, is_copy = buffer.data_ptr(), "copy" in named
    unused = buffer.__dlpack__(**named)
    used = buffer.__dlpack__(**named)
    buffer.close()
    assert accelerator.memory_allocated() == (2048 if is_copy else 1024)
    managed = taken(used, name)
    tensor = managed.contents.tensor
    assert (tensor.data == address) is not is_copy
    kind = 2 if driver == "cuda" else 1
    assert (tuple(tensor.device), tensor.ndim, bytes(tensor.dtype)) == ((kind, 0), 1, b"\x01\x08\x01\x00")
    assert (tensor.shape[0], tensor.strides[0], tensor.byte_offset) == (1000, 1, 0)
    if driver == "host":
        assert ctypes.string_at(tensor.data, 1000) == b"\3" * 1000
    if name == b"dltensor_versioned":
        assert tuple(managed.contents.version) == (1, 0)
        assert managed.contents.flags == (2 if is_copy else 0)
    del used
    gc.collect()
    if driver == "host":
        assert ctypes.string_at(tensor.data, 1000) == b"\3" * 1000, "the consumer owns it now"
    del unused
    assert accelerator.memory_allocated() == 1024
    # ctypes releases the GIL during the call.
    releasing = threading.Thread(
        target=managed.contents.deleter, args=(ctypes.cast(managed, ctypes.c_void_p),)
    )
    releasing.start()
    releasing.join()
    assert accelerator.memory_allocated() == 0


@REACHED
def test_dlpack_waits_for_streams_and_refuses_wrong_arguments(gate: Gate, numpy: Any) -> None:
    stream = Stream(dedicated=True)
    buffer = Buffer(4, stream=stream).fill_(0, stream=stream)
    stream.synchronize()
    accelerator.launch(stream, gate)
    buffer.fill_(7, stream=stream)
    at_once: Any = taken(buffer.__dlpack__(stream=-1), b"dltensor")
    assert ctypes.string_at(at_once.contents.tensor.data, 4) == bytes(4), "-1 means no synchronization"
    threading.Timer(0.02, gate.open).start()
    assert numpy.from_dlpack(buffer).tobytes() == b"\7" * 4
    at_once.contents.deleter(ctypes.cast(at_once, ctypes.c_void_p))
    assert buffer.__dlpack_device__() == (1, 0)
    for handle in (0, 1, 2, -2, 7):
        with pytest.raises(errors.ArgumentError, match="stream"):
            buffer.__dlpack__(stream=handle)
    with pytest.raises(BufferError, match="DLPack device"):
        buffer.__dlpack__(dl_device=(2, 0))
    assert buffer.__dlpack__(dl_device=(1, 0), copy=False) is not None


def test_cuda_array_interface_exists_only_for_cuda_buffers(driver: str) -> None:
    buffer = Buffer(4)
    if driver == "cuda":
        interface = buffer.__cuda_array_interface__
        assert (interface["shape"], interface["data"]) == ((4,), (buffer.data_ptr(), False))
        return
    assert not hasattr(buffer, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="host"):
        buffer.__cuda_array_interface__  # noqa: B018


def test_close_by_several_threads_releases_the_memory_once() -> None:
    for _ in range(50):
        buffer = Buffer(MIB)
        threads = [threading.Thread(target=buffer.close) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert buffer.closed
    assert accelerator.memory_stats()["allocation.all.freed"] == 50
    assert accelerator.memory_allocated() == 0


@pytest.mark.usefixtures("numpy")
def test_exit_with_live_views_and_capsules_does_not_crash() -> None:
    done = run_program("accelerator.exits.exit_with_live_views_and_capsules_does_not_crash")
    assert (done.code, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.usefixtures("devices")
@REACHED
def test_exit_of_a_viewed_buffer_hides_no_exception() -> None:
    buffer = Buffer(4)
    view = memoryview(buffer)

    def leave(raised: bool) -> None:
        with buffer:
            if raised:
                raise ValueError("the program's")

    with pytest.raises(ValueError, match="the program's"):
        leave(raised=True)
    assert not buffer.closed
    with pytest.raises(BufferError, match="1 of its views"):
        leave(raised=False)
    view.release()
    buffer.close()

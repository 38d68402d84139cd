"""Tensors are exchanged with other libraries through DLPack, on the CPU and on devices."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import accelerator, errors

from tests.helpers.gate import Gate

ALL = (
    interlock.bool,
    interlock.int64,
    interlock.float16,
    interlock.bfloat16,
    interlock.float32,
    interlock.float64,
)


class Exported:
    """An object of another library that exports what a tensor does, so that the protocol is used."""

    def __init__(self, tensor: interlock.Tensor) -> None:
        self.tensor = tensor
        self.requested: dict[str, Any] = {}

    def __dlpack__(self, **arguments: Any) -> object:
        self.requested = arguments
        return self.tensor.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(), (0,), (3, 2), (2, 0, 3)])
def test_every_dtype_and_shape_is_exchanged_without_a_copy(
    dtype: interlock.dtype, shape: tuple[int, ...]
) -> None:
    x = interlock.ones(shape, dtype=dtype)
    y = interlock.from_dlpack(Exported(x))
    assert (y.dtype, y.shape, y.tolist()) == (dtype, x.shape, x.tolist())
    x.zero_()
    assert y.tolist() == x.tolist()


def test_strides_and_offsets_are_exchanged() -> None:
    x = interlock.arange(12).view(3, 4)
    for view in (x.t(), x[1:, ::2], x[0].expand(2, 4)):
        y = interlock.from_dlpack(Exported(view))
        assert (y.tolist(), y.data_ptr()) == (view.tolist(), view.data_ptr())


def test_arrays_are_exchanged_in_both_directions() -> None:
    array = np.arange(6, dtype=np.float16).reshape(2, 3).T
    x = interlock.from_dlpack(array)
    assert (x.dtype, x.stride()) == (interlock.float16, (1, 3))
    x.add_(1)
    assert array[0, 0] == 1
    back: Any = np.from_dlpack(x)
    assert (back.dtype, back.tolist()) == (np.float16, x.tolist())
    x.zero_()
    assert not back.any()


def test_memory_lives_as_long_as_its_last_user() -> None:
    array = np.ones(1000, dtype=np.float32)
    alive = weakref.ref(array)
    x = interlock.from_dlpack(array)
    view = x[10:]
    del array, x
    gc.collect()
    assert alive() is not None
    assert view.sum().item() == 990.0
    del view
    gc.collect()
    assert alive() is None


def test_read_only_memory_is_copied_unless_that_is_forbidden() -> None:
    array = np.ones(3)
    array.flags.writeable = False
    x = interlock.from_dlpack(array)
    x.zero_()
    assert array.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(BufferError, match="read-only"):
        interlock.from_dlpack(array, copy=False)


def test_copy_is_made_once_by_whoever_can() -> None:
    x = interlock.ones(3)
    exported = Exported(x)
    y = interlock.from_dlpack(exported, copy=True)
    assert exported.requested["copy"] is True
    assert y.data_ptr() != x.data_ptr()
    assert interlock.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert interlock.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
    capsule = x.__dlpack__()
    assert interlock.from_dlpack(capsule, copy=True).data_ptr() != x.data_ptr()


def test_producer_from_before_version_1_is_called_without_arguments() -> None:
    class Old:
        def __dlpack__(self) -> object:
            return interlock.ones(2).__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert interlock.from_dlpack(Old()).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="copy"):
        interlock.from_dlpack(Old(), copy=True)


def test_capsule_is_consumed_once() -> None:
    for arguments in ({}, {"max_version": (1, 0)}):
        capsule = interlock.ones(2).__dlpack__(**arguments)  # type: ignore[arg-type]
        assert interlock.from_dlpack(capsule).tolist() == [1.0, 1.0]
        with pytest.raises(BufferError, match="not consumed"):
            interlock.from_dlpack(capsule)


def test_tensors_that_require_grad_are_not_exchanged() -> None:
    x = interlock.ones(2, requires_grad=True)
    with pytest.raises(
        BufferError, match=r"__dlpack__: the tensor must not require grad; detach\(\) it first"
    ):
        x.__dlpack__()
    with pytest.raises(BufferError, match="from_dlpack: the tensor must not require grad"):
        interlock.from_dlpack(x)
    with interlock.no_grad():
        assert not interlock.from_dlpack(x).requires_grad


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="from_dlpack: ext_tensor must be an object with __dlpack__"):
        interlock.from_dlpack([1.0])
    with pytest.raises(TypeError, match=r"from_dlpack: the dtype must be .* got DLPack type code 1, 32 bits"):
        interlock.from_dlpack(np.ones(2, dtype=np.uint32))
    with pytest.raises(BufferError, match="must not be negative"):
        interlock.from_dlpack(np.ones(3)[::-1])
    with pytest.raises(TypeError, match="from_dlpack: copy must be a bool"):
        interlock.from_dlpack(np.ones(3), copy=1)  # type: ignore[arg-type]
    with pytest.raises(errors.ArgumentError, match=r"Tensor.__dlpack__: stream"):
        interlock.ones(1).__dlpack__(stream=5)
    with pytest.raises(BufferError, match=r"dl_device must be the tensor's \(1, 0\)"):
        interlock.ones(1).__dlpack__(dl_device=(2, 0))


def test_memory_of_another_device_is_copied_if_the_cpu_is_requested() -> None:
    class Elsewhere:
        """Memory on a GPU, which its library copies to the CPU."""

        def __dlpack__(self, *, dl_device: tuple[int, int] | None = None, **_others: Any) -> object:
            assert dl_device == (1, 0)
            return interlock.ones(2).__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 1)

    assert interlock.from_dlpack(Elsewhere(), device="cpu").tolist() == [1.0, 1.0]
    with pytest.raises(BufferError, match=r"got the DLPack device \(2, 1\)"):
        interlock.from_dlpack(Elsewhere())


@pytest.mark.usefixtures("host_accessible_memory")
def test_tensor_on_a_device_is_exported_after_its_work(devices: tuple[str, ...], gate: Gate) -> None:
    x = interlock.zeros(4, device=devices[0])
    assert x.__dlpack_device__() == (1, 0)
    accelerator.launch(accelerator.current_stream(devices[0]), gate)
    x.fill_(7)
    threading.Timer(0.02, gate.open).start()
    array: Any = np.from_dlpack(x)
    assert array.tolist() == [7.0] * 4
    array[0] = 1
    assert x.cpu().tolist() == [1.0, 7.0, 7.0, 7.0]


@pytest.mark.usefixtures("host_accessible_memory")
def test_import_to_a_device_copies(devices: tuple[str, ...]) -> None:
    array = np.ones(3, dtype=np.float16)
    x = interlock.from_dlpack(array, device=devices[0])
    assert (x.device, x.dtype) == (interlock.device(devices[0]), interlock.float16)
    array[:] = 0
    assert x.tolist() == [1.0] * 3
    with pytest.raises(BufferError, match="copy must not be False"):
        interlock.from_dlpack(array, device=devices[0], copy=False)
    same = interlock.from_dlpack(x)
    assert (same.device, same.data_ptr()) == (x.device, x.data_ptr())


def test_memory_that_the_cpu_cannot_access_is_copied_to_it(devices: tuple[str, ...]) -> None:
    x = interlock.ones(3, dtype=interlock.bfloat16, device=devices[0])
    y = interlock.from_dlpack(x.__dlpack__(dl_device=(1, 0)))
    assert (y.device.type, y.dtype, y.tolist()) == ("cpu", interlock.bfloat16, [1.0] * 3)


@pytest.mark.usefixtures("host_accessible_memory")
def test_record_stream_delays_the_reuse_of_the_memory(devices: tuple[str, ...], gate: Gate) -> None:
    other = interlock.Stream(devices[0])
    x = interlock.ones(1000, device=devices[0])
    address = x.data_ptr()
    accelerator.launch(other, gate)
    x.record_stream(other)
    del x
    y = interlock.ones(1000, device=devices[0])
    assert y.data_ptr() != address
    gate.open()
    other.synchronize()
    del y
    addresses = {interlock.ones(1000, device=devices[0]).data_ptr() for _ in range(3)}
    assert len(addresses) < 3


def test_record_stream_needs_memory_that_streams_use(devices: tuple[str, ...]) -> None:
    stream = interlock.Stream(devices[0])
    interlock.ones(2, pin_memory=True).record_stream(stream)
    with pytest.raises(
        RuntimeError, match="record_stream: the tensor must be on a device or in pinned memory"
    ):
        interlock.ones(2).record_stream(stream)
    with pytest.raises(TypeError, match="a Stream"):
        interlock.ones(2, device=devices[0]).record_stream(3)  # type: ignore[arg-type]

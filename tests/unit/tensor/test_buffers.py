"""The buffers that tensors export and import, at the level of the C interface."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import interlock
import numpy as np
import pytest

from tests.helpers.subprocess import Result, run_program

SIMPLE, WRITABLE, FORMAT, ND, STRIDES, INDIRECT = 0, 0x1, 0x4, 0x8, 0x18, 0x118
C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS = 0x38, 0x58, 0x98


class View(ctypes.Structure):
    """`Py_buffer`."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    )


def exported(given: object, flags: int) -> tuple[Any, ...]:
    """Return the reply to a request: length, item size, dimensions, format, shape and strides."""
    view = View()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(given), ctypes.byref(view), flags)
    try:
        shape = tuple(view.shape[: view.ndim]) if view.shape else None
        strides = tuple(view.strides[: view.ndim]) if view.strides else None
        return view.len, view.itemsize, view.ndim, view.format, shape, strides
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


SHAPES: dict[str, Callable[[Any], Any]] = {
    "number": lambda ones: ones(()),
    "vector": lambda ones: ones(6),
    "matrix": lambda ones: ones(2, 3),
    "transposed": lambda ones: ones(2, 3).T,
    "cube": lambda ones: ones(2, 3, 4),
    "reversed cube": lambda ones: ones(2, 3, 4).T,
    "columns": lambda ones: ones(4, 4)[:, ::2],
    "empty": lambda ones: ones(0, 3),
}
LAYOUTS = [ND, STRIDES, C_CONTIGUOUS, F_CONTIGUOUS, ANY_CONTIGUOUS, INDIRECT, C_CONTIGUOUS | F_CONTIGUOUS]


@pytest.mark.parametrize("shape", SHAPES)
def test_buffer_request_with_a_shape_matches_numpy(shape: str) -> None:
    tensor = SHAPES[shape](interlock.ones)
    array = SHAPES[shape](lambda *sizes: np.ones(interlock.ones(*sizes).shape, np.float32))
    for layout in LAYOUTS:
        for other in (0, WRITABLE, FORMAT, WRITABLE | FORMAT):
            try:
                expected = exported(array, layout | other)
            except ValueError:
                with pytest.raises(BufferError):
                    exported(tensor, layout | other)
                continue
            found = exported(tensor, layout | other)
            # Strides of an array without elements are arbitrary.
            assert found[:5] == expected[:5]
            assert found[5] == expected[5] or shape == "empty"


@pytest.mark.parametrize("shape", SHAPES)
def test_buffer_request_without_a_shape_gives_bytes(shape: str) -> None:
    tensor = SHAPES[shape](interlock.ones)
    for flags in (SIMPLE, WRITABLE):
        if not tensor.is_contiguous():
            with pytest.raises(BufferError):
                exported(tensor, flags)
            continue
        assert exported(tensor, flags) == (tensor.nbytes, 1, 1, None, None, None)
        assert exported(tensor, flags | FORMAT) == (tensor.nbytes, 1, 1, b"B", None, None)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="objects have __buffer__ since Python 3.12")
def test_buffer_method_supports_every_request() -> None:
    for shape in SHAPES:
        tensor = SHAPES[shape](interlock.ones)
        for layout in (SIMPLE, *LAYOUTS):
            for other in (0, WRITABLE, FORMAT):
                try:
                    view = tensor.__buffer__(layout | other)
                except BufferError:
                    continue
                assert view.nbytes == tensor.nbytes
                assert len(view.tobytes()) == tensor.nbytes
                view.release()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="objects have __buffer__ since Python 3.12")
def test_buffer_method_of_accelerator_memory_supports_every_request() -> None:
    assert run_program("tensor.values.buffer_method_of_accelerator_memory").code == 0


class Lying(np.ndarray[Any, Any]):
    """An array whose Python attributes do not describe its memory."""

    shape = property(lambda self: (10**8,))  # type: ignore[assignment]
    strides = property(lambda self: (8,))  # type: ignore[assignment]
    nbytes = property(lambda self: 8 * 10**8)  # type: ignore[assignment]
    flags = property(lambda self: None)  # type: ignore[assignment]
    __array_interface__ = property(  # type: ignore[assignment]
        lambda self: {"typestr": "<f8", "data": (8, False), "shape": (10**8,), "version": 3}
    )

    def copy(self, order: Any = "C") -> Any:
        return self


IMPORTS: dict[str, Callable[[Any], interlock.Tensor]] = {
    "from_numpy": interlock.from_numpy,
    "as_tensor": interlock.as_tensor,
    "tensor": interlock.tensor,
}


@pytest.mark.parametrize("name", IMPORTS)
def test_array_subclass_that_overrides_attributes_is_read_by_its_buffer(name: str) -> None:
    array = np.arange(3.0).view(Lying)
    assert IMPORTS[name](array).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", IMPORTS)
def test_read_only_array_whose_copy_is_itself_is_copied(name: str) -> None:
    array = np.arange(3.0).view(Lying)
    array.setflags(write=False)
    tensor = IMPORTS[name](array)
    tensor.add_(1)
    assert tensor.tolist() == [1, 2, 3]
    assert np.asarray(memoryview(array)).tolist() == [0, 1, 2]


def test_array_subclass_is_an_index_by_its_buffer() -> None:
    index = np.array([2, 0]).view(Lying)
    assert interlock.arange(3)[index].tolist() == [2, 0]


def test_object_that_only_claims_to_be_an_array_is_refused() -> None:
    class Claims:
        __class__ = np.ndarray  # type: ignore[assignment]
        __array_interface__: ClassVar = {"typestr": "<f8", "data": (8, False), "shape": (3,), "version": 3}
        shape, strides, dtype = (3,), (8,), np.dtype("f8")

    with pytest.raises(TypeError):
        interlock.from_numpy(Claims())  # type: ignore[arg-type]


def test_read_only_arrays_of_every_layout_are_copied_in_row_major_order() -> None:
    base = np.arange(24.0).reshape(2, 3, 4)
    broadcast = np.broadcast_to(np.arange(3), (2, 3))
    for array in (
        base.T,
        base[:, ::-1],
        base[::-1, :, ::2],
        base[0, 0, 0:0],
        broadcast,
        base[1, 1, 1:2][0:1],
    ):
        given = array.view()
        given.setflags(write=False)
        tensor = interlock.from_numpy(given)
        assert tensor.is_contiguous()
        assert tensor.tolist() == array.tolist()


def test_array_of_a_type_without_a_buffer_format_is_refused() -> None:
    for array in (np.array(["2020-01-01"], "M8[D]"), np.ones(2, ">f8"), np.ones(2, ">f2"), np.ones(2, "u8")):
        error = TypeError if array.dtype.isnative else ValueError
        with pytest.raises(error, match="the dtype of the array must be"):
            interlock.from_numpy(array)


def test_accelerator_copy_accepts_an_array_without_dimensions() -> None:
    assert run_program("tensor.values.accelerator_copy_of_an_array_without_dimensions") == Result(0, "", "")

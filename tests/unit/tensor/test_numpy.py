"""Conversions from and to NumPy."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import interlock
import numpy as np
import pytest

from tests.helpers.subprocess import run_program


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_from_numpy_and_numpy_share_memory(dtype: str) -> None:
    array = np.zeros((2, 3), dtype=dtype)
    tensor = interlock.from_numpy(array.T)
    tensor[2, 1] = 1
    assert array[1, 2] == 1
    array[0, 0] = 1
    assert tensor[0, 0].item() == 1
    back = tensor.numpy()
    assert (back.dtype, back.shape, back.strides) == (array.dtype, (3, 2), array.T.strides)
    back[:] = 0
    assert not array.any()
    assert tensor.data_ptr() == array.ctypes.data


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1), (5,)])
def test_numpy_round_trip_keeps_every_shape(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).standard_normal(shape)
    array = np.asarray(array)
    for made in [interlock.from_numpy(array), interlock.tensor(array)]:
        assert made.shape == shape
        np.testing.assert_array_equal(np.asarray(made), array)


def test_copy_has_its_own_memory() -> None:
    array = np.ones(2)
    tensor = interlock.tensor(array)
    tensor.zero_()
    assert array.tolist() == [1.0, 1.0]
    assert np.array(tensor).base is None
    assert np.asarray(tensor, dtype=np.float32).dtype == np.float32


def test_read_only_and_unaligned_arrays_are_copied() -> None:
    fixed = np.ones(2)
    fixed.flags.writeable = False
    interlock.from_numpy(fixed).zero_()
    assert fixed.tolist() == [1.0, 1.0]
    unaligned = np.frombuffer(bytearray(17), dtype=np.uint8)[1:].view(np.float64)
    assert interlock.from_numpy(unaligned).add_(1).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "dtype", ["uint16", "uint32", "float128", "complex64", "U1", "datetime64[s]", "O", "f8,i8"]
)
def test_types_that_are_not_supported_are_named(dtype: str) -> None:
    for function in (interlock.from_numpy, interlock.tensor):
        with pytest.raises(TypeError, match="int32, int16, int8, uint8 or bool"):
            function(np.zeros(2, dtype=dtype))


@pytest.mark.parametrize("dtype", ["f8", "i2", "c8", "U1", "M8[s]"])
def test_byte_order_of_another_machine_is_no_error_of_the_type(dtype: str) -> None:
    foreign = np.zeros(2, dtype=np.dtype(dtype).newbyteorder())
    for function in (interlock.from_numpy, interlock.tensor):
        with pytest.raises(ValueError, match="in this machine's byte order, got"):
            function(foreign)


def test_strides_that_are_not_supported_are_named() -> None:
    with pytest.raises(ValueError, match="-8"):
        interlock.from_numpy(np.ones(3)[::-1])
    with pytest.raises(ValueError, match="9"):
        interlock.from_numpy(np.zeros(3, dtype=[("a", "f8"), ("b", "i1")])["a"])


@pytest.mark.parametrize("array", [np.ones(0)[::-1], np.ones(1)[::-1], np.ones((2, 1, 3))[:, ::-1]])
def test_strides_of_dimensions_of_size_zero_or_one_are_ignored(array: Any) -> None:
    tensor = interlock.from_numpy(array)
    assert (tensor.shape, tensor.tolist()) == (array.shape, array.tolist())
    if tensor.numel():
        assert tensor.data_ptr() == array.ctypes.data
        assert tensor.add_(1).tolist() == array.tolist()


def test_array_without_dimensions_is_shared() -> None:
    array = np.array(2.0)
    interlock.from_numpy(array).add_(1)
    assert array == 3.0


def test_field_of_a_record_is_shared_if_its_elements_fit() -> None:
    records = np.zeros(3, dtype=[("a", "f8"), ("b", "i8")])
    interlock.from_numpy(records["b"]).add_(interlock.tensor([1, 2, 3]))
    assert records["b"].tolist() == [1, 2, 3]
    assert not records["a"].any()


def overlaps() -> list[tuple[slice, slice]]:
    return [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(0, 4), slice(4, 8)),
        (slice(0, 8, 2), slice(1, 8, 2)),
        (slice(1, 4), slice(2, 8, 2)),
    ]


@pytest.mark.parametrize(("target", "source"), overlaps())
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_arrays_that_overlap_are_read_before_they_are_written(
    target: slice, source: slice, dtype: str
) -> None:
    expected, array = np.arange(8, dtype=dtype), np.arange(8, dtype=dtype)
    for _ in range(3):
        target_tensor, source_tensor = (
            interlock.from_numpy(array[target]),
            interlock.from_numpy(array[source]),
        )
        target_tensor.add_(source_tensor)
        expected[target] += expected[source]
        assert array.tolist() == expected.tolist()
        target_tensor.copy_(source_tensor)
        expected[target] = expected[source].copy()
        assert array.tolist() == expected.tolist()
        target_tensor[...] = source_tensor * target_tensor
        expected[target] = expected[source] * expected[target]
        assert array.tolist() == expected.tolist()


def test_tensor_and_an_array_of_it_overlap_too() -> None:
    tensor = interlock.arange(6.0)
    array = tensor.numpy().copy()
    tensor[1:].add_(interlock.from_numpy(tensor.numpy()[:-1]))
    array[1:] += array[:-1].copy()
    assert tensor.tolist() == array.tolist()


@pytest.mark.parametrize("wrong", [None, 1, [1.0], "a", memoryview(b"12345678"), interlock.ones(1)])
def test_from_numpy_refuses_other_objects(wrong: Any) -> None:
    with pytest.raises(TypeError, match="ndarray"):
        interlock.from_numpy(wrong)


def test_tensor_that_requires_grad_gives_no_array() -> None:
    x = interlock.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    with pytest.raises(BufferError, match="detach"):
        memoryview(x)  # type: ignore[arg-type]
    assert x.numpy(force=True).tolist() == x.detach().numpy().tolist() == [1.0, 1.0]


def test_array_is_released_with_its_tensor() -> None:
    class Array(np.ndarray[Any, Any]):
        pass

    array = np.ones(3).view(Array)
    alive = weakref.ref(array)
    tensor = interlock.from_numpy(array)[1:]
    del array
    gc.collect()
    assert alive() is not None
    assert tensor.tolist() == [1.0, 1.0]
    del tensor
    gc.collect()
    assert alive() is None


def test_memory_is_released_with_the_last_view() -> None:
    array = interlock.full((1000,), 7.0).numpy()
    gc.collect()
    assert (array == 7).all()
    view = memoryview(interlock.tensor([[1, 2], [3, 4]]).t())  # type: ignore[arg-type]
    assert (view.format, view.shape, view.strides) == ("q", (2, 2), (8, 16))
    assert np.asarray(view).tolist() == [[1, 3], [2, 4]]
    with pytest.raises(BufferError):
        np.frombuffer(interlock.zeros(2, 3).t())  # type: ignore[call-overload]


def test_shared_memory_survives_the_end_of_the_interpreter() -> None:
    done = run_program("tensor.values.change_an_array_at_the_end_of_the_interpreter")
    assert done.code == 0, done.stderr


def test_numpy_is_imported_on_first_use_only() -> None:
    done = run_program("tensor.values.use_tensors_without_numpy")
    assert done.code == 0, done.stderr


ARRAYS_IN_LISTS: list[tuple[Any, Any]] = [
    ([np.arange(3, dtype="f4"), np.arange(3, 6, dtype="f4")], np.arange(6, dtype="f4").reshape(2, 3)),
    (
        [np.ones((2, 3), "i2"), np.zeros((2, 3), "i2")],
        np.stack([np.ones((2, 3), "i2"), np.zeros((2, 3), "i2")]),
    ),
    ([[np.arange(2)], [np.array([5, 6])]], np.array([[[0, 1]], [[5, 6]]])),
    ([np.arange(3), [1.5, 2.5, 3.5]], np.array([[0, 1, 2], [1.5, 2.5, 3.5]], "f4")),
    ([np.arange(6)[::2], np.arange(6)[::-2], [1, 2, 3]], np.array([[0, 2, 4], [5, 3, 1], [1, 2, 3]])),
    ([np.arange(3, dtype="u8"), np.arange(3, dtype="u2")], np.array([[0, 1, 2]] * 2)),
    ([np.array([True, False]), np.array([1, 2], "u1")], np.array([[1, 0], [1, 2]], "u1")),
    ([np.array(1.5, "f4"), 2], np.array([1.5, 2], "f4")),
    ([np.zeros((0, 3)), np.zeros((0, 3))], np.zeros((2, 0), "f4")),
    ([np.float16(1), np.float16(2)], np.array([1, 2], "f2")),
    ([np.float32(1), np.float64(2), np.float32(3)], np.array([1, 2, 3], "f8")),
    ([np.int8(1), np.int16(300), np.bool_(True), 7], np.array([1, 300, 1, 7])),
]


@pytest.mark.parametrize(("data", "expected"), ARRAYS_IN_LISTS, ids=range(len(ARRAYS_IN_LISTS)))
def test_tensor_of_arrays_and_scalars_in_lists(data: Any, expected: Any) -> None:
    found = interlock.tensor(data)
    assert (found.shape, found.tolist()) == (expected.shape, expected.tolist())
    assert str(found.dtype) == f"interlock.{expected.dtype}"


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (
            [np.zeros(2), np.zeros(3)],
            ValueError,
            "tensor: data must be sequences of length 2 at depth 1, got length 3",
        ),
        (
            [np.zeros(2), np.zeros((2, 1))],
            TypeError,
            "tensor: data must be numbers at depth 2, got a sequence",
        ),
        (
            [np.zeros((2, 1)), np.zeros(2)],
            TypeError,
            "tensor: data must be sequences of length 1 at depth 2, got a number",
        ),
        (
            [np.zeros(2), 1.0],
            TypeError,
            "tensor: data must be sequences of length 2 at depth 1, got a number",
        ),
    ],
)
def test_tensor_of_arrays_of_different_shapes_names_the_depth(
    data: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        interlock.tensor(data)


@pytest.mark.parametrize(
    "rows",
    [
        [np.int64(0), np.int64(1)],
        [0, np.int32(1)],
        [np.int8(0), np.int8(-2)],
        [np.uint8(0), np.int8(1)],
        list(np.flatnonzero([1, 1, 0])),
        [np.True_, np.True_, np.False_],
    ],
    ids=repr,
)
def test_list_of_numpy_numbers_is_an_index_of_one_dimension(rows: list[Any]) -> None:
    x = interlock.arange(12).reshape(3, 4)
    expected = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(x[rows].numpy(), expected[rows])
    x[rows] = 7
    expected[rows] = 7
    np.testing.assert_array_equal(x.numpy(), expected)


def test_list_of_numpy_arrays_is_a_tuple_of_indices() -> None:
    x = interlock.arange(12).reshape(3, 4)
    assert x[[np.array(2), np.array(1)]].item() == 9
    assert x[[np.array([0, 1]), np.array([1, 0])]].tolist() == [1, 4]

"""`Tensor.resize_`, `resize_as_` and `out` tensors of another shape."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Stream, Tensor, accelerator, backends, float64
from interlock.accelerator import Graph, memory
from interlock.errors import ArgumentError, OutOfMemoryError, ShapeError, UnsupportedError

from tests.helpers.gate import Gate
from tests.helpers.subprocess import eval_program


def numbers(*shape: int) -> Tensor:
    return interlock.arange(float(np.prod(shape, dtype=int))).view(shape)


@pytest.mark.usefixtures("everywhere")
def test_elements_remain_in_memory_order() -> None:
    x = numbers(2, 3).clone()
    pointer = x.data_ptr()
    assert x.resize_(2, 2) is x
    assert (x.tolist(), x.stride(), x.data_ptr()) == ([[0, 1], [2, 3]], (2, 1), pointer)
    assert x.resize_((3, 2)).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert x.resize_([8])[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert x.resize_(size=(1, 1)).tolist() == [[0]]
    assert x.resize_(()).tolist() == 0
    assert x.resize_(0, 3).shape == (0, 3)
    assert x.resize_as_(interlock.zeros(3, 2).t()).stride() == (3, 1)
    assert interlock.resize_as_(x, interlock.zeros(1, dtype=interlock.int64)) is x
    assert x.tolist() == [0]


@pytest.mark.usefixtures("everywhere")
def test_strides_are_ignored_and_the_offset_remains() -> None:
    x = numbers(2, 3).clone()
    assert x.t().resize_(2, 2).tolist() == [[0, 1], [2, 3]]
    assert x.t().resize_(3, 2).stride() == (1, 3), "a tensor that has the shape is not changed"
    for format in (interlock.contiguous_format, interlock.preserve_format):
        assert x.t().resize_as_(interlock.zeros(3, 2), memory_format=format).stride() == (2, 1)
    with pytest.raises(UnsupportedError, match=r"^resize_as_: .*, got interlock\.channels_last"):
        x.resize_as_(x, memory_format=interlock.channels_last)
    row = x[1]
    row.resize_(2, 2)
    assert (row.storage_offset(), row[0].tolist(), row[1, 0].item()) == (3, [3, 4], 5)
    assert interlock.ones(1).expand(4).resize_(3)[0].item() == 1


@pytest.mark.usefixtures("everywhere")
def test_tensors_that_share_memory_share_it_after_it_grew() -> None:
    x = numbers(4).clone()
    view, detached = x[1:3], x.detach()
    x.resize_(9)
    assert (view.tolist(), detached.tolist()) == ([1, 2], [0, 1, 2, 3])
    x.fill_(7)
    assert (view.tolist(), detached.tolist()) == ([7, 7], [7] * 4)
    view.resize_(12).fill_(5)
    assert x.tolist() == [7, 5, 5, 5, 5, 5, 5, 5, 5]
    assert detached.data_ptr() == x.data_ptr() == view.data_ptr() - 4


@pytest.mark.usefixtures("everywhere")
def test_a_buffer_that_grows_step_by_step_keeps_its_elements() -> None:
    x = interlock.zeros(0)
    for count in range(1, 60):
        x.resize_(count)
        x[-1] = count
    assert x.tolist() == list(range(1, 60))


def test_version_changes_with_the_shape() -> None:
    x = interlock.zeros(4)
    x.resize_(4)
    assert x._version == 0
    x.resize_(2).resize_(8)
    assert x._version == 2
    y = interlock.ones(4, requires_grad=True)
    product = y * x.resize_(4)
    x.resize_(2)
    with pytest.raises(RuntimeError, match=r"saved tensor of shape .* was changed in place"):
        product.sum().backward()


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "bool"]
)
def test_new_elements_are_filled_under_determinism(dtype: str) -> None:
    kind = getattr(interlock, dtype)
    with backends.override(deterministic_algorithms=True):
        x = interlock.ones(3, dtype=kind)[1:].resize_(1).resize_(4)
        expected = interlock.empty(1, dtype=kind)
    assert x[:2].tolist() == [1, 1]
    np.testing.assert_array_equal(x[2:].tolist(), expected.tolist() * 2)


def test_tensors_that_require_grad_are_refused_in_every_mode() -> None:
    leaf = interlock.ones(3, requires_grad=True)
    base = interlock.zeros(4)
    view = base[:2]
    base.mul_(interlock.ones(4, requires_grad=True))
    for tensor in (leaf, leaf * 2, view):
        with pytest.raises(ArgumentError, match="resize_: the tensor must not require grad"):
            tensor.resize_(3)
        with interlock.no_grad(), pytest.raises(RuntimeError, match=r"resize_as_: .* must not require grad"):
            tensor.resize_as_(interlock.ones(1))
    leaf.detach().resize_(2)
    assert leaf.shape == (3,)


def test_inference_tensors_are_resized_in_inference_mode() -> None:
    with interlock.inference_mode():
        x = interlock.ones(2)
        y = x.resize_(3)
    assert y.is_inference()
    with pytest.raises(RuntimeError, match="cannot be changed in place outside of inference_mode"):
        x.resize_(1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: x.resize_(),
            TypeError,
            "resize_: size must be ints, or one tuple or list of them, got nothing",
        ),
        (lambda x: x.resize_(-1, 2), ArgumentError, "resize_: size must not be negative, got -1"),
        (
            lambda x: x.resize_(2.0),
            TypeError,
            "resize_: size must be an int, a tuple of ints or a list of ints, got float",
        ),
        (
            lambda x: x.resize_(True),
            TypeError,
            "resize_: size must be an int, a tuple of ints or a list of ints, got bool",
        ),
        (lambda x: x.resize_(2, size=(2,)), TypeError, "resize_: size must be passed once"),
        (lambda x: x.resize_(2**62, 4), ShapeError, "more elements than can be addressed"),
        (lambda x: x.resize_(2**58), OutOfMemoryError, "tried to allocate"),
        (lambda x: x.resize_as_((2, 3)), TypeError, "resize_as_: the_template must be a Tensor, got tuple"),
        (lambda x: interlock.resize_as_(3, x), TypeError, "resize_as_: input must be a Tensor, got int"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_are_refused_without_effect(
    call: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    x = interlock.ones(2)
    with pytest.raises(error, match=message):
        call(x)
    assert (x.tolist(), x._version) == ([1, 1], 0)


SHARED: dict[str, Callable[[], tuple[Tensor, object]]] = {
    "from_numpy": lambda: (interlock.from_numpy(array := np.ones(3)), array),
    "numpy": lambda: (x := interlock.ones(3), x.numpy()),
    "memoryview": lambda: (x := interlock.ones(3), memoryview(x)),  # type: ignore[arg-type]
    "from_dlpack": lambda: (interlock.from_dlpack(array := np.ones(3)), array),
}


@pytest.mark.parametrize("name", SHARED)
def test_memory_shared_with_another_library_does_not_grow(name: str) -> None:
    x, shared = SHARED[name]()
    x.resize_(2).fill_(5)
    assert np.asarray(shared).tolist() == [5, 5, 1]
    x.resize_(3)
    with pytest.raises(RuntimeError, match="resize_: the memory must not be shared with NumPy"):
        x.resize_(4)
    with pytest.raises(RuntimeError, match="add: the memory must not be shared"):
        interlock.add(interlock.ones(4), 1, out=x)
    assert x.tolist() == [5, 5, 1]
    assert x.clone().resize_(4).shape == (4,)


def test_memory_grows_after_a_buffer_was_refused() -> None:
    x = interlock.ones(3, dtype=interlock.bfloat16)
    with pytest.raises(BufferError, match="the dtype must have a format"):
        memoryview(x)  # type: ignore[arg-type]
    assert x.resize_(4).shape == (4,)


def test_an_array_of_dlpack_keeps_the_memory_from_before() -> None:
    x = interlock.ones(3)
    array = np.from_dlpack(x)  # type: ignore[arg-type]
    x.resize_(1000).fill_(2)
    gc.collect()
    assert array.tolist() == [1, 1, 1]
    del x
    gc.collect()
    assert array.tolist() == [1, 1, 1]


def test_resize_on_a_device_is_queued_on_the_current_stream(devices: tuple[str, ...], gate: Gate) -> None:
    x = interlock.zeros(3, device=devices[0])
    accelerator.synchronize(devices[0])
    stream = Stream(devices[0])
    accelerator.launch(stream, gate)
    with stream:
        x.add_(1)
        x.resize_(200)
        x[3:].fill_(4)
    assert not stream.query()
    gate.open()
    stream.synchronize()
    assert x.tolist() == [1] * 3 + [4] * 197


def test_device_memory_is_released_with_the_last_tensor(devices: tuple[str, ...]) -> None:
    gc.collect()
    before = memory.memory_allocated(devices[0])
    x = interlock.zeros(1 << 10, device=devices[0])
    view = x[:1]
    for count in (1 << 12, 1 << 14, 1 << 16):
        x.resize_(count)
    del x
    assert memory.memory_allocated(devices[0]) > before
    del view
    assert memory.memory_allocated(devices[0]) == before


def test_a_captured_graph_resizes_at_each_replay(devices: tuple[str, ...]) -> None:
    x = interlock.zeros(2, device=devices[0])
    stream, graph = Stream(devices[0]), Graph()
    accelerator.synchronize(devices[0])
    with stream, graph:
        x.resize_(4)
        x[2:].fill_(3)
        x.add_(1)
    for _ in range(2):
        graph.replay()
        accelerator.synchronize(devices[0])
        # The copy from the memory that had two elements is a part of the graph.
        assert x.tolist() == [1, 1, 4, 4]


def test_pinned_memory_stays_pinned(devices: tuple[str, ...]) -> None:
    assert devices
    x = interlock.ones(2).pin_memory().resize_(5)
    assert x.is_pinned()
    assert x[:2].tolist() == [1, 1]


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("shape", [(2,), (5,), (3, 1), ()])
def test_out_of_another_shape_is_resized_with_a_warning(shape: tuple[int, ...]) -> None:
    out = interlock.zeros(shape)
    with pytest.warns(UserWarning, match=r"add: out had the shape \(.*\) and was resized to \(3,\)"):
        assert interlock.add(numbers(3), 1, out=out) is out
    assert (out.tolist(), out._version) == ([1, 2, 3], 1)


@pytest.mark.usefixtures("everywhere")
def test_out_without_elements_is_resized_in_its_memory() -> None:
    out = interlock.zeros(6)
    pointer = out.data_ptr()
    base = interlock.zeros(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        interlock.add(numbers(2, 2), 1, out=out.resize_(0))
        interlock.add(numbers(2, 2), 1, out=base[1:1])
        end = interlock.add(numbers(2, 2), 1, out=base[6:6])
    assert (out.tolist(), out.data_ptr()) == ([[1, 2], [3, 4]], pointer)
    assert (base.tolist(), end.tolist()) == ([0, 1, 2, 3, 4, 0], [[1, 2], [3, 4]])


def test_out_takes_the_memory_order_of_the_result() -> None:
    out = interlock.zeros(0)
    interlock.neg(numbers(3, 2).t(), out=out)
    assert (out.stride(), out.tolist()) == ((1, 2), [[0, -2, -4], [-1, -3, -5]])


def test_out_that_is_an_input_is_not_resized() -> None:
    x = interlock.ones(2, dtype=float64)
    with pytest.raises(ShapeError, match=r"out must be of shape \(3, 2\), because it is also an input"):
        interlock.add(x, interlock.ones(3, 2), out=x)
    assert (x.tolist(), x._version) == ([1, 1], 0)
    with pytest.warns(UserWarning, match="was resized"):
        interlock.add(x[1:], interlock.tensor([2.0, 3.0]), out=x[:1])
    assert x.tolist() == [3, 4], "the result is computed before it is written"


@pytest.mark.slow
def test_threads_may_resize_a_tensor_that_others_read() -> None:
    assert eval_program("tensor.threads.resize_on_threads") == []

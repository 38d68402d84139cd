"""Reads and writes of elements at the positions of an index: values, types and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Stream, Tensor, accelerator
from interlock.accelerator import Graph
from interlock.errors import AcceleratorError, ArgumentError, DTypeError, ShapeError
from interlock.nn import functional

X = [[1, 0, 3], [4, 5, 6]]
COLUMNS = [[2, 0], [1, 1]]

READS: dict[str, tuple[Callable[[Tensor], Tensor], object]] = {
    "gather": (lambda x: x.gather(1, interlock.tensor(COLUMNS)), [[3, 1], [5, 5]]),
    "gather_of_transposed": (lambda x: x.T.gather(0, interlock.tensor([[2, 0]])), [[3, 4]]),
    "index_select": (lambda x: x.index_select(1, interlock.tensor([2, 2, 0])), [[3, 3, 1], [6, 6, 4]]),
    "index_select_number": (lambda x: x.index_select(0, interlock.tensor(1)), [[4, 5, 6]]),
    "take": (lambda x: x.take(interlock.tensor([[-1, 0]])), [[6, 1]]),
    "take_of_transposed": (lambda x: x.T.take(interlock.tensor([1, 4])), [4, 3]),
    "take_along_dim": (lambda x: x.take_along_dim(interlock.tensor([[1]]), 1), [[0], [5]]),
    "take_along_all": (lambda x: x.take_along_dim(interlock.tensor([5, 0])), [6, 1]),
    "masked_select": (lambda x: x.masked_select(x.bool()), [1, 3, 4, 5, 6]),
    "masked_select_rows": (lambda x: x.masked_select(interlock.tensor([[True], [False]])), [1, 0, 3]),
    "embedding": (
        lambda x: functional.embedding(interlock.tensor([[1], [0]]), x),
        [[[4, 5, 6]], [[1, 0, 3]]],
    ),
    "index_of_strided": (lambda x: x[:, ::2][interlock.tensor([1, 0]), interlock.tensor([1, -2])], [6, 1]),
}

WRITES: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], object]] = {
    "index_add": (lambda x, v: x.index_add(0, interlock.tensor([1, 1]), v), [[1, 0, 3], [9, 9, 9]]),
    "index_add_alpha": (
        lambda x, v: x.index_add(0, interlock.tensor([0, 1]), v, alpha=2),
        [[5, 4, 7], [10, 9, 8]],
    ),
    "index_copy": (lambda x, v: x.index_copy(1, interlock.tensor([2, 0]), v[:, :2]), [[2, 0, 2], [2, 5, 3]]),
    "index_fill": (lambda x, v: x.index_fill(1, interlock.tensor([-1]), 7), [[1, 0, 7], [4, 5, 7]]),
    "index_put": (
        lambda x, v: x.index_put((interlock.tensor([0, 1]), interlock.tensor([2, -3])), v[0, :2]),
        [[1, 0, 2], [2, 5, 6]],
    ),
    "index_put_accumulate": (
        lambda x, v: x.index_put((interlock.tensor([0, 0]),), v, accumulate=True),
        [[6, 4, 6], [4, 5, 6]],
    ),
    "index_put_mask": (lambda x, v: x.index_put((x > 3,), v[0]), [[1, 0, 3], [2, 2, 2]]),
    "masked_fill": (lambda x, v: x.masked_fill(x > 3, 0), [[1, 0, 3], [0, 0, 0]]),
    "masked_fill_tensor": (
        lambda x, v: x.masked_fill(interlock.tensor([True, False, False]), v[0, 0]),
        [[2, 0, 3], [2, 5, 6]],
    ),
    "masked_scatter": (lambda x, v: x.masked_scatter(x > 3, v), [[1, 0, 3], [2, 2, 2]]),
    "masked_scatter_broadcast": (
        lambda x, v: x[0].masked_scatter(x > 3, v),
        [[1, 0, 3], [2, 2, 2]],
    ),
    "put": (lambda x, v: x.put(interlock.tensor([0, -1]), v[1, :2]), [[3, 0, 3], [4, 5, 2]]),
    "put_accumulate": (
        lambda x, v: x.put(interlock.tensor([5, 5, -1]), v[1], accumulate=True),
        [[1, 0, 3], [4, 5, 12]],
    ),
    "scatter": (lambda x, v: x.scatter(1, interlock.tensor(COLUMNS), v), [[2, 0, 2], [4, 2, 6]]),
    "scatter_number": (lambda x, v: x.scatter(1, interlock.tensor(COLUMNS), value=9), [[9, 0, 9], [4, 9, 6]]),
    "scatter_reduce_add": (
        lambda x, v: x.scatter(1, interlock.tensor(COLUMNS), v, reduce="add"),
        [[3, 0, 5], [4, 10, 6]],
    ),
    "scatter_reduce_multiply": (
        lambda x, v: x.scatter(1, interlock.tensor(COLUMNS), v, reduce="multiply"),
        [[2, 0, 6], [4, 30, 6]],
    ),
    "scatter_add": (lambda x, v: x.scatter_add(1, interlock.tensor(COLUMNS), v), [[3, 0, 5], [4, 10, 6]]),
}
V = [[2, 2, 2], [3, 2, 1]]
NUMBERS = (interlock.float32, interlock.float64, interlock.float16, interlock.bfloat16, interlock.int64)


@pytest.mark.usefixtures("everywhere", "host_accessible_memory")
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("name", READS)
def test_read_returns_the_elements_at_the_positions(name: str, dtype: interlock.dtype) -> None:
    read, expected = READS[name]
    result = read(interlock.tensor(X, dtype=dtype))
    assert (result.dtype, result.tolist()) == (dtype, expected)
    assert result.is_contiguous()


@pytest.mark.usefixtures("everywhere", "host_accessible_memory")
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("name", WRITES)
def test_write_returns_a_copy_with_the_values(name: str, dtype: interlock.dtype) -> None:
    write, expected = WRITES[name]
    x, values = interlock.tensor(X, dtype=dtype), interlock.tensor(V, dtype=dtype)
    result = write(x, values)
    assert (result.dtype, result.tolist()) == (dtype, expected)
    assert x.tolist() == X
    # A transposed tensor has other strides.
    transposed = interlock.tensor(X, dtype=dtype).T.contiguous().T
    assert write(transposed, values).tolist() == expected


IN_PLACE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "index_add_": lambda x, v: x.index_add_(0, interlock.tensor([0, 1]), v),
    "index_copy_": lambda x, v: x.index_copy_(0, interlock.tensor([0, 1]), v),
    "index_fill_": lambda x, v: x.index_fill_(0, interlock.tensor([0]), 2),
    "index_put_": lambda x, v: x.index_put_((interlock.tensor([0]),), v[0]),
    "masked_fill_": lambda x, v: x.masked_fill_(x > 3, 0),
    "masked_scatter_": lambda x, v: x.masked_scatter_(x > 3, v),
    "put_": lambda x, v: x.put_(interlock.tensor([0]), v[0, :1]),
    "scatter_": lambda x, v: x.scatter_(1, interlock.tensor(COLUMNS), v),
    "scatter_add_": lambda x, v: x.scatter_add_(1, interlock.tensor(COLUMNS), v),
}


@pytest.mark.usefixtures("everywhere", "host_accessible_memory")
@pytest.mark.parametrize("name", IN_PLACE)
def test_write_in_place_changes_the_tensor_as_a_copy(name: str) -> None:
    base = interlock.zeros(2, 6)
    x, values = base[:, ::2], interlock.tensor(V, dtype=interlock.float32)
    x.copy_(interlock.tensor(X))
    version = x._version
    copy = IN_PLACE[name](x.clone(), values)
    assert IN_PLACE[name](x, values) is x
    assert x._version == version + 1
    assert x.tolist() == copy.tolist() == base[:, ::2].tolist()
    assert base[:, 1::2].tolist() == [[0.0] * 3] * 2
    leaf = interlock.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf tensor that requires grad"):
        IN_PLACE[name](leaf, values)
    with pytest.raises(RuntimeError, match=r"share one memory location|cannot|must"):
        IN_PLACE[name](interlock.ones(1, 1).expand(2, 3), values.double())


def test_write_reads_values_that_share_memory_before_it() -> None:
    x = interlock.tensor([1.0, 2.0, 3.0])
    x.index_copy_(0, interlock.tensor([1, 2]), x[:2])
    assert x.tolist() == [1.0, 1.0, 2.0]


def test_additions_to_a_half_are_rounded_once() -> None:
    # 2049 is rounded to 2048 in float16.
    index = interlock.zeros(3, dtype=interlock.int64)
    x = interlock.tensor([2048.0], dtype=interlock.float16)
    assert x.index_add(0, index, interlock.ones(3, dtype=interlock.float16)).item() == 2052.0
    assert x.scatter_add(0, index, interlock.ones(3, dtype=interlock.float16)).item() == 2052.0


@pytest.mark.usefixtures("everywhere", "host_accessible_memory")
def test_nonzero_returns_the_coordinates() -> None:
    x = interlock.tensor(X)
    assert x.nonzero().tolist() == [[0, 0], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert [column.tolist() for column in interlock.nonzero(x, as_tuple=True)] == [
        [0, 0, 1, 1, 1],
        [0, 2, 0, 1, 2],
    ]
    assert interlock.tensor(5.0).nonzero().shape == (1, 0)
    assert interlock.tensor(0).nonzero().shape == (0, 0)
    assert interlock.tensor(float("nan")).nonzero(as_tuple=True)[0].tolist() == [0]
    assert x.nonzero().device == x.device


@pytest.mark.usefixtures("everywhere", "host_accessible_memory")
def test_one_hot_sets_the_element_of_each_class() -> None:
    assert functional.one_hot(interlock.tensor([[1], [0]])).tolist() == [[[0, 1]], [[1, 0]]]
    assert functional.one_hot(interlock.tensor([], dtype=interlock.int64), 3).shape == (0, 3)
    with pytest.raises(ArgumentError, match="num_classes must be given"):
        functional.one_hot(interlock.tensor([], dtype=interlock.int64))


def test_one_hot_rejects_classes_out_of_range() -> None:
    for classes, count in ((3, 3), (-1, 3)):
        with pytest.raises(RuntimeError, match=rf"^one_hot: tensor .* got {classes}$"):
            functional.one_hot(interlock.tensor([classes]), count)


@pytest.mark.usefixtures("everywhere", "host_accessible_memory")
@pytest.mark.parametrize("dtype", [interlock.int64, interlock.float32], ids=str)
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2, 3)], ids=str)
@pytest.mark.parametrize("size", [(), (3,), (2, 3)], ids=str)
def test_index_without_elements_may_have_any_shape(
    size: tuple[int, ...], shape: tuple[int, ...], dtype: interlock.dtype
) -> None:
    x, src = interlock.ones(size, requires_grad=True), interlock.ones(3, requires_grad=True)
    index = interlock.zeros(shape, dtype=dtype)
    read = x.gather(0, index)
    assert read.shape == shape
    written = [
        x.scatter(0, index, 5.0),
        x.scatter(0, index, src),
        x.scatter(0, index, src, reduce="add"),
        x.scatter(0, index, src, reduce="multiply").detach(),
        x.scatter_add(0, index, src),
        x.detach().clone().scatter_(0, index, src.detach()),
        x.detach().clone().scatter_add_(0, index, src.detach()),
    ]
    assert all(result.tolist() == x.tolist() for result in written)
    (written[1].sum() + written[4].sum() + read.sum()).backward()
    assert x.grad is not None
    assert src.grad is not None
    assert x.grad.tolist() == (x * 2).tolist()
    assert src.grad.tolist() == [0.0] * 3


@pytest.mark.usefixtures("everywhere", "host_accessible_memory")
@pytest.mark.parametrize("src_size", [(), (1,)], ids=str)
@pytest.mark.parametrize("index_size", [(), (1,)], ids=str)
@pytest.mark.parametrize("size", [(), (1,)], ids=str)
def test_tensor_without_dimensions_counts_as_one_with_one_dimension(
    size: tuple[int, ...], index_size: tuple[int, ...], src_size: tuple[int, ...]
) -> None:
    x, src = interlock.full(size, 3.0), interlock.full(src_size, 2.0, requires_grad=True)
    index = interlock.zeros(index_size, dtype=interlock.int64)
    assert x.gather(0, index).shape == index_size
    results = [
        x.scatter(0, index, src),
        x.scatter(0, index, src, reduce="add"),
        x.scatter(0, index, src, reduce="multiply"),
        x.scatter_add(0, index, src),
    ]
    assert [(result.shape, result.sum().item()) for result in results] == [
        (size, 2.0),
        (size, 5.0),
        (size, 6.0),
        (size, 5.0),
    ]
    assert x.index_copy(0, index, src).shape == size
    if size == src_size:
        assert x.index_add(0, index, src).shape == size
    else:
        with pytest.raises(ShapeError, match=r"^index_add: source must have"):
            x.index_add(0, index, src)
    results[3].sum().backward()
    assert src.grad is not None
    assert (src.grad.shape, src.grad.sum().item()) == (src_size, 1.0)


def test_scatter_that_multiplies_has_no_gradient() -> None:
    x = interlock.ones(3, requires_grad=True)
    result = x.scatter(0, interlock.tensor([0]), 2.0, reduce="multiply")
    assert result.requires_grad
    with pytest.raises(RuntimeError, match=r"^scatter: the operation has no gradient"):
        result.sum().backward()


ERRORS: dict[str, tuple[Callable[[Tensor], Any], type[Exception], str]] = {
    "gather": (lambda x: x.gather(1, interlock.tensor([[3]])), RuntimeError, r"^gather: index .* got 3$"),
    "negative": (lambda x: x.gather(0, interlock.tensor([[-1]])), RuntimeError, r"^gather: index .* got -1$"),
    "ndim": (lambda x: x.gather(1, interlock.tensor([0])), ShapeError, "^gather: index must have as many"),
    "larger": (
        lambda x: x.gather(1, interlock.zeros(3, 1).long()),
        ShapeError,
        "^gather: index must not be larger",
    ),
    "dtype": (
        lambda x: x.gather(1, interlock.zeros(1, 1)),
        DTypeError,
        "^gather: index must be int64 or int32, got float32",
    ),
    "dim": (
        lambda x: x.gather(2, interlock.zeros(1, 1).long()),
        IndexError,
        "^gather: dim must be from -2 to 1",
    ),
    "index_select": (
        lambda x: x.index_select(0, interlock.tensor([2])),
        IndexError,
        r"^index_select: index .* got 2$",
    ),
    "index_select_single": (
        lambda x: x[0, 0].index_select(0, interlock.tensor([0, 0])),
        ShapeError,
        "^index_select: index must have one element for a 0-d tensor",
    ),
    "take": (lambda x: x.take(interlock.tensor([-7])), IndexError, r"^take: index .* got -7$"),
    "put": (lambda x: x.put_(interlock.tensor([6]), x[0, :1]), IndexError, r"^put_: index .* got 6$"),
    "put_count": (lambda x: x.put(interlock.tensor([0]), x[0]), IndexError, "^put: source must have as many"),
    "index_add": (
        lambda x: x.index_add_(0, interlock.tensor([0, 5]), x.clone()),
        RuntimeError,
        r"^index_add_: index .* got 5$",
    ),
    "index_add_shape": (
        lambda x: x.index_add(0, interlock.tensor([1]), x),
        ShapeError,
        r"^index_add: source must be of shape \(1, 3\)",
    ),
    "index_add_dimensions": (
        lambda x: x[0, :1].index_add(0, interlock.tensor([0]), x[0, 0]),
        ShapeError,
        r"^index_add: source must have 1 dimensions, as the tensor, got shape \(\)$",
    ),
    "index_add_dtype": (
        lambda x: x.index_add(0, interlock.tensor([0, 1]), x.double()),
        DTypeError,
        "^index_add: dtypes must match, got float32 and float64$",
    ),
    "index_add_index": (
        lambda x: x.index_add(0, interlock.zeros(1, 1).long(), x.double()),
        IndexError,
        r"^index_add: index must have at most one dimension, got shape \(1, 1\)$",
    ),
    "index_copy_count": (
        lambda x: x.index_copy(0, interlock.tensor([0]), x),
        IndexError,
        "^index_copy: source must have one slice for each index, 1, got 2$",
    ),
    "index_copy_shape": (
        lambda x: x.index_copy(0, interlock.tensor([0]), x[:1, :1]),
        ShapeError,
        r"^index_copy: source must be of shape \(1, 3\)",
    ),
    "index_fill_dtype": (
        lambda x: x.index_fill(0, interlock.tensor([0]).int(), 1),
        IndexError,
        "^index_fill: index must be int64, got int32; long",
    ),
    "index_fill_dimensions": (
        lambda x: x.index_fill(0, interlock.zeros(1, 1).long(), 1),
        ShapeError,
        r"^index_fill: index must have at most one dimension, got shape \(1, 1\)$",
    ),
    "index_put": (
        lambda x: x.index_put_((interlock.tensor([2]),), x[0].clone()),
        IndexError,
        "^index_put_: index 2 is out of",
    ),
    "index_put_items": (
        lambda x: x.index_put((1,), x),
        TypeError,
        "each item must be a Tensor or None, got int$",
    ),
    "scatter": (
        lambda x: x.scatter_(0, interlock.tensor([[2]]), 1.0),
        RuntimeError,
        r"^scatter_: index .* got 2$",
    ),
    "scatter_src": (
        lambda x: x.scatter(0, interlock.zeros(2, 3).long(), x[:1]),
        ShapeError,
        "^scatter: src must be at least as large",
    ),
    "scatter_reduce": (
        lambda x: x.scatter(0, interlock.zeros(1, 1).long(), x, reduce="mean"),
        ArgumentError,
        "^scatter: reduce must be 'add', 'multiply' or None, got 'mean'$",
    ),
    "masked_fill": (
        lambda x: x.masked_fill(x, 1),
        DTypeError,
        "^masked_fill: mask must be a bool tensor, got float32",
    ),
    "masked_fill_range": (
        lambda x: x.long().masked_fill(x > 0, float("nan")),
        ArgumentError,
        "^masked_fill: value",
    ),
    "masked_scatter": (
        lambda x: x.masked_scatter(x > 0, x[0]),
        ShapeError,
        "^masked_scatter: source must have at",
    ),
    "embedding": (
        lambda x: functional.embedding(interlock.tensor([2]), x),
        IndexError,
        r"^embedding: .* got 2$",
    ),
    "padding_idx": (
        lambda x: functional.embedding(interlock.tensor([0]), x, padding_idx=2),
        ArgumentError,
        "^embedding: padding_idx must be from -2 to 1, got 2$",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_arguments_raise_and_change_nothing(name: str) -> None:
    function, error, message = ERRORS[name]
    x = interlock.tensor(X, dtype=interlock.float32)
    with pytest.raises(error, match=message):
        function(x)
    assert (x.tolist(), x._version) == (X, 0)


@pytest.mark.usefixtures("host_accessible_memory")
def test_index_out_of_bounds_on_a_device_is_an_asynchronous_error(devices: tuple[str, ...]) -> None:
    x = interlock.zeros(3, device=devices[0])
    x.index_add_(0, interlock.tensor([0, 7, 2], device=devices[0]), interlock.ones(3, device=devices[0]))
    with pytest.raises(
        AcceleratorError, match=r"index must contain positions of range\(3\), got 7"
    ) as raised:
        x.tolist()
    assert str(raised.value).count("index_add_") == 1


@pytest.mark.usefixtures("host_accessible_memory")
def test_index_and_tensor_must_be_on_one_device(devices: tuple[str, ...]) -> None:
    x = interlock.ones(3, device=devices[0])
    with pytest.raises(RuntimeError, match=r"^index_select: tensors must be on one device"):
        x.index_select(0, interlock.tensor([0]))
    assert x[interlock.tensor([2, 0])].tolist() == [1.0, 1.0], "index expressions may be on the CPU"


@pytest.mark.usefixtures("everywhere", "host_accessible_memory")
def test_embedding_gives_no_gradient_to_the_padding_row() -> None:
    weight = interlock.ones(3, 2, requires_grad=True)
    index = interlock.tensor([[0, 2], [2, 0]])
    functional.embedding(index, weight, padding_idx=-1).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]
    nan = interlock.full((2, 2, 2), float("nan"))
    (gradient,) = interlock.autograd.grad(functional.embedding(index, weight, padding_idx=2), weight, nan)
    assert str(gradient.tolist()) == "[[nan, nan], [0.0, 0.0], [0.0, 0.0]]"


def test_large_indexed_values_equal_numpys() -> None:
    random = np.random.default_rng(0)
    data, rows = random.normal(size=(300, 4000)), random.integers(0, 300, 500)
    columns = random.integers(0, 4000, (300, 4000))
    x = interlock.from_numpy(data)
    assert np.array_equal(x[interlock.from_numpy(rows)].numpy(), data[rows])
    gathered = x.gather(1, interlock.from_numpy(columns))
    assert np.array_equal(gathered.numpy(), np.take_along_axis(data, columns, 1))
    expected = data.copy()
    np.add.at(expected, rows, data[:1].repeat(500, 0))
    result = x.index_add(0, interlock.from_numpy(rows), x[:1].expand(500, 4000))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("host_accessible_memory")
def test_graph_replays_indexed_writes(devices: tuple[str, ...]) -> None:
    with interlock.device(devices[0]):
        x, values = interlock.zeros(3), interlock.ones(2)
        index = interlock.tensor([0, 2])
    stream, graph = Stream(devices[0]), Graph()
    stream.wait_stream(accelerator.current_stream(devices[0]))
    with stream, graph:
        x.index_add_(0, index, values)
        picked = x[index]
        x.scatter_add_(0, index, values.masked_fill(values > 0, 10.0))
    for value in (1.0, 2.0):
        x.zero_()
        values.fill_(value)
        stream.wait_stream(accelerator.current_stream(devices[0]))
        with stream:
            graph.replay()
            assert (picked.tolist(), x.tolist()) == ([value] * 2, [value + 10, 0.0, value + 10])
        accelerator.current_stream(devices[0]).wait_stream(stream)


def test_take_along_dim_takes_positions_modulo_the_size() -> None:
    x = interlock.tensor([5, 6, 7])
    assert x.take_along_dim(interlock.tensor([-1, 3, 7]), 0).tolist() == [7, 5, 6]
    with pytest.raises(RuntimeError, match="positions"):
        x.take_along_dim(interlock.tensor([-1])).tolist()
    with pytest.raises(IndexError, match="must have a dimension"):
        interlock.tensor(5).take_along_dim(interlock.tensor(0), 0)


@pytest.mark.parametrize("name", ["masked_scatter", "masked_scatter_"])
def test_masked_scatter_of_a_0_d_tensor_needs_elements_for_a_true_mask(name: str) -> None:
    x, none = interlock.tensor(2.0), interlock.zeros(0)
    scatter = getattr(x, name)
    assert scatter(interlock.tensor(False), none).item() == 2
    with pytest.raises(ShapeError, match=rf"^{name}: source must have at least as many elements .* 1, got"):
        scatter(interlock.tensor(True), none)
    assert scatter(interlock.tensor(False), interlock.tensor(3.0)).item() == 2
    assert scatter(interlock.tensor(True), interlock.tensor(3.0)).item() == 3


def test_masked_scatter_of_a_0_d_tensor_has_gradients() -> None:
    for size, chosen in [(0, False), (1, False), (2, True)]:
        x, source = (interlock.ones(*shape, requires_grad=True) for shape in [((),), (size,)])
        y = x.masked_scatter(interlock.tensor(chosen), source)
        assert interlock.autograd.grad(y, [x], retain_graph=True)[0].item() == (0 if chosen else 1)
        if size:
            expected = [float(chosen), 0.0][:size]
            assert interlock.autograd.grad(y, [source])[0].tolist() == expected

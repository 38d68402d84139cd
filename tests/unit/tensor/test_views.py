"""Views, indexing and in-place changes through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor
from interlock.errors import ArgumentError, DTypeError, ShapeError

from tests.unit.tensor import gradcheck

ARRAY = np.arange(24.0).reshape(2, 3, 4)

INDICES: list[Any] = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    slice(10, 20),
    slice(-(2**70), 2**70),
    (0, 1, 2),
    (slice(None), 1),
    (Ellipsis, 1),
    (1, Ellipsis),
    (Ellipsis,),
    (),
    None,
    (slice(None), None, 2),
    [1, 0, 1],
    ([0, 1], [2, 0]),
    (slice(None), [2, 0]),
    (slice(None), slice(None), [3, 0]),
    (1, [2, 0]),
    ARRAY > 5,
    (ARRAY > 5)[:, :, 0],
    (slice(None), np.array([True, False, True])),
    np.int64(1),
    range(2),
    range(0),
    (slice(None), range(2, -1, -2)),
    (0, range(1, 3)),
    ((1, 0), slice(None)),
    ([0, 1], range(2)),
    ((0, 1), (1, 2), slice(None)),
    (slice(None), ((0, 1), (1, 2))),
    (slice(None), (True, False, True)),
    ((), slice(None)),
]

pytestmark = pytest.mark.usefixtures("everywhere")


def translated(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(translated, index))
    return interlock.tensor(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_getitem_selects_the_elements_of_numpy(index: Any) -> None:
    result = interlock.tensor(ARRAY)[translated(index)]
    np.testing.assert_array_equal(result.cpu().numpy(), ARRAY[index])
    gradcheck.check(lambda x: x[translated(index)], ARRAY / 10)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_setitem_writes_the_elements_of_numpy(index: Any) -> None:
    array, tensor = ARRAY.copy(), interlock.tensor(ARRAY)
    array[index] = -1
    tensor[translated(index)] = -1
    np.testing.assert_array_equal(tensor.cpu().numpy(), array)
    values = np.random.default_rng(1).standard_normal(array[index].shape)
    if not isinstance(index, list):  # a row that is indexed twice may get either value
        array[index] = values
        tensor[translated(index)] = interlock.tensor(values)
        np.testing.assert_array_equal(tensor.cpu().numpy(), array)


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (2, IndexError),
        (-3, IndexError),
        ((0, 0, 0, 0), IndexError),
        ((Ellipsis, Ellipsis), IndexError),
        (1.5, IndexError),
        ("a", IndexError),
        (slice(None, None, -1), ValueError),
        (slice(None, None, 0), ValueError),
        (slice("a"), TypeError),
        ([5], IndexError),
        ([0.5], IndexError),
        ([True, False, True], IndexError),
        (([0, 1], [0, 1, 2]), IndexError),
        (2**70, RuntimeError),
    ],
)
def test_wrong_indices_are_errors(index: Any, error: type[Exception]) -> None:
    tensor = interlock.tensor(ARRAY)
    with pytest.raises(error):
        tensor[index]
    with pytest.raises(error):
        tensor[index] = 1
    assert tensor._version == 0
    with pytest.raises(IndexError):
        interlock.tensor(1)[0]


def test_views_share_memory_and_copies_do_not() -> None:
    x = interlock.zeros(2, 3)
    for view in [x[0], x.t(), x.view(6), x.reshape(3, 2), x.unsqueeze(0), x.expand(4, 2, 3), x.detach(), x.T]:
        before = x._version
        view[(0,) * view.ndim] = float(before + 1)
        assert x[0, 0].item() == before + 1
        assert x._version == view._version == before + 1
    for copy in [x.clone(), x.t().reshape(6), x[[0, 1]], x.double()]:
        copy.zero_()
        assert x[0, 0].item() != 0


def test_data_ptr_of_no_elements_is_0() -> None:
    x = interlock.ones(2, 3)
    assert [each.data_ptr() for each in (x[2:], x[:, 3:], interlock.ones(0), x[2:] + 1)] == [0] * 4
    assert x[1:].data_ptr() == x.data_ptr() + 3 * x.element_size()


def test_shapes_and_strides_are_reported() -> None:
    x = interlock.zeros(2, 3).t()
    assert (x.size(), x.stride(), x.numel(), x.dim(), x.is_contiguous()) == ((3, 2), (1, 3), 6, 2, False)
    assert (x.size(-1), x.stride(0), x[1:].storage_offset()) == (2, 1, 1)
    assert x.contiguous().stride() == (2, 1)
    assert x.expand(4, -1, 2).shape == (4, 3, 2)
    assert x.permute(1, 0).shape == x.transpose(0, -1).shape == (2, 3)
    assert x.unsqueeze(1).squeeze().shape == x.unsqueeze(-1).squeeze(-1).shape == (3, 2)
    with pytest.raises(IndexError, match="2"):
        x.size(2)


def test_views_that_need_a_copy_are_refused() -> None:
    x = interlock.zeros(2, 3).t()
    with pytest.raises(ShapeError, match="view"):
        x.view(6)
    for wrong in [(4,), (-1, 4), (-1, -1), (-2, 3)]:
        with pytest.raises(RuntimeError):
            x.reshape(wrong)
    with pytest.raises(RuntimeError, match="expand"):
        x.expand(2, 2)


def test_in_place_operations_return_the_tensor_itself() -> None:
    x = interlock.ones(2)
    same = x
    x += 1
    x *= interlock.tensor([2.0, 3.0])
    x -= 1
    x /= 2
    assert x is same
    assert x.add_(1, alpha=2) is x
    assert x.sub_(interlock.ones(2), alpha=0.5) is x
    assert x.tolist() == [3.0, 4.0]
    assert x._version == 6
    assert x.fill_(3).copy_(interlock.tensor([1])).zero_().tolist() == [0.0, 0.0]


def test_in_place_results_must_fit_shape_dtype_and_memory() -> None:
    x = interlock.tensor([1, 2])
    with pytest.raises(DTypeError, match=r"int64.*float32"):
        x += 0.5
    with pytest.raises(DTypeError, match=r"div_.*int64"):
        x.div_(2)
    with pytest.raises(ShapeError, match="add_"):
        x.add_(interlock.ones(2, 2, dtype=interlock.int64))
    with pytest.raises(ShapeError, match="__setitem__"):
        x[:] = interlock.zeros(4)
    with pytest.raises(RuntimeError, match="share"):
        x.expand(2, 2).add_(1)
    assert x.tolist() == [1, 2]
    assert x._version == 0


def test_gradients_flow_through_changed_views() -> None:
    def changed(x: Tensor, w: Tensor) -> Tensor:
        y = x * 2
        column = y[:, 1]
        column *= w
        y.t()[0] += column
        y[0] = w[0]
        y[[1]] = x[:1]
        return y + column.unsqueeze(1)

    gradcheck.check(changed, np.random.default_rng(2).standard_normal((3, 3)), np.array([0.5, 2.0, -1.0]))


def assign_own_elements(x: Tensor, y: Tensor) -> None:
    y[3:, 2:] = x[3:, 2:]


def assign_one(x: Tensor, y: Tensor) -> None:
    y[x.shape[0] :, 2:] = 1


EMPTY_CHANGES: dict[str, tuple[tuple[int, ...], Callable[[Tensor, Tensor], object]]] = {
    "assignment of a tensor": ((3, 4), assign_own_elements),
    "assignment of a number": ((3, 4), assign_one),
    "assignment to a tensor without rows": ((0, 4), assign_one),
    "fill_": ((3, 4), lambda x, y: y[3:, 2:].fill_(3)),
    "zero_": ((3, 4), lambda x, y: y[3:, 2:].zero_()),
    "add_": ((3, 4), lambda x, y: y[3:, 2:].add_(x[3:, 2:])),
    "mul_": ((3, 0), lambda x, y: y[1:].mul_(2)),
    "copy_": ((3, 0), lambda x, y: y[1:].copy_(x[1:] * 2)),
    "as_strided": ((3, 4), lambda x, y: y.as_strided((0, 2), (4, 1), 100).mul_(2)),
}


@pytest.mark.parametrize("name", EMPTY_CHANGES)
def test_backward_passes_a_change_of_an_empty_view_beyond_the_memory(name: str) -> None:
    shape, change = EMPTY_CHANGES[name]
    x = interlock.zeros(*shape, requires_grad=True)
    y = x * 1
    change(x, y)
    assert y.requires_grad
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == interlock.ones(*shape).tolist()


def test_as_strided_of_no_elements_accepts_any_offset() -> None:
    x = interlock.zeros(12)
    for offset in (12, 100, 2**62):
        view = x.as_strided((0, 2), (4, 1), offset)
        assert (view.shape, view.storage_offset(), view.tolist()) == ((0, 2), offset, [])
        assert (view.clone().shape, view.sum().item(), view.cpu().numpy().shape) == ((0, 2), 0, (0, 2))
    with pytest.raises(ShapeError, match="as_strided"):
        x.as_strided((1, 2), (4, 1), 11)


def test_as_strided_of_no_elements_has_a_second_derivative() -> None:
    x = interlock.ones(3, requires_grad=True)
    view = x.as_strided((0, 2), (1, 1), 7)
    (gradient,) = interlock.autograd.grad((view * view).sum(), [x], create_graph=True)
    (second,) = interlock.autograd.grad(gradient.sum(), [x], allow_unused=True, materialize_grads=True)
    assert (gradient.tolist(), second.tolist()) == ([0, 0, 0], [0, 0, 0])


def test_backward_refuses_a_change_of_memory_before_the_tensor() -> None:
    base = interlock.zeros(12)[4:].detach()
    base.as_strided((2,), (1,), 0).mul_(interlock.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="memory before the tensor"):
        base.sum().backward()


@pytest.mark.parametrize(
    ("index", "same"),
    [
        ([interlock.tensor([0, 1]), interlock.tensor([2, 0])], ([0, 1], [2, 0])),
        ([interlock.tensor(0), interlock.tensor(1)], (0, 1)),
        ([interlock.tensor([0, 1])], [0, 1]),
        ([interlock.tensor([0, 1]), 1], ([0, 1], 1)),
        ([slice(None), 0], (slice(None), 0)),
        ([..., interlock.tensor([0])], (..., [0])),
        ([None, 1], (None, 1)),
        ([[0, 1], [1, 2]], ([0, 1], [1, 2])),
        ([np.array([0, 1]), 2], ([0, 1], 2)),
    ],
    ids=str,
)
def test_index_lists_with_tensors_in_them_are_tuples(index: list[Any], same: Any) -> None:
    np.testing.assert_array_equal(interlock.tensor(ARRAY)[index].cpu().numpy(), ARRAY[same])
    tensor, array = interlock.tensor(ARRAY), ARRAY.copy()
    tensor[index], array[same] = -1, -1
    np.testing.assert_array_equal(tensor.cpu().numpy(), array)


def test_index_lists_of_more_than_31_items_are_positions() -> None:
    positions = [interlock.tensor(0), *[1] * 31]
    assert interlock.tensor(ARRAY)[positions].shape == (32, *ARRAY.shape[1:])


def test_cat_joins_tensors_of_shape_0_with_tensors_of_any_shape() -> None:
    nothing = interlock.zeros(0, dtype=interlock.float64)
    joined = interlock.cat([nothing, interlock.ones(1, 2)], 1)
    assert (joined.tolist(), joined.dtype) == ([[1.0, 1.0]], interlock.float64)
    assert interlock.cat([interlock.zeros(3, 0), nothing, interlock.zeros(3, 0)], 1).shape == (3, 0)
    assert interlock.cat([nothing, interlock.zeros(0, 2)]).shape == (0, 2)
    assert interlock.cat([nothing, nothing], 1).shape == (0,)


def test_cat_gives_gradients_of_shape_0_to_the_tensors_it_skips() -> None:
    nothing = interlock.zeros(0, requires_grad=True)
    ones = interlock.ones(1, 2, requires_grad=True)
    interlock.cat([nothing, ones], 1).sum().backward()
    assert (nothing.grad.shape, ones.grad.tolist()) == ((0,), [[1.0, 1.0]])


def test_stack_is_one_node() -> None:
    x, y = interlock.ones(2, requires_grad=True), interlock.zeros(2)
    made = interlock.stack([x, y, x * 2], dim=1)
    assert made.grad_fn is not None
    assert made.grad_fn.name() == "StackBackward0"
    nodes = [node and node.name() for node, _ in made.grad_fn.next_functions]
    assert nodes == ["AccumulateGrad", None, "MulBackward0"]
    (made * interlock.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).to(made.device)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1 + 2 * 3, 4 + 2 * 6]
    with pytest.raises(RuntimeError, match="stack: tensors must contain at least one tensor"):
        interlock.stack([])


def test_sizes_of_more_than_64_dimensions_are_refused() -> None:
    one = interlock.ones(1)
    refusals: list[Callable[[], Tensor]] = [
        lambda: interlock.zeros([1] * 65),
        lambda: interlock.full([1] * 65, 1.0),
        lambda: one.expand([1] * 65),
        lambda: one.resize_([1] * 65),
        lambda: one.view([1] * 65),
        lambda: one.as_strided([1] * 65, [1] * 65),
        lambda: interlock.stack([interlock.zeros([1] * 64)]),
    ]
    for refused in refusals:
        with pytest.raises(RuntimeError, match="at most 64 dimensions"):
            refused()
    assert interlock.zeros([1] * 64).ndim == one.expand([1] * 64).ndim == 64


def test_separated_index_tensors_become_the_first_dimensions() -> None:
    array = np.arange(24).reshape(2, 3, 4)
    x, rows, columns = interlock.tensor(array), [1, 0, 1], [3, 0, -1]
    assert x[rows, :, columns].tolist() == array[rows, :, columns].tolist()
    assert x[rows, None, [2, 0, 1]].shape == (3, 1, 4)
    assert x[[[0], [1]], ..., [2, 3]].shape == (2, 2, 3)
    x[rows, :, columns] = interlock.tensor([[-1], [-2], [-3]])
    array[rows, :, columns] = [[-1], [-2], [-3]]
    assert x.tolist() == array.tolist()
    weight = interlock.ones(2, 3, 4, requires_grad=True)
    weight[rows, :, columns].sum().backward()
    assert weight.grad is not None
    assert weight.grad[1, :, 3].tolist() == [2.0] * 3
    assert weight.grad.sum().item() == 9.0


def test_operands_that_overlap_the_target_are_read_first() -> None:
    x = interlock.arange(4.0)
    x[1:].add_(x[:-1])
    assert x.tolist() == [0.0, 1.0, 3.0, 5.0]
    x[1:].copy_(x[:-1])
    assert x.tolist() == [0.0, 0.0, 1.0, 3.0]


def test_base_of_a_view_is_the_tensor_that_is_not_a_view() -> None:
    x = interlock.ones(4).requires_grad_()
    view = x[:2]
    for each in (view, view[:1], x.t(), x.expand(2, 4), x.view_as(x), *x.split(2), x[0]):
        assert each._is_view()
        assert each._base is x
    with interlock.no_grad():
        assert x[:2]._base is x
    with interlock.inference_mode():
        assert x[:2]._base is x


def test_base_without_grad_is_the_same_tensor() -> None:
    x = interlock.ones(4)
    view = x[:2]
    base = view._base
    assert base is not None
    assert view._base is base
    base[0] = 5
    assert x.tolist() == [5.0, 1.0, 1.0, 1.0]
    assert hash(base) == hash(x)


def test_tensors_that_are_not_views_have_no_base() -> None:
    x = interlock.ones(4)
    with interlock.inference_mode():
        inference = interlock.ones(2)
        assert not inference[:1]._is_view()
    for each in (x, x[:2].detach(), x.data, x[[0]], x * 1, inference, inference[:1]):
        assert not each._is_view()
        assert each._base is None
    with pytest.raises(AttributeError):
        x._base = x  # type: ignore[misc]


def test_list_of_sequences_indexes_several_dimensions() -> None:
    # As in PyTorch; NumPy makes one array of them.
    x = interlock.tensor(ARRAY)
    for index in ([range(2), range(2)], [(0, 1), (0, 1)], [[0, 1], (0, 1)]):
        assert x[index].tolist() == ARRAY[[0, 1], [0, 1]].tolist()
    assert x[[range(2)]].shape == (2, 3, 4)


@pytest.mark.usefixtures("everywhere")
def test_range_indexes_like_the_list_of_its_numbers() -> None:
    x, y = interlock.tensor(ARRAY), interlock.tensor(ARRAY)
    ranges = (range(2), range(-1, -3, -1), range(-2, 2, 2), range(1, 0), range(0, 1, 2**70), range(2**70, 0))
    for each in ranges:
        numbers = list(each)
        assert x[each].tolist() == x[numbers].tolist()
        assert x[..., each].tolist() == x[..., numbers].tolist()
        assert x[each, None, each].tolist() == x[numbers, None, numbers].tolist()
        x[each, 1], y[numbers, 1] = 5.0, 5.0
        assert x.tolist() == y.tolist()


LONG_RANGES = {
    "range(2**40)": "index 1099511627775 is out of bounds for dimension 0 with size 2",
    "(0, range(-(2**40), 0))": "index -1099511627776 is out of bounds for dimension 1 with size 3",
    "(..., range(2**70))": "index 9223372036854775807 is out of bounds for dimension 2 with size 4",
    "[range(2**40), 0]": "index 1099511627775 is out of bounds for dimension 0 with size 2",
    "(None, range(2, 2**63, 2**62))": "index 2 is out of bounds for dimension 0 with size 2",
}


@pytest.mark.parametrize("index", LONG_RANGES)
def test_range_out_of_bounds_is_refused_before_its_numbers_are_listed(index: str) -> None:
    x = interlock.tensor(ARRAY)
    with pytest.raises(IndexError, match=f"^__getitem__: {LONG_RANGES[index]}$"):
        x[eval(index)]
    with pytest.raises(IndexError, match=f"^__setitem__: {LONG_RANGES[index]}$"):
        x[eval(index)] = 0.0


@pytest.mark.parametrize("name", ["int8", "uint8", "float16", "int16", "float32", "int32", "int64", "bool"])
@pytest.mark.parametrize("part", [slice(None), slice(8, 24), slice(16, 16)], ids=str)
def test_view_of_another_dtype_has_the_bytes_of_numpy(name: str, part: slice) -> None:
    whole = ARRAY.reshape(-1)[:, None] * [1, 2]
    x = interlock.tensor(whole)[part]
    view = x.view(getattr(interlock, name))
    expected = whole[part].view(name)
    assert (view.shape, view.dtype) == (expected.shape, getattr(interlock, name))
    np.testing.assert_array_equal(view.cpu().numpy(), expected)
    assert view.view(dtype=interlock.float64).tolist() == x.tolist()


def test_view_of_another_dtype_shares_memory_and_version_without_history() -> None:
    x = interlock.ones(2, 2, requires_grad=True)
    y = x * 1
    for view in (y.view(interlock.float64), y.view(interlock.float32)):
        assert (view.requires_grad, view._is_view(), view.data_ptr()) == (False, False, y.data_ptr())
    y.view(interlock.int32).zero_()
    assert (y.tolist(), y._version) == ([[0.0, 0.0], [0.0, 0.0]], 1)
    assert x.view(dtype=interlock.uint8).shape == (2, 8)
    right, empty = interlock.ones(3, 6)[:, 2:], interlock.ones(0, 4).view(interlock.int64)
    wide, octets = right.view(interlock.float64), right.view(interlock.uint8)
    assert (wide.shape, wide.stride(), wide.storage_offset()) == ((3, 2), (3, 1), 1)
    assert (octets.shape, octets.stride(), octets.storage_offset()) == ((3, 16), (24, 1), 8)
    assert (empty.shape, interlock.ones(()).view(interlock.int32).shape) == ((0, 2), ())


def test_view_whose_strides_or_offset_no_integer_holds_is_refused() -> None:
    x, most = interlock.zeros(4, dtype=interlock.float64), 2**60 - 1
    large = x.as_strided((1, 4), (most, 1)).view(interlock.int8)
    assert (large.shape, large.stride(), large.numel()) == ((1, 32), (most * 8, 1), 32)
    for strides, offset, argument in (
        ((most + 1, 1), 0, "each stride but the last"),
        ((1, 1), most + 1, r"storage_offset\(\)"),
    ):
        size = (1, 4) if offset == 0 else (0, 4)
        view = x.as_strided(size, strides, offset)
        message = rf"^view: {argument} must be at most {most} to view float64 as int8, got {most + 1}$"
        with pytest.raises(ArgumentError, match=message):
            view.view(interlock.int8)


def test_view_refuses_a_dtype_beside_sizes() -> None:
    x: Any = interlock.zeros(2, 3)
    for args in ((interlock.int32, 1), (1, interlock.int32), (interlock.int32, interlock.int8)):
        with pytest.raises(TypeError, match=r"^view: dtype must be passed alone, without sizes, got int32$"):
            x.view(*args)


def test_view_of_memory_that_is_not_aligned_is_refused() -> None:
    array = np.zeros(17, dtype=np.uint8)
    odd = interlock.from_numpy(array[(1 - array.ctypes.data) % 8 :][:8])
    with pytest.raises(ArgumentError, match="view: input must be in memory that is aligned for int64"):
        odd.view(interlock.int64)


def test_type_as_converts_to_the_dtype_and_device_of_another_tensor() -> None:
    x = interlock.tensor([1.5, 2.5], requires_grad=True)
    assert x.type_as(interlock.zeros(3)) is x
    double = x.type_as(interlock.zeros(1, dtype=interlock.float64))
    assert (double.dtype, double.requires_grad) == (interlock.float64, True)
    whole = x.type_as(other=interlock.tensor(0))
    assert (whole.tolist(), whole.requires_grad) == ([1, 2], False)
    other = interlock.zeros(1, dtype=interlock.float64)
    gradcheck.check(lambda x: (x * x).type_as(other), ARRAY)
    for wrong in (3, interlock.float64, None):
        with pytest.raises(TypeError, match="type_as: other must be a Tensor, got"):
            x.type_as(wrong)  # type: ignore[arg-type]


def test_type_as_moves_to_the_device_of_another_tensor(devices: tuple[str, ...]) -> None:
    there = interlock.tensor([1.5, 2.5]).type_as(interlock.zeros(1, device=devices[0], dtype=interlock.int64))
    assert (str(there.device), there.tolist()) == (devices[0], [1, 2])

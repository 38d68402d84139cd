"""The attribute `data`: memory without history, and an assignment, which replaces the data of a tensor."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import interlock
import numpy as np
import pytest
from interlock import Tensor, autograd
from interlock.errors import DTypeError, ShapeError
from interlock.nn import Parameter

from tests.helpers.subprocess import eval_program


def test_data_shares_memory_without_history() -> None:
    x = interlock.ones(2, requires_grad=True)
    x.data.mul_(3)
    assert (x.tolist(), x.data.requires_grad, (x * 2).data.grad_fn) == ([3.0, 3.0], False, None)


def test_data_has_a_version_of_its_own() -> None:
    x = interlock.ones(2, requires_grad=True)
    y = x * x
    data = x.data
    data[:1].add_(1)
    assert (x._version, data._version, x.data._version) == (0, 1, 0)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 2.0]
    y = x * x
    x.detach().add_(1)
    with pytest.raises(RuntimeError, match="was changed in place"):
        y.sum().backward()


@pytest.mark.parametrize("alias", [Tensor.detach, lambda x: x.data], ids=["detach", "data"])
def test_alias_of_an_inference_tensor_has_a_version_of_its_own(
    alias: Callable[[Tensor], Tensor],
) -> None:
    with interlock.inference_mode():
        x = interlock.ones(2)
        inside = alias(x)
    outside = alias(x)
    assert (inside.is_inference(), outside.is_inference(), outside._version) == (True, True, 0)
    with interlock.inference_mode():
        outside.add_(1)
    assert (outside._version, alias(x)._version, x.tolist()) == (1, 0, [2.0, 2.0])
    for without in (x, inside):
        with pytest.raises(RuntimeError, match="no version counter"):
            _ = without._version
    with pytest.raises(RuntimeError, match="cannot be changed in place"):
        outside.add_(1)


def test_assignment_takes_memory_layout_and_dtype() -> None:
    x, other = interlock.ones(2, 3), interlock.arange(6.0, dtype=interlock.float64).view(3, 2).t()
    x.data = other[:, 1:]
    assert (x.shape, x.stride(), x.storage_offset(), x.dtype) == ((2, 2), (1, 2), 2, interlock.float64)
    assert (x.tolist(), x.data_ptr()) == ([[2.0, 4.0], [3.0, 5.0]], other[:, 1:].data_ptr())
    other.zero_()
    assert x.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    x.fill_(7)
    assert other.tolist() == [[0.0, 7.0, 7.0], [0.0, 7.0, 7.0]]


def test_assignment_keeps_the_object_and_its_metadata() -> None:
    p = Parameter(interlock.ones(2))
    p.add_(1) if not p.requires_grad else p.data.add_(1)
    p.grad = interlock.full((2,), 5.0)
    known, identity, reference = {p: "value"}, id(p), weakref.ref(p)
    p._set_version(4)
    p.data = interlock.zeros(3, dtype=interlock.float64)
    assert (id(p), reference(), known[p], type(p)) == (identity, p, "value", Parameter)
    assert (p.requires_grad, p.is_leaf, p.grad_fn, p._version) == (True, True, None, 4)
    assert p.grad is not None
    assert p.grad.tolist() == [5.0, 5.0]


def test_version_is_not_shared_with_the_assigned_tensor() -> None:
    x, other = interlock.ones(2), interlock.ones(3)
    x.add_(1)
    other.add_(1).add_(1)
    x.data = other
    assert (x._version, other._version) == (1, 2)
    other.add_(1)
    x.detach().add_(1)
    assert (x._version, other._version) == (2, 3)


@pytest.mark.parametrize(
    "assign",
    [
        lambda x: setattr(x, "data", x),
        lambda x: setattr(x, "data", x.data),
        lambda x: setattr(x, "data", x.detach()),
        lambda x: x.data.add_(1),
    ],
)
def test_assignment_of_own_memory_changes_nothing(assign: Callable[[Tensor], Any]) -> None:
    x = interlock.ones(2, requires_grad=True)
    before = x.data_ptr()
    assign(x)
    x.data += 1
    assert (x.data_ptr(), x.requires_grad, x._version, x.shape) == (before, True, 0, (2,))


def test_assignment_is_not_recorded() -> None:
    x, y = interlock.ones(2), interlock.ones(3, requires_grad=True) * 2
    x.data = y
    assert (x.tolist(), x.requires_grad, x.grad_fn) == ([2.0] * 3, False, None)
    middle = interlock.ones(2, requires_grad=True) * 3
    node = middle.grad_fn
    middle.data = interlock.zeros(2)
    assert (middle.grad_fn, middle.is_leaf, middle.tolist()) == (node, False, [0.0, 0.0])


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (1.0, TypeError, "must be a Tensor, got float"),
        (None, TypeError, "must be a Tensor, got None"),
        (np.ones(2), TypeError, "must be a Tensor, got ndarray"),
        (interlock.ones(2, dtype=interlock.int64), DTypeError, "must be floating point, got int64"),
    ],
)
def test_refused_data_changes_nothing(data: Any, error: type[Exception], message: str) -> None:
    x = interlock.ones(2, requires_grad=True)
    before = x.data_ptr()
    with pytest.raises(error, match=f"^Tensor.data.*{message}"):
        x.data = data
    assert (x.data_ptr(), x.dtype, x.requires_grad) == (before, interlock.float32, True)


def test_integers_replace_floats_of_a_tensor_without_gradient() -> None:
    x = interlock.ones(2)
    x.data = interlock.tensor([3, 4])
    assert (x.dtype, x.tolist()) == (interlock.int64, [3, 4])


def test_gradient_descent_by_assignments() -> None:
    p = Parameter(interlock.tensor([3.0, -2.0]))
    for _ in range(60):
        loss = ((p - interlock.tensor([1.0, 5.0])) ** 2).sum()
        loss.backward()
        assert p.grad is not None
        p.data = p.data - 0.1 * p.grad
        p.grad = None
    np.testing.assert_allclose(p.tolist(), [1.0, 5.0], atol=1e-4)


@pytest.mark.parametrize("dtype", [interlock.float16, interlock.bfloat16, interlock.float64])
def test_conversion_by_assignment(dtype: interlock.dtype) -> None:
    p = Parameter(interlock.tensor([1.0, 2.0]))
    p.data = p.data.to(dtype)
    (p * p).sum().backward()
    assert p.grad is not None
    assert (p.dtype, p.grad.dtype, p.grad.tolist()) == (dtype, dtype, [2.0, 4.0])


def test_assignment_moves_a_parameter(devices: tuple[str, ...]) -> None:
    p = Parameter(interlock.tensor([1.0, 2.0]))
    p.data = p.data.to(devices[-1])
    (p * 3).sum().backward()
    assert p.grad is not None
    assert (str(p.device), str(p.grad.device), p.grad.tolist()) == (devices[-1], devices[-1], [3.0, 3.0])
    p.grad = None
    p.data = p.data.cpu()
    assert (str(p.device), p.tolist()) == ("cpu", [1.0, 2.0])


def test_graph_keeps_the_data_that_it_has_saved() -> None:
    p = interlock.tensor([1.0, 2.0], requires_grad=True)
    inner = p * p
    squares = (inner * inner).sum()
    p.data = interlock.tensor([5.0, 7.0])
    inner.data = interlock.tensor([100.0, 100.0])
    squares.backward()
    assert p.grad is not None
    assert p.grad.tolist() == [4.0, 32.0]


def test_gradients_of_old_and_new_data_are_summed() -> None:
    p = interlock.tensor([1.0, 2.0], requires_grad=True)
    old = (p * p).sum()
    p.data = interlock.tensor([5.0, 7.0], dtype=interlock.float64)
    total = old + (p * p).sum()
    (of_total,) = autograd.grad(total, p, retain_graph=True)
    total.backward()
    assert p.grad is not None
    assert (p.grad.dtype, p.grad.tolist()) == (interlock.float64, [12.0, 18.0])
    assert (of_total.dtype, of_total.tolist()) == (interlock.float64, [12.0, 18.0])


def test_gradient_of_data_of_another_shape_is_an_error() -> None:
    p = interlock.ones(2, requires_grad=True)
    total = (p * 3).sum()
    p.data = interlock.ones(3)
    with pytest.raises(ShapeError, match=r"data was replaced must be of shape \(3,\), got shape \(2,\)"):
        total.backward()
    assert p.grad is None
    (p * 2).sum().backward()
    assert p.grad is not None
    assert p.grad.tolist() == [2.0, 2.0, 2.0]
    middle = interlock.ones(2, requires_grad=True) * 3
    middle.data = interlock.ones(3)
    with pytest.raises(
        ShapeError, match=r"of shape \(2,\), .* got \(3,\): .* the data of a tensor was replaced"
    ):
        middle.sum().backward()


def test_hooks_remain() -> None:
    p = interlock.ones(2, requires_grad=True)
    calls: list[Any] = []
    removed = p.register_hook(lambda grad: calls.append("removed"))
    p.register_hook(lambda grad: calls.append(grad.tolist()))
    p.register_post_accumulate_grad_hook(lambda leaf: calls.append(leaf is p))
    before = (p * 2).sum()
    p.data = interlock.zeros(2)
    removed.remove()
    (before + (p * 3).sum()).backward()
    assert calls == [[5.0, 5.0], True]


def test_retained_gradient_remains() -> None:
    middle = interlock.ones(2, requires_grad=True) * 2
    middle.retain_grad()
    total = (middle * middle).sum()
    middle.data = interlock.zeros(2)
    total.backward()
    assert middle.retains_grad
    assert middle.grad is not None
    assert middle.grad.tolist() == [4.0, 4.0]


def test_hook_assigns_the_new_value_of_a_parameter() -> None:
    p = Parameter(interlock.ones(2))

    def step(leaf: Tensor) -> None:
        assert leaf.grad is not None
        leaf.data = leaf.data - 0.5 * leaf.grad
        leaf.grad = None

    p.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        (p * 2).sum().backward()
    assert (p.tolist(), p.grad) == ([-1.0, -1.0], None)


def test_data_may_be_assigned_while_the_operation_reads_it() -> None:
    p = interlock.tensor([3.0], requires_grad=True)
    packed = []

    def pack(saved: Tensor) -> Tensor:
        packed.append(saved.tolist())
        data = saved.detach()
        p.data = interlock.full((4,), 9.0)
        gc.collect()
        return data

    with autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
        square = p * p
    assert (packed, square.tolist(), p.tolist()) == ([[3.0], [3.0]], [9.0], [9.0] * 4)
    p.data = interlock.ones(1)
    square.backward()
    assert p.grad is not None
    assert p.grad.tolist() == [6.0]


def test_views_keep_the_old_data() -> None:
    base = interlock.ones(4)
    view, array, buffer = base[1:3], base.numpy(), memoryview(base)  # type: ignore[arg-type]
    base.data = interlock.zeros(2)
    view.fill_(3)
    old = [1.0, 3.0, 3.0, 1.0]
    assert (view.tolist(), array.tolist(), list(buffer)) == ([3.0, 3.0], old, old)
    assert (base.tolist(), view._base is base) == ([0.0, 0.0], True)


def test_view_with_replaced_data_is_not_changed_in_place_with_history() -> None:
    x = interlock.ones(3, requires_grad=True)
    base = x * 1
    view = base[:2]
    view.data = interlock.zeros(5)
    with pytest.raises(
        RuntimeError, match=r"^mul_: the data of this view was replaced by an assignment to \.data"
    ):
        view.mul_(2)
    with interlock.no_grad():
        view.add_(1)
    assert (view.tolist(), base.tolist(), view._is_view()) == ([1.0] * 5, [1.0] * 3, True)
    assert view.grad_fn is not None
    assert view.grad_fn.name() == "SliceBackward0"


def test_view_of_a_tensor_with_replaced_data_has_the_history_of_its_memory() -> None:
    x = interlock.ones(3, requires_grad=True)
    base = x * 1
    view = base[:2]
    base.data = interlock.zeros(5)
    view.mul_(4)
    view.sum().backward()
    assert x.grad is not None
    assert (x.grad.tolist(), base.tolist()) == ([4.0, 4.0, 0.0], [0.0] * 5)


def test_old_data_is_released() -> None:
    class Array(np.ndarray[Any, Any]):
        """An array that weak references refer to."""

    array = np.ones(2, dtype=np.float32).view(Array)
    memory = weakref.ref(array)
    x = interlock.from_numpy(array)
    del array
    x.data = interlock.zeros(2)
    gc.collect()
    assert memory() is None


def test_old_data_is_released_while_a_graph_is_alive() -> None:
    p = Parameter(interlock.ones(1000))
    memory = interlock.ones(1000).numpy()
    p.data = interlock.from_numpy(memory)
    references = sys.getrefcount(memory)
    total = (p * 2).sum()
    for _ in range(3):
        p.data = interlock.zeros(1000)
        total = (p * 2).sum()
    gc.collect()
    assert total.item() == 0.0
    assert sys.getrefcount(memory) < references


def test_copies_and_pickles_have_the_new_data() -> None:
    p = Parameter(interlock.ones(2))
    p.data = interlock.arange(6.0).view(2, 3).t()
    deep = copy.deepcopy({"first": p, "second": p})
    loaded = pickle.loads(pickle.dumps(p))
    assert deep["first"] is deep["second"]
    for one in (deep["first"], loaded, copy.copy(p)):
        assert (type(one), one.requires_grad, one.tolist()) == (Parameter, True, p.tolist())


def test_object_that_is_created_again_has_the_new_data() -> None:
    p = interlock.ones(2, requires_grad=True)
    p.data = interlock.zeros(3)
    node = (p * 2).grad_fn
    del p
    gc.collect()
    assert node is not None
    leaf = node.next_functions[0][0]
    assert leaf is not None
    assert leaf.variable.tolist() == [0.0, 0.0, 0.0]  # type: ignore[attr-defined]


def test_operations_of_other_threads_use_the_data_of_one_moment() -> None:
    # The sum of each is its number of elements times its value.
    choices = [interlock.full((size,), float(value)) for size, value in ((7, 1), (70_000, 2), (3, 9))]
    sums = {7.0, 140_000.0, 27.0}
    x = interlock.full((7,), 1.0)
    done, wrong = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            total = (x + 0).sum().item()
            if total not in sums:
                wrong.append(total)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(400):
        x.data = choices[number % 3].clone()
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_child_assigns_while_a_thread_of_the_parent_does() -> None:
    assert eval_program("tensor.threads.fork_while_threads_assign_data") == [0] * 20


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_tensor_of_one_element_in_a_sequence_is_a_number(shape: tuple[int, ...]) -> None:
    numbers = [interlock.full(shape, value) for value in (1.0, 2.0)]
    for create in (interlock.tensor, interlock.as_tensor):
        assert create(numbers).tolist() == [1.0, 2.0]
        assert create([numbers, numbers]).shape == (2, 2)
    assert interlock.tensor([interlock.ones(2)] * 3).shape == (3, 2)

"""`copy.copy` and `copy.deepcopy` of tensors."""

from __future__ import annotations

import copy

import interlock
import pytest
from interlock import Tensor

pytestmark = pytest.mark.usefixtures("everywhere")


def leaf(*values: float) -> Tensor:
    return interlock.tensor(values, dtype=interlock.float32, requires_grad=True)


def test_deepcopy_copies_the_gradient() -> None:
    x = leaf(1, 2)
    (x * x).sum().backward()
    made = copy.deepcopy(x)
    assert made.grad is not None
    assert x.grad is not None
    assert (made.tolist(), made.requires_grad, made.grad.tolist()) == ([1.0, 2.0], True, [2.0, 4.0])
    made.grad.zero_()
    with interlock.no_grad():
        made.zero_()
    assert (x.tolist(), x.grad.tolist(), made.device) == ([1.0, 2.0], [2.0, 4.0], x.device)


def test_deepcopy_keeps_that_a_gradient_requires_grad() -> None:
    x = leaf(1)
    x.grad = leaf(3)
    made = copy.deepcopy(x)
    assert made.grad is not None
    assert made.grad.requires_grad


def test_deepcopy_refuses_results_of_operations() -> None:
    x = leaf(1)
    for refused in (x * 2, x[:1]):
        with pytest.raises(RuntimeError, match="leaf"):
            copy.deepcopy(refused)
    x.grad = x * 3
    with pytest.raises(RuntimeError, match="leaf"):
        copy.deepcopy([x])
    # A gradient with a graph of its own tensor is a cycle, which is never collected.
    x.grad = None


def test_deepcopy_in_no_grad_mode_returns_leaves() -> None:
    with interlock.no_grad():
        made = copy.deepcopy([leaf(1) * 2, leaf(1, 2)[1:]])
    assert [(each.tolist(), each.requires_grad, each.is_leaf) for each in made] == [
        ([2.0], False, True),
        ([2.0], True, True),
    ]


def test_deepcopy_keeps_sharing_between_tensors() -> None:
    whole = interlock.zeros(4)
    part, turned = whole[1:], whole.view(2, 2).t()
    made, made_part, again, made_turned, made_detached = copy.deepcopy(
        [whole, part, whole, turned, whole.detach()]
    )
    assert made is again
    made_part[0] = 5
    assert made.tolist() == [0.0, 5.0, 0.0, 0.0]
    assert made_turned.tolist() == [[0.0, 0.0], [5.0, 0.0]]
    assert made_detached.tolist() == made.tolist()
    assert made_turned.stride() == (1, 2)
    assert made_part.storage_offset() == 1
    assert whole.tolist() == [0.0] * 4


def test_deepcopy_copies_a_shared_gradient_once() -> None:
    x = leaf(1)
    x.grad = interlock.ones(1)
    made, grad = copy.deepcopy([x, x.grad])
    grad.zero_()
    assert made.grad is not None
    assert made.grad.tolist() == [0.0]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_deepcopy_keeps_every_shape(shape: tuple[int, ...]) -> None:
    made = copy.deepcopy(interlock.ones(*shape) if shape else interlock.tensor(1.0))
    assert made.shape == shape
    assert made.sum().item() == interlock.ones(*shape).sum().item() if shape else 1.0


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((0, 4), (slice(None), slice(2, None))),
        ((3, 4), (slice(3, None), slice(2, None))),
        ((2, 0), (slice(1, None),)),
        ((3, 0, 4), (slice(1, None), slice(None), slice(2, None))),
    ],
    ids=str,
)
def test_deepcopy_copies_an_empty_view_that_starts_beyond_the_memory(
    shape: tuple[int, ...], index: tuple[slice, ...]
) -> None:
    whole = interlock.zeros(*shape)
    view = whole[index]
    made_whole, made = copy.deepcopy([whole, view])
    assert (made.shape, made.stride(), made.storage_offset()) == (
        view.shape,
        view.stride(),
        view.storage_offset(),
    )
    assert (made.tolist(), made.device, made_whole.shape) == (view.tolist(), view.device, shape)


def test_deepcopy_of_an_inference_tensor_is_a_normal_one() -> None:
    with interlock.inference_mode():
        x = interlock.ones(2)
    made = copy.deepcopy(x)
    assert (made.is_inference(), made.tolist()) == (False, [1.0, 1.0])


def test_copy_shares_memory_and_is_a_leaf_without_a_gradient() -> None:
    x = leaf(1, 2)
    x.sum().backward()
    made = copy.copy(x)
    assert (made.data_ptr(), made.requires_grad, made.grad) == (x.data_ptr(), True, None)
    result = copy.copy(x * 2)
    assert (result.requires_grad, result.is_leaf) == (True, True)

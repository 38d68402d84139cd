"""Views of parts of a dimension: split, chunk, unbind, narrow."""

from __future__ import annotations

from collections.abc import Callable

import interlock
import pytest
from interlock import Tensor
from interlock.errors import ArgumentError, ShapeError

pytestmark = pytest.mark.usefixtures("everywhere")


def layouts(parts: tuple[Tensor, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
    return [(part.shape, part.stride(), part.storage_offset()) for part in parts]


def test_parts_are_views_at_the_expected_offsets() -> None:
    x = interlock.zeros(2, 3, 4)
    assert layouts(x.split(2, 1)) == [((2, 2, 4), (12, 4, 1), 0), ((2, 1, 4), (12, 4, 1), 8)]
    assert layouts(x.split([1, 2], 1)) == [((2, 1, 4), (12, 4, 1), 0), ((2, 2, 4), (12, 4, 1), 4)]
    assert layouts(x.split_with_sizes((0, 2))) == [((0, 3, 4), (12, 4, 1), 0), ((2, 3, 4), (12, 4, 1), 0)]
    assert layouts(x.chunk(2, -1)) == [((2, 3, 2), (12, 4, 1), 0), ((2, 3, 2), (12, 4, 1), 2)]
    assert layouts(x.unbind(1))[1:] == [((2, 4), (12, 1), 4), ((2, 4), (12, 1), 8)]
    assert layouts((x.narrow(1, -1, 1), x.narrow(1, 3, 0))) == [
        ((2, 1, 4), (12, 4, 1), 8),
        ((2, 0, 4), (12, 4, 1), 12),
    ]
    x.unbind()[1].fill_(1)
    assert x.sum().item() == 12
    assert x._version == 1


def test_number_and_sizes_of_parts_follow_pytorch() -> None:
    def sizes(parts: tuple[Tensor, ...]) -> list[int]:
        return [part.numel() for part in parts]

    x = interlock.arange(5)
    assert sizes(x.chunk(4)) == [2, 2, 1]
    assert sizes(x.chunk(9)) == [1] * 5
    assert sizes(x[:0].chunk(3)) == [0] * 3
    assert sizes(x[:0].split(0)) == [0]
    assert sizes(x.split(9)) == [5]
    assert sizes(x.tensor_split(3)) == [2, 2, 1]
    assert sizes(x.tensor_split(7)) == [1] * 5 + [0] * 2
    assert sizes(x.tensor_split((1, -1))) == sizes(x.tensor_split(interlock.tensor([1, -1]))) == [1, 3, 1]
    assert sizes(x.tensor_split(interlock.tensor(2))) == [3, 2]
    assert x[:0].unbind() == ()


@pytest.mark.parametrize(
    "split",
    [
        lambda x: x.split(1),
        lambda x: x.split([1, 1]),
        lambda x: x.chunk(2),
        lambda x: x.unbind(),
        lambda x: tuple(x),
    ],
)
def test_results_of_one_node_cannot_be_changed_in_place(
    split: Callable[[Tensor], tuple[Tensor, ...]],
) -> None:
    base = interlock.ones(2, requires_grad=True) * 1
    parts = split(base)
    assert [part.output_nr for part in parts] == [0, 1]
    assert parts[0].grad_fn is parts[1].grad_fn
    assert parts[0].grad_fn is not None
    assert parts[0].grad_fn.name() in ("SplitBackward0", "SplitWithSizesBackward0", "UnbindBackward0")
    for refused in (parts[0].zero_, parts[0].view(-1).zero_, lambda: parts[0].add_(1)):
        with pytest.raises(RuntimeError, match="several"):
            refused()
    base.mul_(2)
    with pytest.raises(RuntimeError, match="several"):
        parts[1].sum()
    plain = split(interlock.ones(2))
    assert plain[0].zero_().sum().item() == 0
    with pytest.raises(RuntimeError, match="several"):
        plain[1].mul_(interlock.tensor(2.0, requires_grad=True))


def test_parts_in_other_modes_follow_the_rules_of_views() -> None:
    base = interlock.ones(2, requires_grad=True) * 1
    with interlock.no_grad():
        part = base.split(1)[0]
    with pytest.raises(RuntimeError, match="no_grad"):
        part.mul_(2)
    with interlock.inference_mode():
        inference = interlock.ones(2)
    assert inference.split(1)[0].is_inference()
    parts = base.tensor_split(2)
    parts[0].mul_(3)
    assert base.tolist() == [3.0, 1.0]
    base.sum().backward()


def test_gradients_of_some_parts_are_zero_elsewhere() -> None:
    x = interlock.arange(6.0).view(2, 3).requires_grad_()
    first, second = x.unbind()
    (second * second).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.0] * 3, [6.0, 8.0, 10.0]]
    x.grad.zero_()
    parts = x.split([1, 2], 1)
    (parts[0].sum() + 2 * parts[1].sum() + first.sum()).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[2.0, 3.0, 3.0], [1.0, 2.0, 2.0]]
    hooked = x.chunk(3, 1)
    seen: list[list[list[float]]] = []
    hooked[2].register_hook(lambda grad: seen.append(grad.tolist()))
    hooked[2].retain_grad()
    hooked[2].sum().backward()
    assert seen == [[[1.0], [1.0]]]
    assert hooked[2].grad is not None
    (gradient,) = interlock.autograd.grad(x.split(1)[1].sum(), [x])
    assert gradient.tolist() == [[0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (lambda x: x.split(0), ArgumentError),
        (lambda x: x.split(-1), ArgumentError),
        (lambda x: x.split([1, 2]), ArgumentError),
        (lambda x: x.split([-1, 3]), ArgumentError),
        (lambda x: x.split([2**63 - 1, 2**63 - 1, 4]), ArgumentError),
        (lambda x: x.split(1, 2), IndexError),
        (lambda x: x.split(1.0), TypeError),
        (lambda x: x.chunk(0), ArgumentError),
        (lambda x: x.chunk(1, 5), IndexError),
        (lambda x: x.tensor_split(0), ArgumentError),
        (lambda x: x.unbind(-3), IndexError),
        (lambda x: x.sum().unbind(), IndexError),
        (lambda x: x.sum().split(1), ShapeError),
        (lambda x: x.sum().chunk(1), ShapeError),
        (lambda x: x.sum().tensor_split(1), ShapeError),
        (lambda x: x.sum().narrow(0, 0, 1), ShapeError),
        (lambda x: x.narrow(0, 3, 0), IndexError),
        (lambda x: x.narrow(0, 1, 2), ArgumentError),
        (lambda x: x.narrow(0, 0, -1), ArgumentError),
        (lambda x: x.narrow(0, 0, 2**63), ArgumentError),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    refused: Callable[[Tensor], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        refused(interlock.zeros(2, 3))

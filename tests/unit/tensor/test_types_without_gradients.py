"""Integer and bool tensors never require grad and never have a history."""

from __future__ import annotations

from collections.abc import Callable

import interlock
import pytest
from interlock import Tensor

pytestmark = pytest.mark.usefixtures("everywhere")

CHANGES: dict[str, Callable[[Tensor, Tensor], object]] = {
    "copy_": lambda target, x: target.copy_(x),
    "copy_ to a view": lambda target, x: target[:1].copy_(x[:1]),
    "fill_": lambda target, x: target.fill_(x[0]),
    "zero_": lambda target, _: target.zero_(),
    "an element": lambda target, x: target.__setitem__(0, x[0]),
    "a slice": lambda target, x: target.__setitem__(slice(None), x),
    "all": lambda target, x: target.__setitem__(True, x),
    "a mask": lambda target, x: target.__setitem__(target == 0, x[0]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("dtype", [interlock.int64, interlock.bool], ids=str)
def test_in_place_changes_never_make_integers_require_grad(
    dtype: interlock.dtype, change: Callable[[Tensor, Tensor], object]
) -> None:
    x = interlock.tensor([1.0, 2.0], requires_grad=True) * 1
    target = interlock.zeros(2, dtype=dtype)
    view = target[:1]
    change(target, x)
    for each in (target, view, target[:1]):
        assert (each.requires_grad, each.is_leaf, each.grad_fn) == (False, True, None)
    assert target.numpy(force=True).dtype.kind in "ib"


def test_integers_in_a_change_of_floating_point_do_not_require_grad() -> None:
    x = interlock.ones(2, requires_grad=True)
    y, factor = x * 1, interlock.tensor([2, 3])
    y.mul_(factor)
    y.sum().backward()
    assert not factor.requires_grad
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 3.0]


def test_views_of_integers_made_without_grad_can_be_written() -> None:
    target = interlock.zeros(2, dtype=interlock.int64)
    with interlock.no_grad():
        view = target[:1]
    view.copy_(interlock.ones(1, requires_grad=True))
    assert (target.tolist(), view.requires_grad) == ([1, 0], False)


def test_sum_in_integers_does_not_require_grad() -> None:
    x = interlock.ones(2, requires_grad=True)
    for result in (x.sum(dtype=interlock.int64), x.sum(0, dtype=interlock.int64)):
        assert (result.requires_grad, result.grad_fn, result.tolist()) == (False, None, 2)

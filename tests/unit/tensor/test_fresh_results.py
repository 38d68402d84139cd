"""Results that are new tensors, not views of a temporary of the operation."""

from __future__ import annotations

from collections.abc import Callable

import interlock
import pytest
from interlock import Tensor, arange, inference_mode, no_grad, ones

PRODUCTS: dict[str, Callable[[Tensor], Tensor]] = {
    "vectors": lambda x: x.reshape(6).matmul(ones(6)),
    "matrix and vector": lambda x: x.matmul(ones(3)),
    "vector and matrix": lambda x: x.reshape(6).matmul(ones(6, 2)),
    "matrices": lambda x: x.matmul(ones(3, 2)),
    "many matrices and one": lambda x: x.reshape(1, 2, 3).matmul(ones(3, 4)),
    "many matrices and a vector": lambda x: x.reshape(1, 2, 3).matmul(ones(3)),
    "vector and many matrices": lambda x: x.reshape(6).matmul(ones(2, 6, 1)),
}
COPIES: dict[str, Callable[[Tensor], Tensor]] = {
    "reshape": lambda x: x.t().reshape(6),
    "flatten": lambda x: x.t().flatten(),
    "reshape of an expanded tensor": lambda x: x[:1].expand(2, 3).reshape(3, 2),
}
RESULTS = PRODUCTS | COPIES


def numbers(*, requires_grad: bool = False) -> Tensor:
    return arange(6.0).reshape(2, 3).clone().requires_grad_(requires_grad)


@pytest.mark.parametrize("operation", RESULTS.values(), ids=RESULTS)
def test_result_is_not_a_view(operation: Callable[[Tensor], Tensor]) -> None:
    result = operation(numbers()).requires_grad_()
    with no_grad():
        assert result[None].requires_grad
    assert result.is_leaf


@pytest.mark.parametrize("operation", RESULTS.values(), ids=RESULTS)
def test_result_made_in_no_grad_mode_is_changed_with_history(operation: Callable[[Tensor], Tensor]) -> None:
    weight = ones((), requires_grad=True)
    with no_grad():
        result = operation(numbers(requires_grad=True))
    expected = float(result.sum().item())
    result.mul_(weight)
    result.sum().backward()
    assert weight.grad is not None
    assert weight.grad.item() == expected


@pytest.mark.parametrize("operation", RESULTS.values(), ids=RESULTS)
def test_result_with_history_is_changed_in_place(operation: Callable[[Tensor], Tensor]) -> None:
    leaf = arange(6.0, requires_grad=True)
    plain = operation(leaf.reshape(2, 3))
    (expected,) = interlock.autograd.grad(plain.sum(), leaf)
    changed = operation(leaf.reshape(2, 3))
    view = changed[None]
    changed.mul_(2)
    assert view.tolist() == [changed.tolist()]
    (gradient,) = interlock.autograd.grad(view.sum(), leaf, create_graph=True)
    assert gradient.tolist() == (expected * 2).tolist()


@pytest.mark.parametrize("operation", RESULTS.values(), ids=RESULTS)
def test_result_made_in_inference_mode_is_an_inference_tensor(
    operation: Callable[[Tensor], Tensor],
) -> None:
    with inference_mode():
        result = operation(numbers())
        assert not result.requires_grad
    assert result.is_inference()
    with pytest.raises(RuntimeError):
        result.mul_(2)


@pytest.mark.parametrize("reduction", [interlock.any, interlock.all])
def test_truths_that_are_not_reduced_are_a_copy(reduction: Callable[..., Tensor]) -> None:
    truths = interlock.tensor([True, False])
    reduction(truths, dim=()).fill_(True)
    assert truths.tolist() == [True, False]

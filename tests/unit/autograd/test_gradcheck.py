"""`gradcheck` and `gradgradcheck`, and the gradients of every differentiable operation."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import interlock
import pytest
from interlock import Tensor, float64
from interlock._core.tensor import multi_head_attention
from interlock.autograd import gradcheck, gradgradcheck
from interlock.backends.cuda import SDPBackend, sdpa_kernel
from interlock.errors import ArgumentError, GradcheckError

PAGE = Path(__file__).parents[3] / "docs" / "tensor_operations.md"


def leaf(*shape: int) -> Tensor:
    """Return different numbers from 0.5 to 1.5."""
    count = 1
    for size in shape:
        count *= size
    values = [0.5 + (position * 0.6180339887) % 1 for position in range(count)]
    return interlock.tensor(values, dtype=float64).reshape(shape).requires_grad_()


def changed(tensor: Tensor, change: Callable[[Tensor], object]) -> Tensor:
    """Return a copy that was changed in place."""
    copy = tensor.clone()
    change(copy)
    return copy


def assigned(x: Tensor, y: Tensor) -> Tensor:
    copy = x.clone()
    copy[0] = y
    return copy


def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    # The other kernels refuse second derivatives.
    with sdpa_kernel(SDPBackend.MATH):
        return interlock.nn.functional.scaled_dot_product_attention(query, key, value)


def heads(x: Tensor, weight: Tensor, out_weight: Tensor) -> Tensor:
    result: Tensor = multi_head_attention(
        x, x, x, 1, weight, None, out_weight, None, training=True, batch_first=True
    )[0]
    return result


X, Y = (2, 3), (3,)
CLASSES = interlock.tensor([2, 0])
CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "add": (lambda x, y: x.add(y, alpha=2.0), (X, Y)),
    "sub": (lambda x, y: x.sub(y, alpha=2.0), (X, Y)),
    "mul": (lambda x, y: x * y, (X, Y)),
    "div": (lambda x, y: x / y, (X, Y)),
    "pow": (lambda x, y: x**y, (X, Y)),
    "remainder": (lambda x: x.remainder(0.7) ** 2, (X,)),
    "neg": (lambda x: -x, (X,)),
    "abs": (lambda x: abs(x - 1), (X,)),
    "matmul": (lambda x, y: x @ y, (X, Y)),
    "mm": (lambda x, y: x.mm(y), (X, (3, 2))),
    "bmm": (lambda x, y: x.bmm(y), ((2, 2, 3), (2, 3, 2))),
    "addmm": (lambda x, y, z: x.addmm(y, z, beta=0.5, alpha=2.0), ((2, 2), X, (3, 2))),
    "linear": (lambda x, y, z: interlock.nn.functional.linear(x, y, z), (X, (4, 3), (4,))),
    "einsum": (lambda x, y: interlock.einsum("ij,kj->ik", x, y), (X, (4, 3))),
    "conv2d": (
        lambda x, y, z: interlock.conv2d(x, y, z, stride=(2, 1), padding=1, groups=2),
        ((1, 2, 4, 3), (2, 1, 3, 2), (2,)),
    ),
    "scaled_dot_product_attention": (attention, (X, X, X)),
    "multi_head_attention": (heads, ((3, 1, 2), (6, 2), (2, 2))),
    "exp": (lambda x: x.exp(), (X,)),
    "log": (lambda x: x.log(), (X,)),
    "sqrt": (lambda x: x.sqrt(), (X,)),
    "sin": (lambda x: x.sin(), (X,)),
    "cos": (lambda x: x.cos(), (X,)),
    "tanh": (lambda x: x.tanh(), (X,)),
    "sigmoid": (lambda x: x.sigmoid(), (X,)),
    "relu": (lambda x: (x - 1).relu(), (X,)),
    "sum": (lambda x: x.sum(1), (X,)),
    "mean": (lambda x: x.mean(0), (X,)),
    "max": (lambda x: x.max(), (X,)),
    "min": (lambda x: x.min(), (X,)),
    "amax": (lambda x: x.amax(1), (X,)),
    "amin": (lambda x: x.amin(0), (X,)),
    "softmax": (lambda x: x.softmax(1), (X,)),
    "log_softmax": (lambda x: x.log_softmax(0), (X,)),
    "nll_loss": (lambda x: interlock.nn.functional.nll_loss(x.log_softmax(1), CLASSES), (X,)),
    "cross_entropy": (lambda x: interlock.cross_entropy(x, CLASSES), (X,)),
    "T": (lambda x: x.T * x.T, (X,)),
    "t": (lambda x: x.t() * x.t(), (X,)),
    "transpose": (lambda x: x.transpose(0, 1) ** 2, (X,)),
    "permute": (lambda x: x.permute(1, 0) ** 2, (X,)),
    "reshape": (lambda x: x.reshape(3, 2) ** 2, (X,)),
    "view": (lambda x: x.view(6) ** 2, (X,)),
    "flatten": (lambda x: x.flatten() ** 2, (X,)),
    "unsqueeze": (lambda x: x.unsqueeze(1) ** 2, (X,)),
    "squeeze": (lambda x: x.squeeze() ** 2, ((2, 1, 3),)),
    "expand": (lambda x: x.expand(2, 3) ** 2, (Y,)),
    "select": (lambda x: x.select(1, 2) ** 2, (X,)),
    "as_strided": (lambda x: x.as_strided((2, 2), (1, 2)) ** 2, (X,)),
    "x[index]": (lambda x: x[[1, 0, 1], 1:] ** 2, (X,)),
    "cat": (lambda x, y: interlock.cat([x, y]) ** 2, (X, (1, 3))),
    "stack": (lambda x, y: interlock.stack([x, y], 1) ** 2, (X, X)),
    "add_": (lambda x, y: changed(x, lambda copy: copy.add_(y, alpha=2.0)) ** 2, (X, Y)),
    "sub_": (lambda x, y: changed(x, lambda copy: copy.sub_(y)) ** 2, (X, Y)),
    "mul_": (lambda x, y: changed(x, lambda copy: copy.mul_(y)), (X, Y)),
    "div_": (lambda x, y: changed(x, lambda copy: copy.div_(y)), (X, Y)),
    "zero_": (lambda x: changed(x, lambda copy: copy[0].zero_()) ** 2, (X,)),
    "fill_": (lambda x: changed(x, lambda copy: copy[0].fill_(2.0)) ** 2, (X,)),
    "copy_": (lambda x, y: changed(x, lambda copy: copy.copy_(y)) * x, (X, X)),
    "x[index] = value": (lambda x, y: assigned(x, y) ** 2, (X, Y)),
    "to": (lambda x: x.to(float64, copy=True) ** 2, (X,)),
    "double": (lambda x: x.double() ** 2, (X,)),
    "cpu": (lambda x: x.cpu() ** 2, (X,)),
    "clone": (lambda x: x.clone() ** 2, (X,)),
    "contiguous": (lambda x: x.t().contiguous() ** 2, (X,)),
}
"""A function with each differentiable operation, and the shapes of its arguments."""

NOT_FLOAT64 = {"float", "half", "bfloat16", "pin_memory"}
"""Conversions to types whose finite differences are not precise, and one that needs a device."""


def differentiable_operations() -> set[str]:
    """Return the operations that docs/tensor_operations.md lists with a gradient."""
    found = set()
    for row in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) == 6 and cells[3] == "yes":
            name = re.match(r"`(?:x\.)?(\w+)(?:\(|`)|`(x\[index\][^`]*)`", cells[1])
            assert name, row
            found.add(name.group(1) or name.group(2))
    return found


def test_every_differentiable_operation_has_a_case() -> None:
    assert differentiable_operations() - NOT_FLOAT64 == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_an_operation_agree_with_finite_differences(name: str) -> None:
    function, shapes = CASES[name]
    leaves = [leaf(*shape) for shape in shapes]
    assert gradcheck(function, leaves)
    assert gradgradcheck(function, leaves, gen_non_contig_grad_outputs=True)
    assert all(each.grad is None for each in leaves)


class Wrong(interlock.autograd.Function):
    """A function with a wrong gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 3


def test_gradcheck_finds_a_wrong_gradient() -> None:
    with pytest.raises(
        GradcheckError, match=r"output 0 with respect to input 0 must agree(.|\n)*backward: \[\[3.0"
    ):
        gradcheck(Wrong.apply, leaf(1))
    assert not gradcheck(Wrong.apply, leaf(1), raise_exception=False)
    assert gradcheck(Wrong.apply, leaf(1), atol=2.0)


def test_gradcheck_finds_a_missing_gradient() -> None:
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: x.detach() * 2, leaf(1))
    with pytest.raises(GradcheckError, match="output 1 with respect to input 1"):
        gradcheck(lambda x, y: (x * y, x * y.detach()), (leaf(2), leaf(2)))


def test_gradcheck_finds_gradients_that_differ_from_pass_to_pass() -> None:
    calls: list[int] = []

    class Varying(Wrong):
        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            calls.append(1)
            return grad * (2 + 1e-7 * len(calls))

    with pytest.raises(GradcheckError, match="differ by more than nondet_tol"):
        gradcheck(Varying.apply, leaf(1))
    calls.clear()
    assert gradcheck(Varying.apply, leaf(1), nondet_tol=1e-5)


def test_gradgradcheck_finds_a_wrong_second_gradient() -> None:
    class Cube(interlock.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return grad * 3 * x * x.detach()

    assert gradcheck(Cube.apply, leaf(2))
    with pytest.raises(GradcheckError):
        gradgradcheck(Cube.apply, leaf(2))
    assert gradgradcheck(lambda x: x**3, leaf(2), interlock.ones(2, dtype=float64, requires_grad=True))


def test_gradcheck_restores_its_inputs() -> None:
    x = leaf(2, 2)
    before = x.tolist()
    gradcheck(lambda x: (x * x, x.exp()), x)
    assert x.tolist() == before
    strided = leaf(3, 2).detach().t().requires_grad_()
    before = strided.tolist()
    assert gradcheck(lambda x: x * x, strided)
    assert strided.tolist() == before


def test_gradcheck_accepts_numbers_and_empty_inputs() -> None:
    assert gradcheck(lambda x, k: x * k, (leaf(2), 3.0))  # type: ignore[arg-type]
    assert gradcheck(lambda x: x * 2, leaf(0))
    assert gradcheck(lambda x: x * x, leaf())


def test_gradcheck_checks_the_dtypes_of_gradients() -> None:
    assert gradcheck(lambda x: x * 2, leaf(2), check_grad_dtypes=True)


def test_gradcheck_refuses_inputs_that_it_cannot_check() -> None:
    with pytest.raises(ArgumentError, match="inputs must contain a tensor that requires grad, got none"):
        gradcheck(lambda x: x, interlock.ones(1))
    expanded = interlock.ones(1, dtype=float64).expand(3).requires_grad_()
    with pytest.raises(ArgumentError, match="input 0 must not be expanded"):
        gradcheck(lambda x: x, expanded)
    with pytest.warns(UserWarning, match="input 0 has dtype .*float32"), pytest.raises(GradcheckError):
        gradcheck(lambda x: x.exp(), interlock.ones(2, requires_grad=True))


@pytest.mark.parametrize(
    "option", ["check_batched_grad", "check_batched_forward_grad", "check_forward_ad", "fast_mode", "masked"]
)
def test_gradcheck_refuses_options_without_effect(option: str) -> None:
    with pytest.raises(ArgumentError, match=f"gradcheck: {option} must be False"):
        gradcheck(lambda x: x, leaf(1), **{option: True})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="gradcheck: check_backward_ad must be True"):
        gradcheck(lambda x: x, leaf(1), check_backward_ad=False)


@pytest.mark.parametrize("option", ["check_batched_grad", "check_fwd_over_rev", "fast_mode", "masked"])
def test_gradgradcheck_refuses_options_without_effect(option: str) -> None:
    with pytest.raises(ArgumentError, match=f"gradgradcheck: {option} must be False"):
        gradgradcheck(lambda x: x, leaf(1), **{option: True})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="gradgradcheck: check_rev_over_rev must be True"):
        gradgradcheck(lambda x: x, leaf(1), check_rev_over_rev=False)
